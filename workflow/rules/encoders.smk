# Photographs and captions -> vectors by a dual encoder -> the similarity of every image and caption.


rule fetch_encoder:
    output:
        **made_by("fetch_encoder"),
    log:
        "logs/encoders/{encoder}.log",
    benchmark:
        "logs/benchmarks/encoders/{encoder}.tsv"
    localrule: True
    resources:
        mem_mb=8000,
        runtime="2h",
    params:
        encoder=param("fetch_encoder", "encoder"),
    message:
        "{wildcards.encoder}, which its library downloads"
    script:
        "../scripts/fetch_encoder.py"


rule embed:
    input:
        unpack(read_by("embed")),
    output:
        **made_by("embed"),
    log:
        "logs/encoders/{dataset}/{encoder}.log",
    benchmark:
        "logs/benchmarks/encoders/{dataset}/{encoder}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 8000 * attempt,
        runtime="4h",
        gpu=int(PLAN.scale.training.gpu),
    params:
        **content("embed"),
        encoder=param("embed", "encoder"),
    message:
        "Images and captions of {wildcards.dataset} by {wildcards.encoder}"
    script:
        "../scripts/embed.py"


rule compare_embeddings:
    input:
        unpack(read_by("compare_embeddings")),
    output:
        **made_by("compare_embeddings"),
    log:
        "logs/encoders/{dataset}/{encoder}-similarity.log",
    benchmark:
        "logs/benchmarks/encoders/{dataset}/{encoder}-similarity.tsv"
    resources:
        mem_mb=2000,
        runtime="15m",
    message:
        "The similarity of every image and caption of {wildcards.dataset} by {wildcards.encoder}"
    script:
        "../scripts/compare_embeddings.py"

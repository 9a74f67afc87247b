# Photographs and captions -> vectors by a dual encoder -> the similarity of every image and caption.


rule fetch_encoder:
    output:
        record="data/fetched/encoders/{encoder}.json",
    log:
        "logs/encoders/{encoder}.log",
    benchmark:
        "logs/benchmarks/encoders/{encoder}.tsv"
    localrule: True
    resources:
        mem_mb=8000,
        runtime="2h",
    params:
        encoder=settings_of_encoder,
    message:
        "Fetch {wildcards.encoder} through its library"
    script:
        "../scripts/fetch_encoder.py"


rule embed:
    input:
        corpus="results/corpus/{dataset}.parquet",
        photographs=photographs,
        # If a library fetches the encoder, the record that it did.
        fetched=lambda wildcards: ancient(
            [] if PLAN.encoder(wildcards.encoder).is_local else [f"data/fetched/encoders/{wildcards.encoder}.json"]
        ),
    output:
        images="results/features/{dataset}/encoders/{encoder}/images.npy",
        captions="results/features/{dataset}/encoders/{encoder}/captions.npy",
        note="results/features/{dataset}/encoders/{encoder}/embed.json",
    log:
        "logs/encoders/{dataset}/{encoder}.log",
    benchmark:
        "logs/benchmarks/encoders/{dataset}/{encoder}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 8000 * attempt,
        runtime="4h",
        gpu=int(SCALE.training.gpu),
    params:
        photographs=digest_of_photographs,
        encoder=settings_of_encoder,
    message:
        "Embed images and captions of {wildcards.dataset} with {wildcards.encoder}"
    script:
        "../scripts/embed.py"


rule compare_embeddings:
    input:
        images="results/features/{dataset}/encoders/{encoder}/images.npy",
        captions="results/features/{dataset}/encoders/{encoder}/captions.npy",
        note="results/features/{dataset}/encoders/{encoder}/embed.json",
    output:
        similarity="results/training/{dataset}/{encoder},encoder/similarity_test.npy",
    log:
        "logs/encoders/{dataset}/{encoder}-similarity.log",
    benchmark:
        "logs/benchmarks/encoders/{dataset}/{encoder}-similarity.tsv"
    resources:
        mem_mb=2000,
        runtime="15m",
    message:
        "Compare every image and caption of {wildcards.dataset} by {wildcards.encoder}"
    script:
        "../scripts/compare_embeddings.py"

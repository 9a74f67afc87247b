# Photographs -> arrays, one row per image.


rule extract_features:
    input:
        unpack(read_by("extract_features")),
    output:
        **made_by("extract_features"),
    log:
        "logs/features/{dataset}/{extractor}-{layout}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extractor}-{layout}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("extract_features"),
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="4h",
        gpu=int(PLAN.scale.training.gpu),
    params:
        **content("extract_features"),
    message:
        "{wildcards.extractor} ({wildcards.layout}) features of {wildcards.dataset}"
    script:
        "../scripts/extract_features.py"


rule reduce_features:
    input:
        unpack(read_by("reduce_features")),
    output:
        **made_by("reduce_features"),
    log:
        "logs/features/{dataset}/{reduced}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{reduced}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="1h",
    params:
        sizes=param("reduce_features", "sizes"),
    message:
        "Reduce features of {wildcards.dataset} to {wildcards.reduced}"
    script:
        "../scripts/reduce_features.py"


rule describe_precomp:
    input:
        unpack(read_by("describe_precomp")),
    output:
        **made_by("describe_precomp"),
    log:
        "logs/features/{dataset}/{extractor}-{layout}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extractor}-{layout}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("describe_precomp"),
    resources:
        mem_mb=1000,
        runtime="15m",
    params:
        data=param("describe_precomp", "data"),
    message:
        "Which files of a precomp folder hold the features of which images of {wildcards.dataset}"
    script:
        "../scripts/describe_precomp.py"

# Photographs -> arrays, one row per image.


rule extract_features:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        photographs=photographs_of,
        weights=weights_of,
    output:
        features=FEATURES / "{dataset}" / "{extractor}-{layout}.npy",
        images=FEATURES / "{dataset}" / "{extractor}-{layout}.images.parquet",
    log:
        "logs/features/{dataset}/{extractor}-{layout}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extractor}-{layout}.tsv"
    wildcard_constraints:
        dataset=one_of(name for name in SCALE.datasets if name not in PRECOMP),
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="4h",
        gpu=1 if SCALE.training.gpu else 0,
    message:
        "{wildcards.extractor} ({wildcards.layout}) features of {wildcards.dataset}"
    script:
        "../scripts/extract_features.py"


rule reduce_features:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        features=source_of_features,
    output:
        features=FEATURES / "{dataset}" / "{reduced}.npy",
        images=FEATURES / "{dataset}" / "{reduced}.images.parquet",
    log:
        "logs/features/{dataset}/{reduced}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{reduced}.tsv"
    wildcard_constraints:
        reduced=one_of(REDUCED),
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="1h",
    params:
        sizes=lambda wc: REDUCED[wc.reduced].model_dump(include={"regions", "dimensions"}),
    message:
        "Features {wildcards.reduced} of {wildcards.dataset}, from larger ones"
    script:
        "../scripts/reduce_features.py"


rule describe_precomp:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        folder=captions_of,
    output:
        description=FEATURES / "{dataset}" / "{extractor}-{layout}.json",
        images=FEATURES / "{dataset}" / "{extractor}-{layout}.images.parquet",
    log:
        "logs/features/{dataset}/{extractor}-{layout}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extractor}-{layout}.tsv"
    wildcard_constraints:
        dataset=one_of(PRECOMP),
    resources:
        mem_mb=1000,
        runtime="15m",
    params:
        data=lambda wc: SCALE.datasets[wc.dataset].model_dump(include={"prefix", "testall"}),
    message:
        "Which files of a precomp folder hold the features of which images of {wildcards.dataset}"
    script:
        "../scripts/describe_precomp.py"

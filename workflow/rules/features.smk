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
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="4h",
        gpu=1 if SCALE.training.gpu else 0,
    message:
        "{wildcards.extractor} ({wildcards.layout}) features of {wildcards.dataset}"
    script:
        "../scripts/extract_features.py"

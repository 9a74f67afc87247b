# Photographs -> arrays, one row per image.


# Nodes of a cluster may have no network: what is downloaded is fetched where Snakemake runs.
rule fetch_network:
    output:
        record="data/fetched/networks/{network}.json",
    log:
        "logs/features/networks/{network}.log",
    benchmark:
        "logs/benchmarks/features/networks/{network}.tsv"
    localrule: True
    resources:
        mem_mb=4000,
        runtime="1h",
    message:
        "Fetch the weights of {wildcards.network} through timm or torchvision"
    script:
        "../scripts/fetch_network.py"


# Before a cluster spends a night on wrong weights: a few photographs whose released regions are at hand.
rule check_regions:
    input:
        photographs=lambda wildcards: given(PLAN.features.sample_files["photographs"]),
        regions=lambda wildcards: given(PLAN.features.sample_files["regions"]),
        weights=lambda wildcards: given(PLAN.features.weights_of(wildcards.extracted)),
        fetched=lambda wildcards: ancient(PLAN.features.network_of(wildcards.extracted)),
    output:
        checked="results/features/released_sample/{extracted}.json",
    log:
        "logs/features/released_sample/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/released_sample/{extracted}.tsv"
    wildcard_constraints:
        extracted=one_of(PLAN.features.checked),
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 6000 * attempt,
        runtime=lambda wildcards, attempt: 30 * attempt,
        gpu=int(SCALE.training.gpu),
    params:
        version=VERSIONS["features"],
        sample=lambda wildcards: content_of(*sum(PLAN.features.sample_files.values(), [])),
        folder=lambda wildcards: str(SCALE.released_sample.photographs),
        weights=lambda wildcards: content_of(*PLAN.features.weights_of(wildcards.extracted)),
        spec=lambda wildcards: PLAN.features.settings_of(wildcards.extracted),
        # As a function of the threads, as Snakemake sees it, it makes no features again: see `train`.
        gpu=lambda wildcards, threads: PLAN.features.on_gpu(wildcards.extracted),
    message:
        "Check that {wildcards.extracted} are as released"
    script:
        "../scripts/check_regions.py"


rule extract_features:
    input:
        corpus=lambda wildcards: PLAN.features.images_of(wildcards.dataset),
        photographs=lambda wildcards: photographs_of(wildcards.dataset),
        weights=lambda wildcards: given(PLAN.features.weights_of(wildcards.extracted)),
        fetched=lambda wildcards: ancient(PLAN.features.network_of(wildcards.extracted)),
        checked=lambda wildcards: given(PLAN.features.checks_of(wildcards.extracted)),
    output:
        features="results/features/{dataset}/{extracted}.npy",
        images="results/features/{dataset}/{extracted}.images.parquet",
        source="results/features/{dataset}/{extracted}.source.json",
    log:
        "logs/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}.tsv"
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.except_for(PLAN.datasets.precomp)),
        extracted=one_of(PLAN.features.extracted_here(parts=False, regions=False)),
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 6000 * attempt,
        runtime=lambda wildcards, attempt: (
            PLAN.features.minutes_to_extract(wildcards.dataset, wildcards.extracted) * attempt
        ),
        gpu=int(SCALE.training.gpu),
    params:
        version=VERSIONS["features"],
        photographs=lambda wildcards: PLAN.datasets.content_of_photographs(wildcards.dataset),
        weights=lambda wildcards: content_of(*PLAN.features.weights_of(wildcards.extracted)),
        spec=lambda wildcards: PLAN.features.settings_of(wildcards.extracted),
        gpu=lambda wildcards, threads: PLAN.features.on_gpu(wildcards.extracted),
    message:
        "Extract {wildcards.extracted} features of {wildcards.dataset}"
    script:
        "../scripts/extract_features.py"


use rule extract_features as detect_regions with:
    output:
        features="results/features/{dataset}/{extracted}.npy",
        images="results/features/{dataset}/{extracted}.images.parquet",
        source="results/features/{dataset}/{extracted}.source.json",
        regions="results/features/{dataset}/{extracted}.regions.parquet",
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.except_for(PLAN.datasets.precomp)),
        extracted=one_of(PLAN.features.extracted_here(parts=False, regions=True)),
    message:
        "Detect regions of {wildcards.dataset} by {wildcards.extracted}"


use rule extract_features as extract_part with:
    output:
        features="results/features/{dataset}/parts/{extracted}/{part_of_images}.npy",
        images="results/features/{dataset}/parts/{extracted}/{part_of_images}.images.parquet",
        source="results/features/{dataset}/parts/{extracted}/{part_of_images}.source.json",
    log:
        "logs/features/{dataset}/{extracted}/{part_of_images}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}/{part_of_images}.tsv"
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.except_for(PLAN.datasets.precomp)),
        extracted=one_of(PLAN.features.extracted_here(parts=True)),
        part_of_images="[0-9]+",
    params:
        version=VERSIONS["features"],
        photographs=lambda wildcards: PLAN.datasets.content_of_photographs(wildcards.dataset),
        weights=lambda wildcards: content_of(*PLAN.features.weights_of(wildcards.extracted)),
        spec=lambda wildcards: PLAN.features.settings_of(wildcards.extracted),
        gpu=lambda wildcards, threads: PLAN.features.on_gpu(wildcards.extracted),
        part=lambda wildcards: int(wildcards.part_of_images),
    message:
        "Extract {wildcards.extracted} features of {wildcards.dataset}, part {wildcards.part_of_images}"


rule join_features:
    input:
        parts=lambda wildcards: expand(
            "results/features/{dataset}/parts/{extracted}/{part}.npy",
            part=range(1, PLAN.features.extracted_features[wildcards.extracted].parts + 1),
            **wildcards,
        ),
    output:
        features="results/features/{dataset}/{extracted}.npy",
        images="results/features/{dataset}/{extracted}.images.parquet",
        source="results/features/{dataset}/{extracted}.source.json",
    log:
        "logs/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}.tsv"
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.except_for(PLAN.datasets.precomp)),
        extracted=one_of(PLAN.features.extracted_here(parts=True)),
    resources:
        mem_mb=2000,
        runtime="2h",
    params:
        version=VERSIONS["features"],
    message:
        "Join the parts of {wildcards.extracted} features of {wildcards.dataset}"
    script:
        "../scripts/join_features.py"


rule reduce_features:
    input:
        corpus=lambda wildcards: PLAN.features.images_of(wildcards.dataset),
        features=lambda wildcards: PLAN.features.before_reduction(wildcards.dataset, wildcards.reduced),
    output:
        features="results/features/{dataset}/{reduced}.npy",
        images="results/features/{dataset}/{reduced}.images.parquet",
    log:
        "logs/features/{dataset}/{reduced}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{reduced}.tsv"
    wildcard_constraints:
        reduced=one_of(PLAN.features.reduced_features),
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="1h",
    params:
        version=VERSIONS["features"],
        sizes=lambda wildcards: PLAN.features.sizes_of(wildcards.reduced),
    message:
        "Reduce features of {wildcards.dataset} to {wildcards.reduced}"
    script:
        "../scripts/reduce_features.py"


# Features extracted elsewhere stay where they are: a description says which file holds which image.
rule describe_precomp:
    input:
        corpus="results/corpus/{dataset}.parquet",
        folder=folder_of_features,
    output:
        description="results/features/{dataset}/{extracted}.json",
        images="results/features/{dataset}/{extracted}.images.parquet",
    log:
        "logs/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}.tsv"
    wildcard_constraints:
        dataset=one_of([*PLAN.datasets.precomp, *PLAN.features.released_regions]),
        extracted=one_of(PLAN.features.precomp_features),
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["features"],
        folder=lambda wildcards: PLAN.features.content_of_folder(wildcards.dataset),
        data=lambda wildcards: PLAN.features.folder_of_features(wildcards.dataset).model_dump(
            include={"prefix", "testall"}
        ),
    message:
        "Describe which precomp file holds the features of each image of {wildcards.dataset}"
    script:
        "../scripts/describe_precomp.py"

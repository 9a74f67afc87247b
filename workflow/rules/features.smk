# Photographs -> arrays, one row per image.


# Nodes of a cluster may have no network: what is downloaded is fetched where Snakemake runs.
rule fetch_network:
    output:
        **made_by("fetch_network"),
    log:
        "logs/features/networks/{network}.log",
    benchmark:
        "logs/benchmarks/features/networks/{network}.tsv"
    localrule: True
    resources:
        mem_mb=4000,
        runtime="1h",
    message:
        "Weights of {wildcards.network}, which timm or torchvision downloads"
    script:
        "../scripts/fetch_network.py"


rule extract_features:
    input:
        unpack(read_by("extract_features")),
    output:
        **made_by("extract_features"),
    log:
        "logs/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("extract_features"),
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="4h",
        gpu=int(PLAN.scale.training.gpu),
    params:
        **content("extract_features"),
        spec=param("extract_features", "spec"),
    message:
        "{wildcards.extracted} features of {wildcards.dataset}"
    script:
        "../scripts/extract_features.py"


use rule extract_features as detect_regions with:
    input:
        unpack(read_by("detect_regions")),
    output:
        **made_by("detect_regions"),
    log:
        "logs/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("detect_regions"),
    params:
        **content("detect_regions"),
        spec=param("detect_regions", "spec"),
    message:
        "Regions of {wildcards.dataset} by {wildcards.extracted}"


use rule extract_features as extract_part with:
    input:
        unpack(read_by("extract_part")),
    output:
        **made_by("extract_part"),
    log:
        "logs/features/{dataset}/{extracted}/{part_of_images}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}/{part_of_images}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("extract_part"),
    params:
        **content("extract_part"),
        spec=param("extract_part", "spec"),
        part=param("extract_part", "part"),
    message:
        "{wildcards.extracted} features of {wildcards.dataset}, part {wildcards.part_of_images}"


rule join_features:
    input:
        unpack(read_by("join_features")),
    output:
        **made_by("join_features"),
    log:
        "logs/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("join_features"),
    resources:
        mem_mb=2000,
        runtime="2h",
    message:
        "Join the parts of {wildcards.extracted} features of {wildcards.dataset}"
    script:
        "../scripts/join_features.py"


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
        "logs/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/features/{dataset}/{extracted}.tsv"
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

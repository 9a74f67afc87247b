# Similarities of runs -> all their numbers; all runs -> one tidy table; what judges say of each phi;
# what margins know.


# What is trained in one job is evaluated in one: to read phi and start Python takes longer than the numbers of a run.
rule evaluate:
    input:
        unpack(read_by("evaluate")),
    output:
        **made_by("evaluate"),
    log:
        "logs/evaluation/{job}.log",
    benchmark:
        "logs/benchmarks/evaluation/{job}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 6000 * attempt,
        runtime=lambda wildcards: 15 * len(PLAN.evaluations[wildcards.job].runs),
    params:
        runs=param("evaluate", "runs"),
        phis=param("evaluate", "phis"),
        metrics=param("evaluate", "metrics"),  # not read: runs are evaluated again when there is another metric
    message:
        "Evaluate {wildcards.job}"
    script:
        "../scripts/evaluate.py"


rule collect_metrics:
    input:
        unpack(read_by("collect_metrics")),
    output:
        **made_by("collect_metrics"),
    log:
        "logs/evaluation/{scale}.log",
    benchmark:
        "logs/benchmarks/evaluation/{scale}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    message:
        "Collect the numbers of all runs of scale {wildcards.scale} in one tidy table"
    script:
        "../scripts/collect_metrics.py"


rule collect_histories:
    input:
        unpack(read_by("collect_histories")),
    output:
        **made_by("collect_histories"),
    log:
        "logs/evaluation/{scale}.histories.log",
    benchmark:
        "logs/benchmarks/evaluation/{scale}.histories.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        folders=param("collect_histories", "folders"),
    message:
        "Collect the epochs of all trainings of scale {wildcards.scale} in one table"
    script:
        "../scripts/collect_histories.py"


rule compare_retrievals:
    input:
        unpack(read_by("compare_retrievals")),
    output:
        **made_by("compare_retrievals"),
    log:
        "logs/evaluation/retrievals/{scale}/{figure}.log",
    benchmark:
        "logs/benchmarks/evaluation/retrievals/{scale}/{figure}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        similarities=param("compare_retrievals", "similarities"),
        options=param("compare_retrievals", "options"),
    message:
        "Find queries of {wildcards.figure} that recall calls equal and phi does not"
    script:
        "../scripts/compare_retrievals.py"


rule find_disagreements:
    input:
        unpack(read_by("find_disagreements")),
    output:
        **made_by("find_disagreements"),
    log:
        "logs/evaluation/disagreements/{scale}.log",
    benchmark:
        "logs/benchmarks/evaluation/disagreements/{scale}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        similarities=param("find_disagreements", "similarities"),
        phis=param("find_disagreements", "phis"),
        options=param("find_disagreements", "options"),
    message:
        "Find queries on which recall and semantics, or models, disagree"
    script:
        "../scripts/find_disagreements.py"


rule contrast_runs:
    input:
        unpack(read_by("contrast_runs")),
    output:
        **made_by("contrast_runs"),
    log:
        "logs/evaluation/contrasts/{scale}/{exhibit}.log",
    benchmark:
        "logs/benchmarks/evaluation/contrasts/{scale}/{exhibit}.tsv"
    resources:
        mem_mb=1000,
        runtime="15m",
    params:
        pairs=param("contrast_runs", "pairs"),
        phi=param("contrast_runs", "phi"),
    message:
        "Differences of the runs of {wildcards.exhibit}, paired by seed, with intervals over seeds and images"
    script:
        "../scripts/contrast_runs.py"


rule ask_judge:
    input:
        unpack(read_by("ask_judge")),
    output:
        **made_by("ask_judge"),
    log:
        "logs/evaluation/agreement/{scale}/{dataset}/{judge}.log",
    benchmark:
        "logs/benchmarks/evaluation/agreement/{scale}/{dataset}/{judge}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        phis=param("ask_judge", "phis"),
    message:
        "How well each phi of {wildcards.dataset} agrees with {wildcards.judge}"
    script:
        "../scripts/ask_judge.py"


rule find_positives:
    input:
        unpack(read_by("find_positives")),
    output:
        **made_by("find_positives"),
    log:
        "logs/evaluation/found_positives/{scale}/{dataset}/{judge}.log",
    benchmark:
        "logs/benchmarks/evaluation/found_positives/{scale}/{dataset}/{judge}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    message:
        "How many of the pairs that {wildcards.judge} calls right are among the first pairs of {wildcards.dataset} by each phi"
    script:
        "../scripts/find_positives.py"


rule measure_phi:
    input:
        unpack(read_by("measure_phi")),
    output:
        **made_by("measure_phi"),
    log:
        "logs/evaluation/meaning/{dataset}.log",
    benchmark:
        "logs/benchmarks/evaluation/meaning/{dataset}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime="15m",
    message:
        "What each phi says of own captions and of captions of other images of {wildcards.dataset}"
    script:
        "../scripts/measure_phi.py"


rule measure_margins:
    input:
        unpack(read_by("measure_margins")),
    output:
        **made_by("measure_margins"),
    log:
        "logs/evaluation/margins/{scale}/{dataset}.log",
    benchmark:
        "logs/benchmarks/evaluation/margins/{scale}/{dataset}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        sets=param("measure_margins", "sets"),
        runs=param("measure_margins", "runs"),
        settings=param("measure_margins", "settings"),
    message:
        "What the margins of training captions of {wildcards.dataset} are made of"
    script:
        "../scripts/measure_margins.py"

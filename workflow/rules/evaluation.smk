# Similarities of runs -> all their metrics; all runs -> one tidy table; how far each phi agrees with judges; what margins
# are made of.


# Inference methods such as QB-Norm read training queries: the weights of a job's runs score them once.
rule score_banks:
    input:
        corpus="results/corpus/{dataset}.parquet",
        features=lambda wildcards: PLAN.features.of_run(PLAN.runs_of_job(job_of(wildcards))[0]),
        record="results/training/jobs/{dataset}/{job}.json",
    output:
        banks="results/evaluation/jobs/{dataset}/{job}.banks.parquet",
    log:
        "logs/evaluation/banks/{dataset}/{job}.log",
    benchmark:
        "logs/benchmarks/evaluation/banks/{dataset}/{job}.tsv"
    threads: lambda wildcards: training_of(wildcards).threads
    resources:
        mem_mb=lambda wildcards, attempt: 6000 * attempt,
        runtime=lambda wildcards: 15 * len(PLAN.banked_runs(job_of(wildcards))),
    params:
        version=VERSIONS["evaluation"],
        runs=lambda wildcards: PLAN.settings_of_banks(job_of(wildcards)),
    message:
        "Score the training queries that re-scoring of {wildcards.job} on {wildcards.dataset} reads"
    script:
        "../scripts/score_banks.py"


# Runs trained in one job are evaluated in one: to read phi and start Python takes longer than the metrics of a run.
rule evaluate:
    input:
        corpus="results/corpus/{dataset}.parquet",
        # Records of training, or similarities of ensembles, which have none.
        made=lambda wildcards: PLAN.records_or_similarities(PLAN.evaluations[job_of(wildcards)].runs),
        phi=lambda wildcards: PLAN.phi.matrices_of(wildcards.dataset, PLAN.phis_of_job(job_of(wildcards))),
        labels=lambda wildcards: PLAN.datasets.labels_of(wildcards.dataset),
        banks=lambda wildcards: PLAN.banks_of(job_of(wildcards)),
    output:
        metrics="results/evaluation/jobs/{dataset}/{job}.json",
        per_image="results/evaluation/jobs/{dataset}/{job}.per_image.parquet",
    log:
        "logs/evaluation/{dataset}/{job}.log",
    benchmark:
        "logs/benchmarks/evaluation/{dataset}/{job}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 6000 * attempt,
        runtime=lambda wildcards: 15 * len(PLAN.evaluations[job_of(wildcards)].runs),
    params:
        version=VERSIONS["evaluation"],
        runs=lambda wildcards: PLAN.settings_to_evaluate(job_of(wildcards)),
        phis=lambda wildcards: PLAN.phis_of_job(job_of(wildcards)),
        further_phis=lambda wildcards: PLAN.comparisons.further_phis(job_of(wildcards)),
        # Not read by the script: runs are evaluated again when the metrics change.
        metrics=sorted(metric.name for metric in METRICS.values() if metric.of_runs),
    message:
        "Evaluate {wildcards.job} on {wildcards.dataset}"
    script:
        "../scripts/evaluate.py"


rule collect_metrics:
    input:
        metrics=lambda wildcards: PLAN.metrics_of(PLAN.evaluated_in(wildcards.pool)),
    output:
        table="results/evaluation/{pool}.parquet",
    log:
        "logs/evaluation/{pool}.log",
    benchmark:
        "logs/benchmarks/evaluation/{pool}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        version=VERSIONS["evaluation"],
    message:
        "Collect the metrics of all runs of {wildcards.pool} in one tidy table"
    script:
        "../scripts/collect_metrics.py"


rule collect_histories:
    input:
        records=lambda wildcards: PLAN.records_of(PLAN.trained_in(wildcards.pool)),
    output:
        histories="results/evaluation/{pool}.histories.parquet",
    log:
        "logs/evaluation/{pool}.histories.log",
    benchmark:
        "logs/benchmarks/evaluation/{pool}.histories.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        version=VERSIONS["evaluation"],
        folders=lambda wildcards: {run: str(PLAN.places.run(run)) for run in PLAN.trained_in(wildcards.pool)},
    message:
        "Collect the epochs of all trainings of {wildcards.pool} in one table"
    script:
        "../scripts/collect_histories.py"


rule compare_retrievals:
    input:
        corpus=lambda wildcards: PLAN.places.corpus(retrievals_of_figure(wildcards).dataset),
        records=lambda wildcards: PLAN.records_or_similarities(retrievals_of_figure(wildcards).runs),
        phi=lambda wildcards: PLAN.comparisons.matrices_of(retrievals_of_figure(wildcards)).values(),
    output:
        retrievals="results/evaluation/retrievals/{scale}/{figure}.json",
    log:
        "logs/evaluation/retrievals/{scale}/{figure}.log",
    benchmark:
        "logs/benchmarks/evaluation/retrievals/{scale}/{figure}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["evaluation"],
        similarities=lambda wildcards: PLAN.similarities_of(retrievals_of_figure(wildcards).runs),
        options=lambda wildcards: retrievals_of_figure(wildcards).options,
    message:
        "Find queries for {wildcards.figure} whose recall ties and whose phi does not"
    script:
        "../scripts/compare_retrievals.py"


rule find_disagreements:
    input:
        corpus=lambda wildcards: PLAN.places.corpus(gallery(wildcards).dataset),
        records=lambda wildcards: PLAN.records_or_similarities(gallery(wildcards).runs),
        phi=lambda wildcards: PLAN.comparisons.matrices_of(gallery(wildcards)).values(),
    output:
        disagreements="results/evaluation/disagreements/{scale}.json",
    log:
        "logs/evaluation/disagreements/{scale}.log",
    benchmark:
        "logs/benchmarks/evaluation/disagreements/{scale}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["evaluation"],
        similarities=lambda wildcards: PLAN.similarities_of(gallery(wildcards).runs),
        phis=lambda wildcards: PLAN.comparisons.matrices_of(gallery(wildcards)),
        options=lambda wildcards: gallery(wildcards).options,
    message:
        "Find queries on which recall and semantics, or models, disagree"
    script:
        "../scripts/find_disagreements.py"


rule contrast_runs:
    input:
        per_image=lambda wildcards: PLAN.per_image_of(
            run
            for pair in PLAN.comparisons.paired_runs(wildcards.scale, wildcards.exhibit)
            for run in (*pair["a"], *pair["b"])
        ),
    output:
        contrasts="results/evaluation/contrasts/{scale}/{exhibit}.json",
    log:
        "logs/evaluation/contrasts/{scale}/{exhibit}.log",
    benchmark:
        "logs/benchmarks/evaluation/contrasts/{scale}/{exhibit}.tsv"
    wildcard_constraints:
        exhibit=one_of(PLAN.comparisons.exhibits_made_from("contrasts")),
    resources:
        mem_mb=1000,
        runtime="15m",
    params:
        version=VERSIONS["evaluation"],
        pairs=lambda wildcards: PLAN.comparisons.paired_runs(wildcards.scale, wildcards.exhibit),
        phi=lambda wildcards: PLAN.comparisons.phi_of(wildcards.exhibit),
    message:
        "Compare the runs of {wildcards.exhibit}, paired by seed, with intervals over seeds and images"
    script:
        "../scripts/contrast_runs.py"


# Phi of the judged pairs alone, which needs no matrix: METEOR has none.
rule ask_judge:
    input:
        corpus="results/corpus/{dataset}.parquet",
        judgements=judgements,
        tuples=lambda wildcards: PLAN.phi.tuples_of(wildcards.dataset, [phi for phi, _ in PLAN.phi.judged], "test"),
        vectors=lambda wildcards: PLAN.phi.vectors_of(wildcards.dataset, [phi for phi, _ in PLAN.phi.judged]),
    output:
        pairs="results/evaluation/agreement/{scale}/{dataset}/{judge}.parquet",
        numbers="results/evaluation/agreement/{scale}/{dataset}/{judge}.json",
    log:
        "logs/evaluation/agreement/{scale}/{dataset}/{judge}.log",
    benchmark:
        "logs/benchmarks/evaluation/agreement/{scale}/{dataset}/{judge}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        version=VERSIONS["evaluation"],
        phis=PLAN.phi.judged,
        judgements=lambda wildcards: PLAN.datasets.content_of_judgements(wildcards.dataset, wildcards.judge),
    message:
        "Measure how far each phi of {wildcards.dataset} agrees with {wildcards.judge}"
    script:
        "../scripts/ask_judge.py"


rule find_positives:
    input:
        corpus="results/corpus/{dataset}.parquet",
        judgements=judgements,
        phi=expand("results/semantics/{{dataset}}/test/{phi}.npy", phi=PLAN.phi.phis_read("found_positives")),
        labels=lambda wildcards: PLAN.datasets.labels_of(wildcards.dataset),
    output:
        found="results/evaluation/found_positives/{scale}/{dataset}/{judge}.parquet",
    log:
        "logs/evaluation/found_positives/{scale}/{dataset}/{judge}.log",
    benchmark:
        "logs/benchmarks/evaluation/found_positives/{scale}/{dataset}/{judge}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        version=VERSIONS["evaluation"],
        judgements=lambda wildcards: PLAN.datasets.content_of_judgements(wildcards.dataset, wildcards.judge),
    message:
        "Count the positives of {wildcards.judge} among the first ranks of {wildcards.dataset} by each phi"
    script:
        "../scripts/find_positives.py"


rule measure_phi:
    input:
        corpus="results/corpus/{dataset}.parquet",
        phi=expand("results/semantics/{{dataset}}/test/{phi}.npy", phi=PLAN.phi.phis_read("phi_statistics")),
        tuples=lambda wildcards: PLAN.phi.tuples_of(wildcards.dataset, PLAN.phi.phis_read("phi_statistics"), "test"),
        vectors=lambda wildcards: PLAN.phi.vectors_of(wildcards.dataset, PLAN.phi.phis_read("phi_statistics")),
    output:
        statistics="results/evaluation/meaning/{dataset}.json",
    log:
        "logs/evaluation/meaning/{dataset}.log",
    benchmark:
        "logs/benchmarks/evaluation/meaning/{dataset}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["evaluation"],
    message:
        "Compare each phi of own captions with that of captions of other images of {wildcards.dataset}"
    script:
        "../scripts/measure_phi.py"


rule measure_margins:
    input:
        corpus="results/corpus/{dataset}.parquet",
        phi=lambda wildcards: PLAN.comparisons.phi_of_margins(wildcards.scale, wildcards.dataset),
        features=lambda wildcards: sorted({PLAN.features.of_run(run) for run in runs_with_margins(wildcards)}),
        records=lambda wildcards: PLAN.records_of(run.name for run in runs_with_margins(wildcards)),
    output:
        margins="results/evaluation/margins/{scale}/{dataset}.json",
    log:
        "logs/evaluation/margins/{scale}/{dataset}.log",
    benchmark:
        "logs/benchmarks/evaluation/margins/{scale}/{dataset}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        version=VERSIONS["evaluation"],
        sets=lambda wildcards: PLAN.phi.captions_with_margins(wildcards.dataset),
        runs=lambda wildcards: PLAN.comparisons.settings_of_margins(wildcards.scale, wildcards.dataset),
        batch_size=SCALE.training.batch_size,
    message:
        "Measure what the margins of training captions of {wildcards.dataset} are made of"
    script:
        "../scripts/measure_margins.py"

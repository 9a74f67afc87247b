# A run's similarities -> all its numbers; all runs -> one tidy table.


# What is trained in one job is evaluated in one: reading phi and starting Python take longer than the numbers of a run.
for job, names in EVALUATION_JOBS.items():

    rule:
        name:
            job
        input:
            corpus=CORPUS / f"{EVALUATED[names[0]].dataset}.parquet",
            similarity=outputs_of_runs(names, "similarity_test.npy"),
            phi=phi_of_test(EVALUATED[names[0]].dataset),
            labels=labels_of(EVALUATED[names[0]].dataset),
        output:
            metrics=metrics_of(names),
        log:
            f"logs/evaluation/{job}.log",
        benchmark:
            f"logs/benchmarks/evaluation/{job}.tsv"
        resources:
            mem_mb=lambda wc, attempt: 6000 * attempt,
            runtime=15 * len(names),
        params:
            specs=[EVALUATED[name].model_dump(mode="json") for name in names],
            phis=SCALE.phis,
            inferences=[INFERENCES[name] for name in names],
        message:
            "Every number of " + ", ".join(names)
        script:
            "../scripts/evaluate_models.py"


rule average_similarities:
    input:
        similarities=similarities_of_members,
    output:
        similarity=TRAINING / "{ensemble}" / "similarity_test.npy",
    log:
        "logs/training/{ensemble}.log",
    benchmark:
        "logs/benchmarks/training/{ensemble}.tsv"
    resources:
        mem_mb=1000,
        runtime="15m",
    message:
        "{wildcards.ensemble}: the mean of the similarities of its members"
    script:
        "../scripts/average_similarities.py"


rule collect_metrics:
    input:
        metrics=lambda wc: metrics_of(evaluated_of_scale(wc.scale)),
    output:
        table=EVALUATION / "{scale}.parquet",
    log:
        "logs/evaluation/{scale}.log",
    benchmark:
        "logs/benchmarks/evaluation/{scale}.tsv"
    resources:
        mem_mb=1000,
        runtime="10m",
    message:
        "One tidy table of all runs of scale {wildcards.scale}"
    script:
        "../scripts/collect_metrics.py"


rule compare_retrievals:
    input:
        corpus=lambda wc: CORPUS / f"{compared(wc)[0].dataset}.parquet",
        similarities=lambda wc: [TRAINING / row.runs[0].name / "similarity_test.npy" for row in compared(wc)],
        phi=lambda wc: SEMANTICS / compared(wc)[0].dataset / "test" / f"{SCALE.evaluation_phi}.npy",
    output:
        retrievals=EVALUATION / "retrievals" / "{scale}" / "{thing}.json",
    log:
        "logs/evaluation/retrievals/{scale}/{thing}.log",
    benchmark:
        "logs/benchmarks/evaluation/retrievals/{scale}/{thing}.tsv"
    wildcard_constraints:
        thing=one_of(FIGURES),
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="15m",
    params:
        models=names_of_compared,
        options=options_of_compared,
    message:
        "Queries of {wildcards.thing} that recall calls equal and phi does not"
    script:
        "../scripts/compare_retrievals.py"


rule ask_judge:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        judgements=judgements_of,
        tuples=lambda wc: tuples_of(wc.dataset, [phi for phi, _ in JUDGED]),
    output:
        pairs=EVALUATION / "agreement" / "{dataset}" / "{judge}.parquet",
        numbers=EVALUATION / "agreement" / "{dataset}" / "{judge}.json",
    log:
        "logs/evaluation/agreement/{dataset}/{judge}.log",
    benchmark:
        "logs/benchmarks/evaluation/agreement/{dataset}/{judge}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="30m",
    params:
        phis=JUDGED,
    message:
        "How well each phi of {wildcards.dataset} agrees with {wildcards.judge}"
    script:
        "../scripts/ask_judge.py"


rule measure_meaning:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        phi=lambda wc: [SEMANTICS / wc.dataset / "test" / f"{phi}.npy" for phi in drawn_phis(STUDIES, SCALE)],
        tuples=lambda wc: tuples_of(wc.dataset, drawn_phis(STUDIES, SCALE)),
    output:
        meaning=EVALUATION / "meaning" / "{dataset}.json",
    log:
        "logs/evaluation/meaning/{dataset}.log",
    benchmark:
        "logs/benchmarks/evaluation/meaning/{dataset}.tsv"
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime="15m",
    message:
        "What each phi says of own and foreign captions of {wildcards.dataset}"
    script:
        "../scripts/measure_meaning.py"

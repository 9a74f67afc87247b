# A run's similarities -> all its numbers; all runs -> one tidy table.


rule evaluate_model:
    input:
        corpus=corpus_of_run,
        similarity=TRAINING / "{run}" / "similarity_test.npy",
        phi=phi_of_run,
        labels=lambda wc: labels_of(RUNS[wc.run].dataset),
    output:
        metrics=EVALUATION / "{run}" / "metrics.json",
    log:
        "logs/evaluation/{run}.log",
    benchmark:
        "logs/benchmarks/evaluation/{run}.tsv"
    resources:
        mem_mb=lambda wc, attempt: 6000 * attempt,
        runtime="15m",
    params:
        spec=parameters_of_run,
        phis=SCALE.phis,
        inferences=lambda wc: INFERENCES[wc.run],
    message:
        "Every number of {wildcards.run}"
    script:
        "../scripts/evaluate_model.py"


rule collect_metrics:
    input:
        metrics=metrics_of(RUNS),
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
        retrievals=EVALUATION / "retrievals" / "{thing}.json",
    log:
        "logs/evaluation/retrievals/{thing}.log",
    benchmark:
        "logs/benchmarks/evaluation/retrievals/{thing}.tsv"
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

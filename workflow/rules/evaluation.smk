# A run's similarities -> all its numbers; all runs -> one tidy table.


rule evaluate_model:
    input:
        corpus=corpus_of_run,
        similarity=TRAINING / "{run}" / "similarity_test.npy",
        phi=phi_of_run,
    output:
        metrics=EVALUATION / "{run}" / "metrics.json",
    log:
        "logs/evaluation/{run}.log",
    benchmark:
        "logs/benchmarks/evaluation/{run}.tsv"
    resources:
        mem_mb=lambda wc, attempt: 2000 * attempt,
        runtime="15m",
    params:
        spec=parameters_of_run,
    message:
        "Recall, semantic recall and NCS of {wildcards.run}"
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

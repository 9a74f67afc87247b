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

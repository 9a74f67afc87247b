# One run: a model trained, its best weights by dev score, and its similarities on dev and test.


rule train_model:
    input:
        corpus=corpus_of_run,
        features=features_of_run,
    output:
        weights=TRAINING / "{run}" / "weights.safetensors",
        vocabulary=TRAINING / "{run}" / "vocabulary.json",
        spec=TRAINING / "{run}" / "run.yaml",
        history=TRAINING / "{run}" / "history.csv",
        similarity_dev=TRAINING / "{run}" / "similarity_dev.npy",
        similarity=TRAINING / "{run}" / "similarity_test.npy",
    log:
        "logs/training/{run}.log",
    benchmark:
        "logs/benchmarks/training/{run}.tsv"
    threads: SCALE.training.threads
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime=SCALE.training.minutes,
        gpu=1 if SCALE.training.gpu else 0,
    params:
        spec=parameters_of_run,
    message:
        "Train {wildcards.run}"
    script:
        "../scripts/train_model.py"

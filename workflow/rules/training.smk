# Runs: models trained, their best weights by dev score, and their similarities on dev and test.


# A job trains several runs, since Python and torch take seconds to start. One rule a job: a rule's outputs must all
# hold the same wildcards, and the folders of several runs have none in common.
for job, runs in TRAINING_JOBS.items():

    rule:
        name:
            job
        input:
            corpus=CORPUS / f"{RUNS[runs[0]].dataset}.parquet",
            features=features_of_run(runs[0]),
        output:
            weights=outputs_of_runs(runs, "weights.safetensors"),
            vocabulary=outputs_of_runs(runs, "vocabulary.json"),
            spec=outputs_of_runs(runs, "run.yaml"),
            history=outputs_of_runs(runs, "history.csv"),
            similarity_dev=outputs_of_runs(runs, "similarity_dev.npy"),
            similarity=outputs_of_runs(runs, "similarity_test.npy"),
        log:
            f"logs/training/{job}.log",
        benchmark:
            f"logs/benchmarks/training/{job}.tsv"
        threads: SCALE.training.threads
        resources:
            mem_mb=lambda wc, attempt: 4000 * attempt,
            runtime=SCALE.training.minutes * len(runs),
            gpu=1 if SCALE.training.gpu else 0,
        params:
            specs=[RUNS[run].model_dump(mode="json") for run in runs],
        message:
            "Train " + ", ".join(runs)
        script:
            "../scripts/train_models.py"

# Runs: models trained, their best weights by dev score, and their similarities on dev and test.


# CIDEr of training captions for the losses that read it: prepared once, not by every run.
for dataset, parts in PREPARED.items():

    rule:
        name:
            "prepare_cider_" + re.sub(r"\W", "_", dataset)
        input:
            corpus=CORPUS / f"{dataset}.parquet",
        output:
            prepared=[PLACES.phi_files(spec)[phi] for phi, spec in parts],
        log:
            f"logs/training/cider/{dataset}.log",
        benchmark:
            f"logs/benchmarks/training/cider/{dataset}.tsv"
        resources:
            mem_mb=lambda wc, attempt: 4000 * attempt,
            runtime="15m",
        params:
            parts=[(phi, spec.fraction, spec.captions_per_image, spec.training.draw, spec.seed) for phi, spec in parts],
        message:
            f"CIDEr of the training captions of {dataset}, prepared for losses"
        script:
            "../scripts/prepare_cider.py"


# A job trains several runs, since Python and torch take seconds to start. One rule a job: a rule's outputs must all
# hold the same wildcards, and the folders of several runs have none in common.
for job, runs in TRAINING_JOBS.items():

    rule:
        name:
            job
        input:
            corpus=CORPUS / f"{RUNS[runs[0]].dataset}.parquet",
            features=features_of_run(runs[0]),
            phi=phi_files_of_runs(runs),
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
            phi_files=[phi_files_of_run(run) for run in runs],
            tensorboard=SCALE.training.tensorboard,
        message:
            "Train " + ", ".join(runs)
        script:
            "../scripts/train_models.py"

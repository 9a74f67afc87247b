# Runs: models trained, their best weights by dev score, and their similarities on dev and test.


# A job trains several runs, since Python and torch take seconds to start. Its one output is a record of them: each run
# has a folder, results/training/{run}, where a job that is repeated finds what is finished and does the rest.
rule train:
    input:
        corpus="results/corpus/{dataset}.parquet",
        features=lambda wildcards: PLAN.features.of_run(PLAN.runs_of_job(job_of(wildcards))[0]),
        phi=lambda wildcards: PLAN.phi.files_read_by(PLAN.runs_of_job(job_of(wildcards))),
        # Word lists that runs read instead of counting words.
        vocabulary=lambda wildcards: given(PLAN.vocabularies_of(job_of(wildcards))),
    output:
        record="results/training/jobs/{dataset}/{job}.json",
    log:
        "logs/training/{dataset}/{job}.log",
    benchmark:
        "logs/benchmarks/training/{dataset}/{job}.tsv"
    threads: lambda wildcards: threads_of(training_of(wildcards))
    resources:
        mem_mb=lambda wildcards, attempt: memory_of(training_of(wildcards)) * attempt,
        runtime=lambda wildcards: training_of(wildcards).minutes * len(PLAN.jobs[job_of(wildcards)].runs),
        gpu=lambda wildcards: int(training_of(wildcards).gpu),
    params:
        version=VERSIONS["training"],
        # As a run's folder records it: one more model, or an edited one, concerns no others.
        code=lambda wildcards: sorted({code_of_run(run) for run in PLAN.runs_of_job(job_of(wildcards))}),
        runs=lambda wildcards: PLAN.settings_to_train(job_of(wildcards)),
        vocabulary=lambda wildcards: content_of(*PLAN.vocabularies_of(job_of(wildcards))),
        tensorboard=lambda wildcards: training_of(wildcards).tensorboard,
        # They change no result: as functions of the threads, as Snakemake sees it, they do not make it train again.
        runs_at_once=lambda wildcards, threads: training_of(wildcards).runs_at_once,
        gpu=lambda wildcards, threads: training_of(wildcards).gpu,
        scratch=lambda wildcards, threads: training_of(wildcards).scratch,
    message:
        "Train {wildcards.job} on {wildcards.dataset}"
    script:
        "../scripts/train.py"


rule average_similarities:
    input:
        records=lambda wildcards: PLAN.records_of(PLAN.members_of(wildcards.ensemble)),
    output:
        similarity="results/training/{ensemble}/similarity_test.npy",
    log:
        "logs/training/{ensemble}.log",
    benchmark:
        "logs/benchmarks/training/{ensemble}.tsv"
    wildcard_constraints:
        ensemble=one_of(PLAN.all_ensembles),
    localrule: True
    resources:
        mem_mb=1000,
        runtime="15m",
    params:
        version=VERSIONS["training"],
        similarities=lambda wildcards: list(PLAN.similarities_of(PLAN.members_of(wildcards.ensemble)).values()),
    message:
        "Average the similarities of the members of {wildcards.ensemble}"
    script:
        "../scripts/average_similarities.py"


# What others trained: their similarity is checked against the corpus, and evaluated as that of a run.
rule take_similarity:
    input:
        corpus=lambda wildcards: PLAN.places.corpus(PLAN.given[wildcards.given].dataset),
        similarity=lambda wildcards: given(PLAN.matrix_of(wildcards.given).similarity),
        captions=lambda wildcards: given(PLAN.files_of_matrix(wildcards.given)[1:]),
    output:
        similarity="results/training/{given}/similarity_test.npy",
    log:
        "logs/training/{given}.log",
    benchmark:
        "logs/benchmarks/training/{given}.tsv"
    wildcard_constraints:
        given=one_of(PLAN.given),
    localrule: True
    resources:
        mem_mb=1000,
        runtime="15m",
    params:
        version=VERSIONS["training"],
        transposed=lambda wildcards: PLAN.matrix_of(wildcards.given).transposed,
        content=lambda wildcards: content_of(*PLAN.files_of_matrix(wildcards.given)),
    message:
        "Take the similarity of {wildcards.given} from its file"
    script:
        "../scripts/take_similarity.py"

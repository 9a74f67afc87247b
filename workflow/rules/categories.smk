# Category retrieval: documents with their vectors, their divisions, learned subspaces, and their metrics.


rule keep_documents:
    input:
        unpack(files_of_documents),
    output:
        documents="results/corpus/documents/{documents}.parquet",
        image="results/features/documents/{documents}/image.npy",
        text="results/features/documents/{documents}/text.npy",
    log:
        "logs/corpus/documents/{documents}.log",
    benchmark:
        "logs/benchmarks/corpus/documents/{documents}.tsv"
    wildcard_constraints:
        documents=one_of(PLAN.subspaces.documents_with("vectors")),
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        version=VERSIONS["corpus"],
        spec=lambda wildcards: PLAN.subspaces.document_specs[wildcards.documents].model_dump(mode="json"),
        given=lambda wildcards: content_of(*PLAN.subspaces.given_for(wildcards.documents)),
    message:
        "Read the documents of {wildcards.documents}: categories, and vectors of images and texts"
    script:
        "../scripts/keep_documents.py"


use rule keep_documents as keep_documents_of_words with:
    output:
        documents="results/corpus/documents/{documents}.parquet",
        image="results/features/documents/{documents}/image.npy",
    wildcard_constraints:
        documents=one_of(PLAN.subspaces.documents_with("words")),
    message:
        "Read the documents of {wildcards.documents}: categories, vectors of images, and texts as words"


rule divide_documents:
    input:
        documents="results/corpus/documents/{documents}.parquet",
    output:
        division="results/corpus/documents/{documents}/{division},seed={seed}.csv",
    log:
        "logs/corpus/documents/{documents}/{division},seed={seed}.log",
    benchmark:
        "logs/benchmarks/corpus/documents/{documents}/{division},seed={seed}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        version=VERSIONS["corpus"],
        spec=lambda wildcards: (
            PLAN.subspaces.document_specs[wildcards.documents].divisions[wildcards.division].model_dump(mode="json")
        ),
    message:
        "Divide {wildcards.documents} as {wildcards.division} by seed {wildcards.seed}"
    script:
        "../scripts/divide_documents.py"


# As in `train`: a job fits several runs, and its one output is a record of them.
rule train_subspaces:
    input:
        documents="results/corpus/documents/{documents}.parquet",
        image="results/features/documents/{documents}/image.npy",
        text=lambda wildcards: PLAN.subspaces.vectors_of_texts(wildcards.documents),
        divisions=lambda wildcards: PLAN.subspaces.divisions_of(subspace_job_of(wildcards)),
    output:
        record="results/training/subspaces/jobs/{documents}/{job}.json",
    log:
        "logs/training/subspaces/{documents}/{job}.log",
    benchmark:
        "logs/benchmarks/training/subspaces/{documents}/{job}.tsv"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 3000 * attempt,
        runtime=lambda wildcards: SCALE.categories.minutes,
    params:
        version=VERSIONS["training"],
        code=lambda wildcards: sorted(
            {code_of_method(placed.run.method) for placed in PLAN.subspaces.runs_of_job(subspace_job_of(wildcards))}
        ),
        runs=lambda wildcards: [placed.plain for placed in PLAN.subspaces.runs_of_job(subspace_job_of(wildcards))],
    message:
        "Fit subspaces {wildcards.job} of {wildcards.documents}"
    script:
        "../scripts/train_subspaces.py"


# The vectors of validation and test in each subspace are in the folders of the runs, which the record lists.
rule evaluate_subspaces:
    input:
        documents="results/corpus/documents/{documents}.parquet",
        record="results/training/subspaces/jobs/{documents}/{job}.json",
        divisions=lambda wildcards: PLAN.subspaces.divisions_of(subspace_job_of(wildcards)),
    output:
        metrics="results/evaluation/subspaces/{documents}/{job}.parquet",
        queries="results/evaluation/subspaces/{documents}/{job}.queries.parquet",
        histories="results/evaluation/subspaces/{documents}/{job}.histories.parquet",
        category_margins="results/evaluation/subspaces/{documents}/{job}.category_margins.parquet",
    log:
        "logs/evaluation/subspaces/{documents}/{job}.log",
    benchmark:
        "logs/benchmarks/evaluation/subspaces/{documents}/{job}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["evaluation"],
        runs=lambda wildcards: [run.plain for run in PLAN.subspaces.runs_of_job(subspace_job_of(wildcards))],
    message:
        "Evaluate subspaces {wildcards.job} of {wildcards.documents}, and collect their training histories"
    script:
        "../scripts/evaluate_subspaces.py"


rule contrast_subspaces:
    input:
        queries=lambda wildcards: PLAN.subspaces.numbers_of(
            [
                run
                for pair in PLAN.comparisons.paired_subspaces(wildcards.scale, wildcards.exhibit)
                for run in (*pair["a"], *pair["b"])
            ],
            "queries",
        ),
    output:
        contrasts="results/evaluation/contrasts/{scale}/{exhibit}.subspaces.json",
    log:
        "logs/evaluation/contrasts/{scale}/{exhibit}.subspaces.log",
    benchmark:
        "logs/benchmarks/evaluation/contrasts/{scale}/{exhibit}.subspaces.tsv"
    wildcard_constraints:
        exhibit=one_of(PLAN.comparisons.exhibits_made_from("subspace_contrasts")),
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["evaluation"],
        pairs=lambda wildcards: PLAN.comparisons.paired_subspaces(wildcards.scale, wildcards.exhibit),
    message:
        "Compare the methods of {wildcards.exhibit}, paired by seed, with intervals over seeds and queries"
    script:
        "../scripts/contrast_subspaces.py"


rule project_subspace:
    input:
        documents=lambda wildcards: PLAN.places.documents(run_of_projection(wildcards)[0].run.documents),
        record=lambda wildcards: PLAN.places.subspace_record(
            PLAN.subspaces.jobs_of([run_of_projection(wildcards)[0].run.name])[0]
        ),
        division=lambda wildcards: run_of_projection(wildcards)[0].division,
    output:
        projection="results/evaluation/subspaces/projections/{scale}/{exhibit}.parquet",
    log:
        "logs/evaluation/subspaces/projections/{scale}/{exhibit}.log",
    benchmark:
        "logs/benchmarks/evaluation/subspaces/projections/{scale}/{exhibit}.tsv"
    wildcard_constraints:
        exhibit=one_of(PLAN.comparisons.exhibits_made_from("subspace_projection")),
    resources:
        mem_mb=2000,
        runtime="15m",
    params:
        version=VERSIONS["evaluation"],
        run=lambda wildcards: run_of_projection(wildcards)[0].plain,
        selection=lambda wildcards: run_of_projection(wildcards)[1],
    message:
        "Project the subspace of {wildcards.exhibit} on a plane"
    script:
        "../scripts/project_subspace.py"

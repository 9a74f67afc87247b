# Category retrieval: documents with their vectors, how they are divided, subspaces, and their numbers.


rule keep_documents:
    input:
        unpack(read_by("keep_documents")),
    output:
        **made_by("keep_documents"),
    log:
        "logs/corpus/documents/{documents}.log",
    benchmark:
        "logs/benchmarks/corpus/documents/{documents}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("keep_documents"),
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        spec=param("keep_documents", "spec"),
    message:
        "Read the documents of {wildcards.documents}: categories, and vectors of images and texts"
    script:
        "../scripts/keep_documents.py"


rule keep_documents_of_words:
    input:
        unpack(read_by("keep_documents_of_words")),
    output:
        **made_by("keep_documents_of_words"),
    log:
        "logs/corpus/documents/{documents}.log",
    benchmark:
        "logs/benchmarks/corpus/documents/{documents}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("keep_documents_of_words"),
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="30m",
    params:
        spec=param("keep_documents_of_words", "spec"),
    message:
        "Read the documents of {wildcards.documents}: categories, vectors of images, and texts as words"
    script:
        "../scripts/keep_documents.py"


rule divide_documents:
    input:
        unpack(read_by("divide_documents")),
    output:
        **made_by("divide_documents"),
    log:
        "logs/corpus/documents/{documents}/{division},seed={seed}.log",
    benchmark:
        "logs/benchmarks/corpus/documents/{documents}/{division},seed={seed}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="5m",
    params:
        spec=param("divide_documents", "spec"),
    message:
        "Divide {wildcards.documents} as {wildcards.division} by seed {wildcards.seed}"
    script:
        "../scripts/divide_documents.py"


# As in training: a job makes several runs, and its one output is a record of them.
rule train_subspaces:
    input:
        unpack(read_by("train_subspaces")),
    output:
        **made_by("train_subspaces"),
    log:
        "logs/training/subspaces/{subspace_job}.log",
    benchmark:
        "logs/benchmarks/training/subspaces/{subspace_job}.tsv"
    threads: 1
    resources:
        mem_mb=lambda wildcards, attempt: 3000 * attempt,
        runtime=lambda wildcards: PLAN.scale.categories.minutes,
    params:
        runs=param("train_subspaces", "runs"),
    message:
        "Fit subspaces {wildcards.subspace_job}"
    script:
        "../scripts/train_subspaces.py"


rule evaluate_subspaces:
    input:
        unpack(read_by("evaluate_subspaces")),
    output:
        **made_by("evaluate_subspaces"),
    log:
        "logs/evaluation/subspaces/{subspace_job}.log",
    benchmark:
        "logs/benchmarks/evaluation/subspaces/{subspace_job}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime="15m",
    params:
        runs=param("evaluate_subspaces", "runs"),
    message:
        "Average precision of {wildcards.subspace_job}, and what its training recorded"
    script:
        "../scripts/evaluate_subspaces.py"


rule contrast_subspaces:
    input:
        unpack(read_by("contrast_subspaces")),
    output:
        **made_by("contrast_subspaces"),
    log:
        "logs/evaluation/contrasts/{scale}/{exhibit}.subspaces.log",
    benchmark:
        "logs/benchmarks/evaluation/contrasts/{scale}/{exhibit}.subspaces.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("contrast_subspaces"),
    resources:
        mem_mb=lambda wildcards, attempt: 2000 * attempt,
        runtime="15m",
    params:
        pairs=param("contrast_subspaces", "pairs"),
    message:
        "Differences of the methods of {wildcards.exhibit}, paired by seed, with intervals over seeds and queries"
    script:
        "../scripts/contrast_subspaces.py"


rule project_subspace:
    input:
        unpack(read_by("project_subspace")),
    output:
        **made_by("project_subspace"),
    log:
        "logs/evaluation/subspaces/projections/{scale}/{exhibit}.log",
    benchmark:
        "logs/benchmarks/evaluation/subspaces/projections/{scale}/{exhibit}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("project_subspace"),
    resources:
        mem_mb=2000,
        runtime="15m",
    params:
        run=param("project_subspace", "run"),
        selection=param("project_subspace", "selection"),
    message:
        "The subspace of {wildcards.exhibit} on a plane"
    script:
        "../scripts/project_subspace.py"

# Each dataset -> one typed table of images and captions.


rule download:
    input:
        page=fetched_by_program,  # that it is made of, if any; an error if a person must fetch it, or agree first
    output:
        file="data/{file}",
    log:
        "logs/corpus/download/{file}.log",
    benchmark:
        "logs/benchmarks/corpus/download/{file}.tsv"
    wildcard_constraints:
        file=one_of(PLAN.datasets.downloads),
    localrule: True
    resources:
        mem_mb=500,
        runtime="8h",
    params:
        dataset=lambda wildcards: PLAN.datasets.downloads[wildcards.file][0],
        name=lambda wildcards: PLAN.datasets.downloads[wildcards.file][1],
        catalogue=lambda wildcards: str(PLAN.catalogue_file),
        mirror=lambda wildcards: MIRROR,
    message:
        "Download {wildcards.file}, or take it from the mirror, and check it"
    script:
        "../scripts/download.py"


# A folder that a person put there stays as it is: no rule makes it.
rule unpack:
    input:
        archives=lambda wildcards: given(PLAN.datasets.archives_of(PLAN.places.data / wildcards.folder)),
    output:
        folder=directory("data/{folder}"),
    log:
        "logs/corpus/unpack/{folder}.log",
    benchmark:
        "logs/benchmarks/corpus/unpack/{folder}.tsv"
    wildcard_constraints:
        folder=one_of(path.name for path in PLAN.datasets.folders if PLAN.datasets.makes_folder(path)),
    localrule: True
    resources:
        mem_mb=500,
        runtime="4h",
    params:
        dataset=lambda wildcards: PLAN.datasets.folders[PLAN.places.data / wildcards.folder][0],
        catalogue=lambda wildcards: str(PLAN.catalogue_file),
    message:
        "Unpack {wildcards.folder}"
    script:
        "../scripts/unpack.py"


rule draw_scenes:
    output:
        corpus="results/corpus/{dataset}.parquet",
        photographs="results/corpus/{dataset}/photographs.zip",
        tuples="results/corpus/{dataset}/tuples.jsonl.gz",
        labels="results/corpus/{dataset}/labels.parquet",
        truth="results/corpus/{dataset}/truth.npy",
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.scenes),
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        version=VERSIONS["corpus"],
        scenes=lambda wildcards: SCALE.datasets[wildcards.dataset].model_dump(exclude={"loader"}),
    message:
        "Draw the scenes of {wildcards.dataset} and write their captions"
    script:
        "../scripts/draw_scenes.py"


rule load_corpus:
    input:
        captions=lambda wildcards: given(PLAN.datasets.captions_of(wildcards.dataset)),
    output:
        corpus="results/corpus/{dataset}.parquet",
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.except_for(PLAN.datasets.scenes)),
    resources:
        mem_mb=4000,
        runtime="10m",
    params:
        version=VERSIONS["corpus"],
        data=lambda wildcards: PLAN.datasets.settings_of(wildcards.dataset),
        captions=lambda wildcards: PLAN.datasets.content_of_captions(wildcards.dataset),
        photographs=digest_of_names,
        needs=lambda wildcards: PLAN.datasets.splits_needed(wildcards.dataset),
    message:
        "Read images, captions and splits of {wildcards.dataset}"
    script:
        "../scripts/load_corpus.py"


# What features are made of: a corrected caption makes none again.
rule list_images:
    input:
        captions=lambda wildcards: given(PLAN.datasets.captions_of(wildcards.dataset)),
    output:
        images="results/corpus/{dataset}/images.parquet",
    log:
        "logs/corpus/{dataset}/images.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}/images.tsv"
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.except_for(PLAN.datasets.scenes)),
    resources:
        mem_mb=4000,
        runtime="10m",
    params:
        data=lambda wildcards: PLAN.datasets.settings_of(wildcards.dataset),
        code=lambda wildcards: PLAN.datasets.digest_of_images(wildcards.dataset),  # what the code finds, and not what it is
    message:
        "List the images of {wildcards.dataset}"
    script:
        "../scripts/list_images.py"


rule label_images:
    input:
        corpus="results/corpus/{dataset}.parquet",
        instances=lambda wildcards: given(PLAN.datasets.downloaded(wildcards.dataset, "instances")[0]),
    output:
        labels="results/corpus/{dataset}/labels.parquet",
    log:
        "logs/corpus/{dataset}/labels.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}/labels.tsv"
    wildcard_constraints:
        dataset=one_of(PLAN.datasets.except_for(PLAN.datasets.scenes)),
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["corpus"],
        instances=lambda wildcards: content_of(PLAN.datasets.downloaded(wildcards.dataset, "instances")[0]),
    message:
        "Label the objects in the test images of {wildcards.dataset}"
    script:
        "../scripts/label_images.py"

# Datasets -> one typed table of images and captions each.


rule download:
    output:
        **made_by("download"),
    log:
        "logs/corpus/download/{file}.log",
    benchmark:
        "logs/benchmarks/corpus/download/{file}.tsv"
    localrule: True
    resources:
        mem_mb=500,
        runtime="8h",
    params:
        dataset=param("download", "dataset"),
        name=param("download", "name"),
        catalogue=param("download", "catalogue"),
        mirror=param("download", "mirror"),
    message:
        "Download {wildcards.file}, or take it from the mirror, and check it"
    script:
        "../scripts/download.py"


rule draw_scenes:
    output:
        **made_by("draw_scenes"),
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("draw_scenes"),
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        scenes=param("draw_scenes", "scenes"),
    message:
        "Draw the scenes of {wildcards.dataset} and write their captions"
    script:
        "../scripts/draw_scenes.py"


rule load_corpus:
    input:
        unpack(read_by("load_corpus")),
    output:
        **made_by("load_corpus"),
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("load_corpus"),
    resources:
        mem_mb=4000,
        runtime="10m",
    params:
        **content("load_corpus"),
        data=param("load_corpus", "data"),
    message:
        "Read images, captions and splits of {wildcards.dataset}"
    script:
        "../scripts/load_corpus.py"


rule label_images:
    input:
        unpack(read_by("label_images")),
    output:
        **made_by("label_images"),
    log:
        "logs/corpus/{dataset}/labels.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}/labels.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("label_images"),
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    message:
        "Which objects are in the test images of {wildcards.dataset}"
    script:
        "../scripts/label_images.py"

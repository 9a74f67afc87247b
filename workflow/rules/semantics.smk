# Captions -> phi[caption, image]: how well a caption says what an image's captions say.


rule fetch_parser:
    output:
        **made_by("fetch_parser"),
    log:
        "logs/semantics/parser.log",
    benchmark:
        "logs/benchmarks/semantics/parser.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="2h",
    params:
        mirror=param("fetch_parser", "mirror"),
    message:
        "The Java classes of SPICE's parser: of the mirror or this user's cache, or else a download of 385 MB"
    script:
        "../scripts/fetch_parser.py"


rule parse_some_captions:
    input:
        unpack(read_by("parse_some_captions")),
    output:
        **made_by("parse_some_captions"),
    log:
        "logs/semantics/{dataset}/{part}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/{part}.tsv"
    threads: 16
    resources:
        mem_mb=4000,
        runtime="12h",
    params:
        split=param("parse_some_captions", "split"),
        part=param("parse_some_captions", "part"),
        mirror=param("parse_some_captions", "mirror"),
    message:
        "Parse captions of {wildcards.dataset} with SPICE's own parser: {wildcards.part}"
    script:
        "../scripts/parse_some_captions.py"


rule score_captions:
    input:
        unpack(read_by("score_captions")),
    output:
        **made_by("score_captions"),
    log:
        "logs/semantics/{dataset}/{split}/{phi}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/{split}/{phi}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    message:
        "{wildcards.phi} of every caption of {wildcards.dataset}/{wildcards.split} against every image"
    script:
        "../scripts/score_captions.py"


rule score_training_captions:
    input:
        unpack(read_by("score_training_captions")),
    output:
        **made_by("score_training_captions"),
    log:
        "logs/semantics/{dataset}/train/{phi},{captions}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/train/{phi},{captions}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        part=param("score_training_captions", "part"),
    message:
        "{wildcards.phi} of the training captions of {wildcards.dataset} ({wildcards.captions}) against their images"
    script:
        "../scripts/score_training_captions.py"


rule prepare_cider:
    input:
        unpack(read_by("prepare_cider")),
    output:
        **made_by("prepare_cider"),
    log:
        "logs/semantics/{dataset}/train/{phi},{captions}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/train/{phi},{captions}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        part=param("prepare_cider", "part"),
    message:
        "Prepare {wildcards.phi} of the training captions of {wildcards.dataset} ({wildcards.captions}) for losses"
    script:
        "../scripts/prepare_cider.py"

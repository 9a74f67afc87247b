# Captions -> phi[caption, image]: how well a caption says what an image's captions say. Some phi read more than the
# captions: SPICE their scene graphs, as tuples, and embeddings their vectors.


rule fetch_parser:
    output:
        record="data/fetched/parser.json",
    log:
        "logs/semantics/parser.log",
    benchmark:
        "logs/benchmarks/semantics/parser.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="2h",
    params:
        mirror=lambda wildcards: MIRROR,
    message:
        "Fetch the Java classes of SPICE's parser: from the mirror, this user's cache, or a download of 385 MB"
    script:
        "../scripts/fetch_parser.py"


rule parse_captions:
    input:
        corpus="results/corpus/{dataset}.parquet",
        fetched=ancient("data/fetched/parser.json"),
    output:
        tuples="results/semantics/{dataset}/{split}/tuples.jsonl.gz",
    log:
        "logs/semantics/{dataset}/parsed/{split}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/parsed/{split}.tsv"
    threads: 16
    resources:
        mem_mb=4000,
        runtime="12h",
    params:
        version=VERSIONS["phi"],
        mirror=lambda wildcards: MIRROR,
        language="en",  # files from before Java had one are parsed again
    message:
        "Parse the captions of {wildcards.dataset}/{wildcards.split} with SPICE's own parser"
    script:
        "../scripts/parse_captions.py"


use rule parse_captions as parse_training_captions with:
    output:
        tuples="results/semantics/{dataset}/train/tuples,{captions}.jsonl.gz",
    log:
        "logs/semantics/{dataset}/parsed/train,{captions}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/parsed/train,{captions}.tsv"
    params:
        version=VERSIONS["phi"],
        part=part_of_training,
        mirror=lambda wildcards: MIRROR,
        language="en",
    message:
        "Parse the training captions of {wildcards.dataset} ({wildcards.captions}) with SPICE's own parser"


rule encode_captions:
    input:
        corpus="results/corpus/{dataset}.parquet",
    output:
        vectors="results/semantics/{dataset}/vectors/{model}.npy",
        captions="results/semantics/{dataset}/vectors/{model}.captions.parquet",
        note="results/semantics/{dataset}/vectors/{model}.json",
    log:
        "logs/semantics/{dataset}/vectors/{model}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/vectors/{model}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="2h",
    params:
        version=VERSIONS["phi"],
        model=lambda wildcards: PLAN.phi.sentence_encoder(wildcards.model),
    message:
        "Encode the captions of {wildcards.dataset} with {wildcards.model}"
    script:
        "../scripts/encode_captions.py"


rule score_captions:
    input:
        corpus="results/corpus/{dataset}.parquet",
        tuples=lambda wildcards: PLAN.phi.tuples_of(wildcards.dataset, [wildcards.phi], wildcards.split),
        vectors=lambda wildcards: PLAN.phi.vectors_of(wildcards.dataset, [wildcards.phi]),
        truth=lambda wildcards: PLAN.phi.truth_of(wildcards.dataset, [wildcards.phi]),
        scores=lambda wildcards: given(PLAN.phi.scores_of(wildcards.dataset, [wildcards.phi])),
    output:
        phi="results/semantics/{dataset}/{split}/{phi}.npy",
        note="results/semantics/{dataset}/{split}/{phi}.json",
    log:
        "logs/semantics/{dataset}/{split}/{phi}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/{split}/{phi}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["phi"],
        scores=lambda wildcards: content_of(*PLAN.phi.scores_of(wildcards.dataset, [wildcards.phi])),
    message:
        "Score every caption of {wildcards.dataset}/{wildcards.split} against every image by {wildcards.phi}"
    script:
        "../scripts/score_captions.py"


use rule score_captions as score_training_captions with:
    input:
        corpus="results/corpus/{dataset}.parquet",
        tuples=lambda wildcards: PLAN.phi.tuples_of(wildcards.dataset, [wildcards.phi], "train", wildcards.captions),
        vectors=lambda wildcards: PLAN.phi.vectors_of(wildcards.dataset, [wildcards.phi]),
        truth=lambda wildcards: PLAN.phi.truth_of(wildcards.dataset, [wildcards.phi]),
        scores=lambda wildcards: given(PLAN.phi.scores_of(wildcards.dataset, [wildcards.phi])),
    output:
        phi="results/semantics/{dataset}/train/{phi},{captions}.npy",
        note="results/semantics/{dataset}/train/{phi},{captions}.json",
    log:
        "logs/semantics/{dataset}/train/{phi},{captions}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/train/{phi},{captions}.tsv"
    params:
        version=VERSIONS["phi"],
        part=part_of_training,
        scores=lambda wildcards: content_of(*PLAN.phi.scores_of(wildcards.dataset, [wildcards.phi])),
    message:
        "Score the training captions of {wildcards.dataset} ({wildcards.captions}) against their images by {wildcards.phi}"


# Counts of n-grams, from which a loss computes CIDEr of a batch: no matrix of all training captions.
rule prepare_cider:
    input:
        corpus="results/corpus/{dataset}.parquet",
    output:
        prepared="results/semantics/{dataset}/train/{phi},{captions}.npz",
    log:
        "logs/semantics/{dataset}/prepared/{phi},{captions}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/prepared/{phi},{captions}.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime="15m",
    params:
        version=VERSIONS["phi"],
        part=part_of_training,
    message:
        "Prepare {wildcards.phi} of the training captions of {wildcards.dataset} ({wildcards.captions}) for losses"
    script:
        "../scripts/prepare_cider.py"

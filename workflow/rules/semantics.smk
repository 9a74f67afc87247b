# Captions -> phi[caption, image], how well a caption says what an image's captions say.


rule parse_captions:
    input:
        corpus=CORPUS / "{dataset}.parquet",
    output:
        tuples=SEMANTICS / "{dataset}" / "tuples.jsonl.gz",
    log:
        "logs/semantics/{dataset}/tuples.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/tuples.tsv"
    threads: 16
    resources:
        mem_mb=4000,
        runtime="12h",
    params:
        mirror=MIRROR,
    message:
        "SPICE's own parser reads every caption of {wildcards.dataset} once"
    script:
        "../scripts/parse_captions.py"


rule score_captions:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        tuples=lambda wc: tuples_of(wc.dataset, [wc.phi]),
    output:
        phi=SEMANTICS / "{dataset}" / "{split}" / "{phi}.npy",
        made_of=SEMANTICS / "{dataset}" / "{split}" / "{phi}.json",
    log:
        "logs/semantics/{dataset}/{split}/{phi}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/{split}/{phi}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="15m",
    message:
        "{wildcards.phi} of every caption of {wildcards.dataset}/{wildcards.split} against every image"
    script:
        "../scripts/score_captions.py"

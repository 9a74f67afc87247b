# Captions -> phi[caption, image], how well a caption says what an image's captions say.


rule score_captions:
    input:
        corpus=CORPUS / "{dataset}.parquet",
    output:
        phi=SEMANTICS / "{dataset}" / "{split}" / "{metric}.npy",
        made_of=SEMANTICS / "{dataset}" / "{split}" / "{metric}.json",
    log:
        "logs/semantics/{dataset}/{split}/{metric}.log",
    benchmark:
        "logs/benchmarks/semantics/{dataset}/{split}/{metric}.tsv"
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="15m",
    message:
        "{wildcards.metric} of every caption of {wildcards.dataset}/{wildcards.split} against every image"
    script:
        "../scripts/score_captions.py"

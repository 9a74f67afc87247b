# Datasets -> one typed table of images and captions each.


rule download:
    output:
        file=DATA / "{file}",
    log:
        "logs/corpus/download/{file}.log",
    benchmark:
        "logs/benchmarks/corpus/download/{file}.tsv"
    wildcard_constraints:
        file=one_of(DOWNLOADS),
    resources:
        mem_mb=500,
        runtime="8h",
    params:
        entry=lambda wc: DOWNLOADS[wc.file],
        catalogue=str(PROJECT / "config" / "datasets.yaml"),
    message:
        "Fetch {wildcards.file} from its host or the mirror, and check it"
    script:
        "../scripts/download.py"


rule draw_scenes:
    output:
        corpus=CORPUS / "{dataset}.parquet",
        photographs=CORPUS / "{dataset}" / "photographs.zip",
        tuples=CORPUS / "{dataset}" / "tuples.jsonl.gz",
        labels=CORPUS / "{dataset}" / "labels.parquet",
        truth=CORPUS / "{dataset}" / "truth.npy",
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(datasets_with("scenes")),
    resources:
        mem_mb=2000,
        runtime="10m",
    params:
        scenes=lambda wc: SCALE.datasets[wc.dataset].model_dump(exclude={"loader"}),
    message:
        "Draw the scenes of {wildcards.dataset} and write their captions"
    script:
        "../scripts/draw_scenes.py"


rule load_corpus:
    input:
        captions=captions_of,
    output:
        corpus=CORPUS / "{dataset}.parquet",
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(datasets_with("flickr8k", "karpathy", "precomp", "folder")),
    resources:
        mem_mb=4000,
        runtime="10m",
    params:
        data=lambda wc: SCALE.datasets[wc.dataset].model_dump(mode="json"),
    message:
        "Read images, captions and splits of {wildcards.dataset}"
    script:
        "../scripts/load_corpus.py"


rule label_images:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        instances=instances_of,
    output:
        labels=CORPUS / "{dataset}" / "labels.parquet",
    log:
        "logs/corpus/{dataset}/labels.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}/labels.tsv"
    wildcard_constraints:
        dataset=one_of(ANNOTATED),
    resources:
        mem_mb=lambda wc, attempt: 4000 * attempt,
        runtime="15m",
    message:
        "Which kinds of things are in the test images of {wildcards.dataset}"
    script:
        "../scripts/label_images.py"

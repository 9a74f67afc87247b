# Datasets -> one typed table of images and captions each.


rule download:
    message:
        "Fetch {wildcards.file} from its host or the mirror, and check it"
    output:
        file=DATA / "{file}",
    wildcard_constraints:
        file=one_of(DOWNLOADS),
    log:
        "logs/corpus/download/{file}.log",
    benchmark:
        "logs/benchmarks/corpus/download/{file}.tsv"
    params:
        entry=lambda wc: DOWNLOADS[wc.file],
        catalogue=str(PROJECT / "config" / "datasets.yaml"),
    resources:
        mem_mb=500,
        runtime="8h",
    script:
        "../scripts/download.py"


rule draw_scenes:
    message:
        "Draw the scenes of {wildcards.dataset} and write their captions"
    output:
        corpus=CORPUS / "{dataset}.parquet",
        photographs=CORPUS / "{dataset}" / "photographs.zip",
        tuples=CORPUS / "{dataset}" / "tuples.jsonl.gz",
        labels=CORPUS / "{dataset}" / "labels.parquet",
        truth=CORPUS / "{dataset}" / "truth.npy",
    wildcard_constraints:
        dataset=one_of(datasets_with("scenes")),
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    params:
        scenes=lambda wc: SCALE.datasets[wc.dataset].model_dump(exclude={"loader"}),
    resources:
        mem_mb=2000,
        runtime="10m",
    script:
        "../scripts/draw_scenes.py"


rule load_corpus:
    message:
        "Read images, captions and splits of {wildcards.dataset}"
    input:
        captions=captions_of,
    output:
        corpus=CORPUS / "{dataset}.parquet",
    wildcard_constraints:
        dataset=one_of(datasets_with("flickr8k", "karpathy", "precomp", "folder")),
    log:
        "logs/corpus/{dataset}.log",
    benchmark:
        "logs/benchmarks/corpus/{dataset}.tsv"
    params:
        data=lambda wc: SCALE.datasets[wc.dataset].model_dump(mode="json"),
    resources:
        mem_mb=4000,
        runtime="10m",
    script:
        "../scripts/load_corpus.py"

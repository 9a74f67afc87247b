# Score embeddings of a gallery that is too large for one job: its queries are cut into parts, whose numbers are joined.
#   snakemake -s workflow/gallery.smk --config images=images.npy texts=texts.npy captions=captions.txt parts=7
# On a cluster add --workflow-profile profiles/slurm. Further options of "fivesentences evaluate" are metrics="--ks 1,10".
from shlex import quote

PARTS = int(config.get("parts", 4))
OUT = config.get("out", "gallery")
MISSING = [name for name in ("images", "texts", "captions") if name not in config]
if MISSING:
    raise ValueError(f"{MISSING[0]}= is missing; see the first lines of workflow/gallery.smk")


localrules:
    all,


rule all:
    input:
        f"{OUT}/numbers.json",


rule score_part:
    input:
        images=config.get("images", []),
        texts=config.get("texts", []),
        captions=config.get("captions", []),
    output:
        part=f"{OUT}/part{{part}}.json",
    log:
        f"{OUT}/logs/part{{part}}.log",
    benchmark:
        f"{OUT}/logs/part{{part}}.tsv"
    threads: 2
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 60 * attempt,
    params:
        metrics=config.get("metrics", ""),
        phi=" ".join(f"--metric {quote(phi)}" for phi in str(config.get("phi", "cider")).split(",")),
        parts=PARTS,
    message:
        "Score part {wildcards.part} of {params.parts}"
    shell:
        "fivesentences evaluate {input.images:q},{input.texts:q} --captions {input.captions:q} {params.phi} {params.metrics}"
        " --queries {wildcards.part}/{params.parts} --json {output.part:q} --quiet > {log:q} 2>&1"


rule join_parts:
    input:
        parts=[f"{OUT}/part{part}.json" for part in range(1, PARTS + 1)],
    output:
        numbers=f"{OUT}/numbers.json",
    log:
        f"{OUT}/logs/join.log",
    benchmark:
        f"{OUT}/logs/join.tsv"
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards, attempt: 20 * attempt,
    params:
        metrics=config.get("metrics", ""),
    message:
        "Join {input.parts}"
    shell:
        "fivesentences evaluate {input.parts:q} {params.metrics} --json {output.numbers:q} 2>&1 | tee {log:q}"

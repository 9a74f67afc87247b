# Jobs that go wrong in one way each, for the tests of the SLURM profile.
SCRIPT = str(Path(workflow.basedir) / "mishaps.py")


wildcard_constraints:
    what="[a-z]+",


rule all:
    localrule: True
    input:
        expand("out/{what}.txt", what=config["what"].split(",")),


# Of a rule of the project, so that whatever the profile does with its jobs is done with these.
rule score_captions:
    output:
        "out/{what}.txt",
    log:
        "logs/{what}.log",
    benchmark:
        "logs/benchmarks/{what}.tsv"
    params:
        attempt=lambda wildcards, resources: resources.attempt,
    resources:
        # What Snakemake itself needs in a job is some 300 MB.
        mem_mb=lambda wildcards, attempt: 700 * attempt,
        attempt=lambda wildcards, attempt: attempt,
        runtime=600,
    message:
        "A job that is {wildcards.what}"
    script:
        SCRIPT

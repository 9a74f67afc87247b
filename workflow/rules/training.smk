# Runs: models trained, their best weights by dev score, and their similarities on dev and test.


# A job trains several runs, since Python and torch take seconds to start. Its one output is a record of them: the files
# of a run are in a folder of its own, where a killed job finds what is finished, and goes on with what is not.
rule train:
    input:
        unpack(read_by("train")),
    output:
        **made_by("train"),
    log:
        "logs/training/{job}.log",
    benchmark:
        "logs/benchmarks/training/{job}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("train"),
    threads: PLAN.scale.training.threads
    resources:
        mem_mb=lambda wildcards, attempt: 4000 * attempt,
        runtime=lambda wildcards: PLAN.scale.training.minutes * len(PLAN.jobs[wildcards.job].runs),
        gpu=int(PLAN.scale.training.gpu),
    params:
        runs=param("train", "runs"),
        tensorboard=param("train", "tensorboard"),
    message:
        "Train {wildcards.job}"
    script:
        "../scripts/train.py"


rule average_similarities:
    input:
        unpack(read_by("average_similarities")),
    output:
        **made_by("average_similarities"),
    log:
        "logs/training/{ensemble}.log",
    benchmark:
        "logs/benchmarks/training/{ensemble}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="15m",
    params:
        similarities=param("average_similarities", "similarities"),
    message:
        "Average the similarities of the members of {wildcards.ensemble}"
    script:
        "../scripts/average_similarities.py"

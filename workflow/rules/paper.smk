# Numbers -> tables and figures beside the published values, and verdicts of claims.


rule make_table:
    input:
        numbers=lambda wildcards: PLAN.report.numbers_of(wildcards.scale, wildcards.table),
        study=lambda wildcards: given(PLAN.study_file(wildcards.table)),
        published=lambda wildcards: given(PLAN.report.published_of(wildcards.table)),
    output:
        data="results/paper/{scale}/{table}.json",
        csv="results/paper/{scale}/{table}.csv",
        markdown="results/paper/{scale}/{table}.md",
        latex="results/paper/{scale}/{table}.tex",
        html=reported("results/paper/{scale}/{table}.html", "Tables"),
    log:
        "logs/paper/{scale}/{table}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{table}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        code=code_of_drawing(),
        scale=settings_of_study,
        study=lambda wildcards: PLAN.digests(wildcards.table),
        given=lambda wildcards: content_of(*PLAN.report.published_of(wildcards.table)),
        folder=lambda wildcards: PLAN.report.folder_of_published(wildcards.table),
        texts=lambda wildcards: PLAN.report.texts_of(wildcards.table),
    message:
        "Make {wildcards.table} at scale {wildcards.scale}"
    script:
        "../scripts/make_table.py"


rule plot_figure:
    input:
        numbers=lambda wildcards: PLAN.report.numbers_of(wildcards.scale, wildcards.figure),
        published=lambda wildcards: given(PLAN.report.published_of(wildcards.figure)),
        photographs=lambda wildcards: photographs_of(dataset_of_photographs(wildcards)),
        study=lambda wildcards: given(PLAN.study_file(wildcards.figure)),
    output:
        texts="results/paper/{scale}/{figure}.json",
        data="results/paper/{scale}/{figure}.csv",
        pdf="results/paper/{scale}/{figure}.pdf",
        svg=reported("results/paper/{scale}/{figure}.svg", "Figures"),
        narrow="results/paper/{scale}/{figure}.narrow.svg",
    log:
        "logs/paper/{scale}/{figure}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{figure}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        code=code_of_drawing(),
        scale=settings_of_study,
        pictured=dataset_of_photographs,
        photographs=lambda wildcards: PLAN.datasets.content_of_photographs(dataset_of_photographs(wildcards)),
        study=lambda wildcards: PLAN.digests(wildcards.figure),
        given=lambda wildcards: content_of(*PLAN.report.published_of(wildcards.figure)),
        folder=lambda wildcards: PLAN.report.folder_of_published(wildcards.figure),
        texts=lambda wildcards: PLAN.report.texts_of(wildcards.figure),
    message:
        "Plot {wildcards.figure} at scale {wildcards.scale}"
    script:
        "../scripts/plot_figure.py"


rule gather_latex:
    input:
        tables=expand("results/paper/{{scale}}/{table}.{suffix}", table=PLAN.tables, suffix=["json", "tex"]),
        figures=expand("results/paper/{{scale}}/{figure}.{suffix}", figure=PLAN.figures, suffix=["json", "pdf"]),
        studies=given(PLAN.study_files),
    output:
        document="results/paper/{scale}/paper.tex",
    log:
        "logs/paper/{scale}/latex.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/latex.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        code=code_of_drawing(),
        studies=PLAN.digests(*PLAN.studies),
        scale=settings_of_scale,
    message:
        "Gather in LaTeX the tables and figures of scale {wildcards.scale}"
    script:
        "../scripts/gather_latex.py"


rule judge_claims:
    input:
        # Numbers of the runs that claims compare, by name: tidy, per_image, queries, judged, found.
        unpack(lambda wildcards: PLAN.report.numbers_of_claims(wildcards.scale)),
        claims=given(PLAN.claims_files),
        studies=given(PLAN.study_files_of_claims),
    output:
        data="results/paper/{scale}/claims/claims.json",
        csv="results/paper/{scale}/claims/claims.csv",
        html=report(
            "results/paper/{scale}/claims/claims.html",
            caption="../report/claims.rst",
            category="What the papers state",
            labels={"name": "claims", "scale": "{scale}"},
        ),
    log:
        "logs/paper/{scale}/claims.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/claims.tsv"
    localrule: True
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        code=code_of_drawing(),
        studies=[*PLAN.digests(*PLAN.studies), *(paper.study.digest() for paper in PLAN.claims)],
        given=lambda wildcards: content_of(*PLAN.claims_files),
        scale=PLAN.settings(SCALE.scale),
        config=lambda wildcards: str(PLAN.config),
        site=site,
    message:
        "Test what the papers state by the runs of scale {wildcards.scale}"
    script:
        "../scripts/judge_claims.py"

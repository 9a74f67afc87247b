# Numbers -> tables and figures beside the published values, and verdicts of claims.


rule make_table:
    input:
        unpack(read_by("make_table")),
    output:
        **made_by("make_table") | {"html": reported(made_by("make_table")["html"], "Tables")},
    log:
        "logs/paper/{scale}/{table}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{table}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=param("make_table", "scale"),
        folder=param("make_table", "folder"),
        texts=param("make_table", "texts"),
    message:
        "{wildcards.table} at scale {wildcards.scale}"
    script:
        "../scripts/make_table.py"


rule plot_figure:
    input:
        unpack(read_by("plot_figure")),
    output:
        **made_by("plot_figure") | {"png": reported(made_by("plot_figure")["png"], "Figures")},
    log:
        "logs/paper/{scale}/{figure}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{figure}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        **content("plot_figure"),
        scale=param("plot_figure", "scale"),
        pictured=param("plot_figure", "pictured"),
        folder=param("plot_figure", "folder"),
        texts=param("plot_figure", "texts"),
    message:
        "{wildcards.figure} at scale {wildcards.scale}"
    script:
        "../scripts/plot_figure.py"


rule gather_latex:
    input:
        unpack(read_by("gather_latex")),
    output:
        **made_by("gather_latex"),
    log:
        "logs/paper/{scale}/latex.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/latex.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=param("gather_latex", "scale"),
    message:
        "A LaTeX document of the tables and figures of scale {wildcards.scale}"
    script:
        "../scripts/gather_latex.py"


rule judge_claims:
    input:
        unpack(read_by("judge_claims")),
    output:
        **made_by("judge_claims")
        | {
            "html": report(
                made_by("judge_claims")["html"],
                caption="../report/claims.rst",
                category="What the papers state",
                labels={"name": "claims", "scale": "{scale}"},
            )
        },
    log:
        "logs/paper/{scale}/claims.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/claims.tsv"
    localrule: True
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        scale=param("judge_claims", "scale"),
        config=param("judge_claims", "config"),
        site=param("judge_claims", "site"),
    message:
        "What the papers state, tested by the runs of scale {wildcards.scale}"
    script:
        "../scripts/judge_claims.py"

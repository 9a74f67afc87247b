# Numbers -> tables, figures and the page that shows them beside print.


rule make_table:
    message:
        "{wildcards.table} of {wildcards.study} at scale {wildcards.scale}"
    input:
        metrics=lambda wc: metrics_of(runs_of_table(STUDIES[wc.study], wc.table, SCALE)),
        study=str(PROJECT / "config" / "studies" / "{study}.yaml"),
        published=published_of,
    output:
        multiext(str(PAPER / "{scale}" / "{study}" / "{table}"), csv=".csv", markdown=".md", latex=".tex", data=".json"),
        html=report(
            PAPER / "{scale}" / "{study}" / "{table}.html",
            caption="../report/table.rst",
            category="{study}",
            labels={"table": "{table}"},
        ),
    log:
        "logs/paper/{scale}/{study}/{table}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{study}/{table}.tsv"
    params:
        scale=SCALE.model_dump(mode="json"),
    resources:
        mem_mb=1000,
        runtime="10m",
    script:
        "../scripts/make_table.py"


rule plot_figure:
    message:
        "{wildcards.figure} of {wildcards.study} at scale {wildcards.scale}"
    input:
        metrics=lambda wc: metrics_of(runs_of_figure(STUDIES[wc.study], wc.figure, SCALE)),
        study=str(PROJECT / "config" / "studies" / "{study}.yaml"),
    output:
        multiext(str(PAPER / "{scale}" / "{study}" / "{figure}"), pdf=".pdf", csv=".csv"),
        png=report(
            PAPER / "{scale}" / "{study}" / "{figure}.png",
            caption="../report/figure.rst",
            category="{study}",
            labels={"figure": "{figure}"},
        ),
    log:
        "logs/paper/{scale}/{study}/{figure}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{study}/{figure}.tsv"
    params:
        scale=SCALE.model_dump(mode="json"),
    resources:
        mem_mb=1000,
        runtime="10m",
    script:
        "../scripts/plot_figure.py"

# Numbers -> tables, figures and the page that shows them beside print.


rule make_table:
    input:
        metrics=lambda wc: metrics_of(runs_of_table(STUDIES[wc.study], wc.table, SCALE)),
        study=str(PROJECT / "config" / "studies" / "{study}.yaml"),
        published=published_of,
    output:
        data=PAPER / "{scale}" / "{study}" / "{table}.json",
        csv=PAPER / "{scale}" / "{study}" / "{table}.csv",
        markdown=PAPER / "{scale}" / "{study}" / "{table}.md",
        latex=PAPER / "{scale}" / "{study}" / "{table}.tex",
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
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=SCALE.model_dump(mode="json"),
    message:
        "{wildcards.table} of {wildcards.study} at scale {wildcards.scale}"
    script:
        "../scripts/make_table.py"


rule plot_figure:
    input:
        metrics=lambda wc: metrics_of(
            runs_of_figure(STUDIES[wc.study], wc.figure, SCALE)
        ),
        study=str(PROJECT / "config" / "studies" / "{study}.yaml"),
    output:
        texts=PAPER / "{scale}" / "{study}" / "{figure}.json",
        numbers=PAPER / "{scale}" / "{study}" / "{figure}.csv",
        pdf=PAPER / "{scale}" / "{study}" / "{figure}.pdf",
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
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=SCALE.model_dump(mode="json"),
    message:
        "{wildcards.figure} of {wildcards.study} at scale {wildcards.scale}"
    script:
        "../scripts/plot_figure.py"


rule show_examples:
    input:
        corpus=CORPUS / "{dataset}.parquet",
        photographs=photographs_of,
    output:
        captions=PAPER / "{scale}" / "examples" / "{dataset}.json",
        sheet=PAPER / "{scale}" / "examples" / "{dataset}.png",
    log:
        "logs/paper/{scale}/examples/{dataset}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/examples/{dataset}.tsv"
    resources:
        mem_mb=1000,
        runtime="10m",
    message:
        "Some photographs of {wildcards.dataset} with their captions"
    script:
        "../scripts/show_examples.py"


rule make_page:
    input:
        tables=list(PAPER_TABLES.values()),
        figures=list(PAPER_FIGURES.values()),
        examples=[
            PAPER / SCALE.scale / "examples" / f"{dataset}.json" for dataset in PLAYED
        ],
        tidy=EVALUATION / "{scale}.parquet",
        studies=[PROJECT / "config" / "studies" / f"{study}.yaml" for study in STUDIES],
    output:
        page=PAPER / "{scale}" / "index.html",
    log:
        "logs/paper/{scale}/page.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/page.tsv"
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=SCALE.model_dump(mode="json"),
    message:
        "The page of scale {wildcards.scale}"
    script:
        "../scripts/make_page.py"

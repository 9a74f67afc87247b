# Numbers -> tables, figures and the page that shows them beside print.


rule make_table:
    input:
        numbers=numbers_of,
        study=study_of,
        published=published_of,
    output:
        data=PAPER / "{scale}" / "{thing}.json",
        csv=PAPER / "{scale}" / "{thing}.csv",
        markdown=PAPER / "{scale}" / "{thing}.md",
        latex=PAPER / "{scale}" / "{thing}.tex",
        html=report(
            PAPER / "{scale}" / "{thing}.html",
            caption="../report/table.rst",
            category="Tables",
            labels={"table": "{thing}"},
        ),
    log:
        "logs/paper/{scale}/{thing}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{thing}.tsv"
    wildcard_constraints:
        thing=one_of(TABLES),
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=lambda wc: SCALES[wc.scale].model_dump(mode="json"),
    message:
        "{wildcards.thing} at scale {wildcards.scale}"
    script:
        "../scripts/make_table.py"


rule plot_figure:
    input:
        numbers=numbers_of,
        photographs=photographs_of_figure,
        study=study_of,
    output:
        texts=PAPER / "{scale}" / "{thing}.json",
        numbers=PAPER / "{scale}" / "{thing}.csv",
        pdf=PAPER / "{scale}" / "{thing}.pdf",
        png=report(
            PAPER / "{scale}" / "{thing}.png",
            caption="../report/figure.rst",
            category="Figures",
            labels={"figure": "{thing}"},
        ),
    log:
        "logs/paper/{scale}/{thing}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/{thing}.tsv"
    wildcard_constraints:
        thing=one_of(FIGURES),
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=lambda wc: SCALES[wc.scale].model_dump(mode="json"),
        pictured=pictured_dataset,
    message:
        "{wildcards.thing} at scale {wildcards.scale}"
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
        tables=[PAPER / "{scale}" / f"{thing}.html" for thing in TABLES],
        figures=[PAPER / "{scale}" / f"{thing}.png" for thing in FIGURES],
        examples=[PAPER / "{scale}" / "examples" / f"{dataset}.json" for dataset in PLAYED],
        tidy=[EVALUATION / "{scale}.parquet"] if RUNS else [],
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
        scale=lambda wc: SCALES[wc.scale].model_dump(mode="json"),
    message:
        "The page of scale {wildcards.scale}"
    script:
        "../scripts/make_page.py"

# Tables, figures and claims -> the pages that show them, and the manifest of what they were made of.


rule show_examples:
    input:
        corpus="results/corpus/{dataset}.parquet",
        photographs=photographs,
    output:
        captions="results/paper/{scale}/examples/{dataset}.json",
        sheet="results/paper/{scale}/examples/{dataset}.png",
    log:
        "logs/paper/{scale}/examples/{dataset}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/examples/{dataset}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        photographs=content_of_photographs,
    message:
        "Some photographs of {wildcards.dataset} with their captions"
    script:
        "../scripts/show_examples.py"


rule show_features:
    input:
        corpus="results/corpus/{dataset}.parquet",
        features="results/features/{dataset}/{extracted}.npy",
        photographs=photographs,
    output:
        texts="results/paper/{scale}/features/{dataset}/{extracted}.json",
        data="results/paper/{scale}/features/{dataset}/{extracted}.csv",
        pdf="results/paper/{scale}/features/{dataset}/{extracted}.pdf",
        png="results/paper/{scale}/features/{dataset}/{extracted}.png",
    log:
        "logs/paper/{scale}/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/features/{dataset}/{extracted}.tsv"
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        photographs=content_of_photographs,
    message:
        "What {wildcards.extracted} sees in images of {wildcards.dataset}"
    script:
        "../scripts/show_features.py"


rule show_gallery:
    input:
        disagreements="results/evaluation/disagreements/{scale}.json",
        photographs=photographs_of_gallery,
        study=lambda wildcards: PLAN.study_file(PLAN.gallery_of(wildcards.scale).study),
    output:
        data="results/paper/{scale}/gallery/gallery.json",
        csv="results/paper/{scale}/gallery/gallery.csv",
        thumbnails=directory("results/paper/{scale}/gallery/thumbnails"),
        page="results/paper/{scale}/gallery/index.html",
    log:
        "logs/paper/{scale}/gallery.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/gallery.tsv"
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        photographs=lambda wildcards: PLAN.own_content(PLAN.gallery_of(wildcards.scale).dataset),
        scale=settings_of_scale,
        site=site,
    message:
        "The gallery of scale {wildcards.scale}: queries with what models retrieve for them"
    script:
        "../scripts/show_gallery.py"


rule make_study_page:
    input:
        tables=lambda wildcards: PLAN.exhibits_of(wildcards.scale, wildcards.study, "tables", "json"),
        figures=lambda wildcards: PLAN.exhibits_of(wildcards.scale, wildcards.study, "figures", "png"),
        claims="results/paper/{scale}/claims/claims.json",
        study=lambda wildcards: PLAN.study_file(wildcards.study),
    output:
        page="results/paper/{scale}/{study}/index.html",
    log:
        "logs/paper/{scale}/pages/{study}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/pages/{study}.tsv"
    wildcard_constraints:
        study=one_of(PLAN.studies),
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=settings_of_scale,
        site=site,
    message:
        "The page of {wildcards.study} at scale {wildcards.scale}"
    script:
        "../scripts/make_study_page.py"


rule make_page:
    input:
        papers=lambda wildcards: expand("results/paper/{{scale}}/{study}/index.html", study=PLAN.shown_at(wildcards.scale)),
        tables=expand("results/paper/{{scale}}/{table}.html", table=PLAN.tables),
        figures=expand("results/paper/{{scale}}/{figure}.png", figure=PLAN.figures),
        claims="results/paper/{scale}/claims/claims.json",
        examples=expand("results/paper/{{scale}}/examples/{dataset}.json", dataset=PLAN.datasets_of_runs),
        features=lambda wildcards: PLAN.pictured_features(wildcards.scale),
        corpora=expand("results/corpus/{dataset}.parquet", dataset=PLAN.datasets_of_runs),
        gallery=lambda wildcards: PLAN.gallery_page(wildcards.scale),
        tidy="results/evaluation/{scale}.parquet" if PLAN.all_runs else [],
        studies=PLAN.study_files,
    output:
        page="results/paper/{scale}/index.html",
    log:
        "logs/paper/{scale}/page.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/page.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=settings_of_scale,
        site=site,
        trained=lambda wildcards: PLAN.trained(wildcards.scale),
    message:
        "The overview of scale {wildcards.scale}"
    script:
        "../scripts/make_page.py"


rule write_manifest:
    input:
        numbers=lambda wildcards: PLAN.every_number(wildcards.scale),
        studies=PLAN.study_files,
        published=PLAN.every_published,
        page="results/paper/{scale}/index.html",
    output:
        manifest="results/paper/{scale}/manifest.json",
        headline="results/paper/{scale}/headline.json",
        settings="results/paper/{scale}/settings.json",
    log:
        "logs/paper/{scale}/manifest.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/manifest.tsv"
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        scale=PLAN.settings(SCALE.scale),
        config=str(PLAN.config),
    message:
        "What the numbers of scale {wildcards.scale} were made of"
    script:
        "../scripts/write_manifest.py"

# Tables, figures and claims -> the pages that show them, and the manifest of what they were made of.


rule show_examples:
    input:
        corpus="results/corpus/{dataset}.parquet",
        photographs=lambda wildcards: photographs_of(wildcards.dataset),
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
        code=code_of_drawing(),
        photographs=lambda wildcards: PLAN.datasets.content_of_photographs(wildcards.dataset),
    message:
        "Show some photographs of {wildcards.dataset} with their captions"
    script:
        "../scripts/show_examples.py"


rule show_features:
    input:
        corpus="results/corpus/{dataset}.parquet",
        features="results/features/{dataset}/{extracted}.npy",
        photographs=lambda wildcards: photographs_of(wildcards.dataset),
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
        code=code_of_drawing(),
        photographs=lambda wildcards: PLAN.datasets.content_of_photographs(wildcards.dataset),
    message:
        "Show what {wildcards.extracted} sees in images of {wildcards.dataset}"
    script:
        "../scripts/show_features.py"


rule show_gallery:
    input:
        disagreements="results/evaluation/disagreements/{scale}.json",
        photographs=lambda wildcards: photographs_of(gallery(wildcards).dataset),
        study=lambda wildcards: given(PLAN.study_file(gallery(wildcards).study)),
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
        code=code_of_drawing(),
        photographs=lambda wildcards: PLAN.datasets.content_of_photographs(gallery(wildcards).dataset),
        study=lambda wildcards: PLAN.digests(gallery(wildcards).study),
        scale=settings_of_scale,
        site=site,
    message:
        "Show the gallery of scale {wildcards.scale}: queries with what models retrieve for them"
    script:
        "../scripts/show_gallery.py"


rule make_study_page:
    input:
        tables=lambda wildcards: expand(
            "results/paper/{{scale}}/{table}.json", table=PLAN.of_study(PLAN.tables, wildcards.study)
        ),
        figures=lambda wildcards: expand(
            "results/paper/{{scale}}/{figure}.svg", figure=PLAN.of_study(PLAN.figures, wildcards.study)
        ),
        claims=lambda wildcards: (
            [f"results/paper/{wildcards.scale}/claims/claims.json"] if PLAN.report.is_claimed(wildcards.study) else []
        ),
        study=lambda wildcards: given(PLAN.study_file(wildcards.study)),
    output:
        page="results/paper/{scale}/{study}/index.html",
    log:
        "logs/paper/{scale}/pages/{study}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/pages/{study}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        code=code_of_drawing(),
        study=lambda wildcards: PLAN.digests(wildcards.study, finding=True),
        scale=lambda wildcards: PLAN.settings(wildcards.scale, wildcards.study, finding=True),
        site=site,
    message:
        "Make the page of {wildcards.study} at scale {wildcards.scale}"
    script:
        "../scripts/make_study_page.py"


rule make_page:
    input:
        pages=lambda wildcards: expand(
            "results/paper/{{scale}}/{study}/index.html", study=PLAN.report.shown_at(wildcards.scale)
        ),
        tables=expand("results/paper/{{scale}}/{table}.html", table=PLAN.tables),
        figures=expand("results/paper/{{scale}}/{figure}.svg", figure=PLAN.figures),
        claims="results/paper/{scale}/claims/claims.json",
        examples=expand("results/paper/{{scale}}/examples/{dataset}.json", dataset=PLAN.features.pictured_datasets),
        features=expand("results/paper/{{scale}}/features/{one[0]}/{one[1]}.json", one=PLAN.features.pictured_features),
        corpora=expand("results/corpus/{dataset}.parquet", dataset=PLAN.features.datasets_of_runs),
        gallery=lambda wildcards: (
            [f"results/paper/{wildcards.scale}/gallery/index.html"]
            if PLAN.comparisons.gallery(wildcards.scale)
            else []
        ),
        tidy=lambda wildcards: PLAN.report.tidy(wildcards.scale),
        studies=given(PLAN.study_files),
    output:
        page="results/paper/{scale}/index.html",
        about="results/paper/{scale}/about.json",
    log:
        "logs/paper/{scale}/page.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/page.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        code=code_of_drawing(),
        studies=PLAN.digests(*PLAN.studies, finding=True),
        scale=lambda wildcards: PLAN.settings(wildcards.scale, finding=True),
        site=site,
        trained=lambda wildcards: PLAN.report.trained(wildcards.scale),
    message:
        "Make the overview of scale {wildcards.scale}"
    script:
        "../scripts/make_page.py"


rule write_manifest:
    input:
        numbers=lambda wildcards: PLAN.report.every_number(wildcards.scale),
        studies=given(PLAN.study_files),
        published=given(PUBLISHED),
        site=lambda wildcards: PLAN.report.kept_site(wildcards.scale),
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
        code=code_of_drawing(),
        studies=PLAN.digests(*PLAN.studies),
        given=lambda wildcards: content_of(*PUBLISHED),
        scale=PLAN.settings(SCALE.scale),
        config=lambda wildcards: str(PLAN.config),
        benchmarks=benchmarks(),
    message:
        "Write down what the numbers of scale {wildcards.scale} were made of"
    script:
        "../scripts/write_manifest.py"


rule show_runs:
    input:
        # Numbers of every run, by name: tidy, and for category retrieval subspaces.
        unpack(lambda wildcards: PLAN.report.numbers_of_runs(wildcards.scale)),
    output:
        page="results/paper/{scale}/runs/index.html",
        runs="results/paper/{scale}/runs/runs.csv",
    log:
        "logs/paper/{scale}/runs.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/runs.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        code=code_of_drawing(),
        site=site,
    message:
        "Make the page of every run of scale {wildcards.scale}"
    script:
        "../scripts/show_runs.py"

# Tables, figures and claims -> the pages that show them, and the manifest of what they were made of.


rule show_examples:
    input:
        unpack(read_by("show_examples")),
    output:
        **made_by("show_examples"),
    log:
        "logs/paper/{scale}/examples/{dataset}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/examples/{dataset}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        **content("show_examples"),
    message:
        "Some photographs of {wildcards.dataset} with their captions"
    script:
        "../scripts/show_examples.py"


rule show_features:
    input:
        unpack(read_by("show_features")),
    output:
        **made_by("show_features"),
    log:
        "logs/paper/{scale}/features/{dataset}/{extracted}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/features/{dataset}/{extracted}.tsv"
    wildcard_constraints:
        **PLAN.constraints_of("show_features"),
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        **content("show_features"),
    message:
        "What {wildcards.extracted} sees in images of {wildcards.dataset}"
    script:
        "../scripts/show_features.py"


rule show_gallery:
    input:
        unpack(read_by("show_gallery")),
    output:
        **made_by("show_gallery") | {"thumbnails": directory(made_by("show_gallery")["thumbnails"])},
    log:
        "logs/paper/{scale}/gallery.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/gallery.tsv"
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        **content("show_gallery"),
        scale=param("show_gallery", "scale"),
        site=param("show_gallery", "site"),
    message:
        "The gallery of scale {wildcards.scale}: queries with what models retrieve for them"
    script:
        "../scripts/show_gallery.py"


rule make_study_page:
    input:
        unpack(read_by("make_study_page")),
    output:
        **made_by("make_study_page"),
    log:
        "logs/paper/{scale}/pages/{study}.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/pages/{study}.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=param("make_study_page", "scale"),
        site=param("make_study_page", "site"),
    message:
        "The page of {wildcards.study} at scale {wildcards.scale}"
    script:
        "../scripts/make_study_page.py"


rule make_page:
    input:
        unpack(read_by("make_page")),
    output:
        **made_by("make_page"),
    log:
        "logs/paper/{scale}/page.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/page.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        scale=param("make_page", "scale"),
        site=param("make_page", "site"),
        trained=param("make_page", "trained"),
    message:
        "The overview of scale {wildcards.scale}"
    script:
        "../scripts/make_page.py"


rule write_manifest:
    input:
        unpack(read_by("write_manifest")),
    output:
        **made_by("write_manifest"),
    log:
        "logs/paper/{scale}/manifest.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/manifest.tsv"
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        scale=param("write_manifest", "scale"),
        config=param("write_manifest", "config"),
        benchmarks=benchmarks(),
    message:
        "What the numbers of scale {wildcards.scale} were made of"
    script:
        "../scripts/write_manifest.py"


rule show_runs:
    input:
        unpack(read_by("show_runs")),
    output:
        **made_by("show_runs"),
    log:
        "logs/paper/{scale}/runs.log",
    benchmark:
        "logs/benchmarks/paper/{scale}/runs.tsv"
    localrule: True
    resources:
        mem_mb=1000,
        runtime="10m",
    params:
        site=param("show_runs", "site"),
    message:
        "The page of every run of scale {wildcards.scale}"
    script:
        "../scripts/show_runs.py"

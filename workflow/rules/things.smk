# What tables and figures are made of, and named targets.
from types import SimpleNamespace

from fivesentences.plan.figures import AgreementFigureSpec, MeaningFigureSpec, MetricAgreementFigureSpec, RetrievalsFigureSpec
from fivesentences.plan.tables import AgreementTableSpec
from fivesentences.plan.asked import drawn_phis, figures_of, judged_phis, matrices_of, short_names, tables_of
from fivesentences.paper.figures.semantic_recall import labels_of_lines
from fivesentences.plan.rows import compared_rows, evaluated_of_rows, expand_rows

TABLES, FIGURES = tables_of(STUDIES, SCALE), figures_of(STUDIES, SCALE)
JUDGED, MATRICES = judged_phis(STUDIES, SCALE), matrices_of(STUDIES, SCALE)
PAPER_TABLES = {thing: PAPER / SCALE.scale / f"{thing}.html" for thing in TABLES}
PAPER_FIGURES = {thing: PAPER / SCALE.scale / f"{thing}.png" for thing in FIGURES}
PLAYED = sorted({spec.dataset for spec in RUNS.values()})


def page_of(scale):
    return PAPER / scale / "index.html"


def study_of(wildcards):
    return PROJECT / "config" / "studies" / f"{wildcards.thing.split('/')[0]}.yaml"


def published_of(wildcards):
    """The printed numbers that a table is held against."""
    name = TABLES[wildcards.thing].published
    return [PROJECT / "config" / "published" / f"{name}.csv"] if name else []


def numbers_of(wildcards):
    """What a table or figure is made of: metrics of runs, what judges say, or what phi says of a dataset."""
    thing = (TABLES | FIGURES)[wildcards.thing]
    if isinstance(thing, MeaningFigureSpec):
        return [EVALUATION / "meaning" / f"{dataset}.json" for dataset in SCALE.datasets]
    if isinstance(thing, (AgreementTableSpec, AgreementFigureSpec)):
        folder = EVALUATION / "agreement"
        suffix = "json" if wildcards.thing in TABLES else "parquet"
        return [folder / spec.dataset / f"{spec.judge}.{suffix}" for spec in SCALE.judges]
    if isinstance(thing, RetrievalsFigureSpec):
        found = EVALUATION / "retrievals" / wildcards.scale / f"{wildcards.thing}.json"
        return [found] if compared(wildcards) else []
    if isinstance(thing, MetricAgreementFigureSpec):
        return metrics_of(DEFAULT if wildcards.scale == SCALE.scale else RUNS)
    return metrics_of(evaluated_of_rows(expand_rows(thing.rows, study_with(wildcards), SCALES[wildcards.scale])))


def study_with(wildcards):
    return STUDIES[wildcards.thing.split("/")[0]]


def compared(wildcards):
    """The two rows whose retrievals a figure compares; none if the scale has not both."""
    return compared_rows(study_with(wildcards), wildcards.thing.split("/")[1], SCALES[wildcards.scale])


def names_of_compared(wildcards):
    return labels_of_lines(compared(wildcards), study_with(wildcards))


def options_of_compared(wildcards):
    return FIGURES[wildcards.thing].model_dump(include={"k", "directions", "queries"})


def pictured_dataset(wildcards):
    """Whose photographs a figure shows: its runs' or the scale's first dataset; null for one without photographs."""
    thing = FIGURES[wildcards.thing]
    if isinstance(thing, RetrievalsFigureSpec) and compared(wildcards):
        return compared(wildcards)[0].dataset
    shown = isinstance(thing, MeaningFigureSpec) and thing.drawing == "foreign_captions"
    return next(iter(SCALE.datasets)) if shown else None


def photographs_of_figure(wildcards):
    dataset = pictured_dataset(wildcards)
    return photographs_of(SimpleNamespace(dataset=dataset)) if dataset else []


def targets():
    """Named targets: stages, and every table and figure, by its short name where that is unique."""
    everything = PAPER_TABLES | PAPER_FIGURES
    return {name: [everything[thing]] for name, thing in short_names(everything).items()} | {
        "corpora": [CORPUS / f"{dataset}.parquet" for dataset in SCALE.datasets],
        "features": [features_of_run(run) for run in DEFAULT],
        "training_inputs": inputs_of_runs(DEFAULT),
        "semantics": [SEMANTICS / dataset / "test" / f"{phi}.npy" for dataset in SCALE.datasets for phi in MATRICES],
        "runs": [TRAINING / run / "weights.safetensors" for run in DEFAULT],
        "tables": list(PAPER_TABLES.values()),
        "figures": list(PAPER_FIGURES.values()),
        "page": [page_of(SCALE.scale)],
        "complete": [page_of(SCALE.complete.scale)],
    }


TARGETS = targets()

# What the other files here share: the checked configuration, folders, and input functions.
import os
from pathlib import Path

from snakemake.exceptions import WorkflowError

from fivesentences.config import Catalogue, Scale, Study, check, read
from fivesentences.errors import InputError
from fivesentences.paper.rows import runs_of_figure, runs_of_scale, runs_of_table

DATA, CORPUS, FEATURES = Path("data"), Path("results/corpus"), Path("results/features")
SEMANTICS, TRAINING = Path("results/semantics"), Path("results/training")
EVALUATION, PAPER = Path("results/evaluation"), Path("results/paper")
# Relative to the working folder, so that a run elsewhere (`--directory`) finds the project's own files.
PROJECT = Path(os.path.relpath(Path(str(workflow.current_basedir)).parents[1]))
CONFIG = str(
    workflow.overwrite_configfiles[-1]
    if workflow.overwrite_configfiles
    else "config/demo.yaml"
)

try:
    SCALE = check(Scale, dict(config), CONFIG)
    CATALOGUE = read(Catalogue, PROJECT / "config/datasets.yaml")
    STUDIES = {
        name: read(Study, PROJECT / f"config/studies/{name}.yaml")
        for name in SCALE.studies
    }
    RUNS = runs_of_scale(STUDIES, SCALE)
except InputError as error:
    raise WorkflowError(str(error)) from None

MIRROR = SCALE.mirror or os.environ.get("FIVESENTENCES_MIRROR") or None
DOWNLOADS = {
    file.path: (dataset, name)
    for dataset, entry in CATALOGUE.datasets.items()
    for name, file in entry.files.items()
}


def one_of(names):
    """A wildcard constraint that accepts these names and, if there are none, nothing."""
    return "|".join(re.escape(name) for name in names) or "nothing(?!)"


def datasets_with(*loaders):
    return [name for name, data in SCALE.datasets.items() if data.loader in loaders]


def catalogue_files(dataset, kind):
    """Downloads of a dataset whose name in the catalogue starts with ``kind``."""
    if dataset not in CATALOGUE.datasets:
        raise WorkflowError(
            f"{CONFIG}: datasets.{dataset} is not in config/datasets.yaml, which lists every download."
        )
    files = CATALOGUE.datasets[dataset].files
    return [DATA / file.path for name, file in files.items() if name.startswith(kind)]


def captions_of(wildcards):
    """The files that a corpus is read from."""
    data = SCALE.datasets[wildcards.dataset]
    if data.loader == "folder":
        return [data.captions]
    if data.loader == "precomp":
        return [data.folder]
    return catalogue_files(wildcards.dataset, "text") + catalogue_files(
        wildcards.dataset, "captions"
    )


def photographs_of(wildcards):
    """The archives or the folder that hold a dataset's photographs."""
    data = SCALE.datasets[wildcards.dataset]
    if data.loader == "scenes":
        return [CORPUS / wildcards.dataset / "photographs.zip"]
    if data.loader == "folder":
        return [data.photographs]
    return catalogue_files(wildcards.dataset, "photographs")


def weights_of(wildcards):
    """Weights from the mirror where it has them; with none, timm fetches its own."""
    file = Path("weights") / f"{wildcards.extractor}.safetensors"
    there = (DATA / file).exists() or (
        MIRROR is not None and (Path(MIRROR) / file).exists()
    )
    return [DATA / file] if str(file) in DOWNLOADS and there else []


def parameters_of_run(wildcards):
    return RUNS[wildcards.run].model_dump(mode="json")


def corpus_of_run(wildcards):
    return CORPUS / f"{RUNS[wildcards.run].dataset}.parquet"


def features_of_run(wildcards):
    spec = RUNS[wildcards.run]
    return FEATURES / spec.dataset / f"{spec.features.stem}.npy"


def phi_of_run(wildcards):
    return (
        SEMANTICS / RUNS[wildcards.run].dataset / "test" / f"{SCALE.evaluation_phi}.npy"
    )


def metrics_of(runs):
    return [EVALUATION / run / "metrics.json" for run in runs]


TABLES = {
    (study, name): table
    for study, found in STUDIES.items()
    for name, table in found.tables.items()
}
FIGURES = {
    (study, name): figure
    for study, found in STUDIES.items()
    for name, figure in found.figures.items()
}
PAGE = PAPER / SCALE.scale / "index.html"
PAPER_TABLES = {key: PAPER / SCALE.scale / key[0] / f"{key[1]}.html" for key in TABLES}
PAPER_FIGURES = {key: PAPER / SCALE.scale / key[0] / f"{key[1]}.png" for key in FIGURES}


def published_of(wildcards):
    """The printed numbers that a table is held against."""
    name = STUDIES[wildcards.study].tables[wildcards.table].published
    return [PROJECT / "config" / "published" / f"{name}.csv"] if name else []


PLAYED = sorted({spec.dataset for spec in RUNS.values()})


def targets():
    """Named targets: stages, and every table and figure, by its short name where that is unique."""
    everything = PAPER_TABLES | PAPER_FIGURES
    short = [name for _, name in everything]
    named = {f"{study}_{name}": [file] for (study, name), file in everything.items()}
    named |= {
        name: [file] for (_, name), file in everything.items() if short.count(name) == 1
    }
    return named | {
        "corpora": [CORPUS / f"{dataset}.parquet" for dataset in PLAYED],
        "features": [
            FEATURES / spec.dataset / f"{spec.features.stem}.npy"
            for spec in RUNS.values()
        ],
        "semantics": [
            SEMANTICS / dataset / "test" / f"{SCALE.evaluation_phi}.npy"
            for dataset in PLAYED
        ],
        "runs": [TRAINING / run / "weights.safetensors" for run in RUNS],
        "tables": list(PAPER_TABLES.values()),
        "figures": list(PAPER_FIGURES.values()),
        "page": [PAGE],
    }


TARGETS = targets()


wildcard_constraints:
    dataset=one_of(SCALE.datasets),
    split="train|dev|test",
    extractor=r"[A-Za-z0-9_.]+",
    layout="global|grid",
    metric="[a-z0-9_]+",
    run=one_of(RUNS),
    study=one_of(STUDIES),
    table=one_of(name for _, name in TABLES),
    figure=one_of(name for _, name in FIGURES),
    scale=SCALE.scale,

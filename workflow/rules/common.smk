# What the other files here share: the checked configuration, folders, and input functions.
import os
from pathlib import Path

from snakemake.exceptions import WorkflowError

from fivesentences.config import Catalogue, Scale, check, extended, read
from fivesentences.plan.places import Places
from fivesentences.plan.studies import Study
from fivesentences.plan.jobs import evaluation_jobs, training_jobs
from fivesentences.plan.ensembles import members_of
from fivesentences.plan.places import prepared_cider
from fivesentences.corpus.catalogue import at_hand, files_to_read
from fivesentences.errors import InputError
from fivesentences.plan.asked import labels_are_asked, single_phis
from fivesentences.plan.rows import ensembles_of_scale, inferences_of_runs, runs_of_scale

DATA, CORPUS, FEATURES = Path("data"), Path("results/corpus"), Path("results/features")
SEMANTICS, TRAINING = Path("results/semantics"), Path("results/training")
EVALUATION, PAPER = Path("results/evaluation"), Path("results/paper")
# Relative to the working folder, so that a run elsewhere (`--directory`) finds the project's own files.
PROJECT = Path(os.path.relpath(Path(str(workflow.current_basedir)).parents[1]))
CONFIG = str(workflow.overwrite_configfiles[-1] if workflow.overwrite_configfiles else "config/demo.yaml")

try:
    SCALE = check(Scale, extended(dict(config), CONFIG), CONFIG)
    CATALOGUE = read(Catalogue, PROJECT / "config/datasets.yaml")
    STUDIES = {name: read(Study, PROJECT / f"config/studies/{name}.yaml") for name in SCALE.studies}
    # The scale, and the one of the target `complete` with every row: what only that needs has jobs of its own.
    SCALES = {scale.scale: scale for scale in (SCALE, SCALE.complete)}
    DEFAULT, RUNS = (runs_of_scale(STUDIES, scale) for scale in SCALES.values())
    USUAL, ENSEMBLES = (ensembles_of_scale(STUDIES, scale) for scale in SCALES.values())
    INFERENCES = inferences_of_runs(STUDIES, SCALE.complete)
except InputError as error:
    raise WorkflowError(str(error)) from None

OTHERS = {run: spec for run, spec in RUNS.items() if run not in DEFAULT}
EXTRA = {name: spec for name, spec in ENSEMBLES.items() if name not in USUAL}
EVALUATED = RUNS | ENSEMBLES
PER_JOB = SCALE.training.runs_per_job
TRAINING_JOBS = training_jobs(DEFAULT, PER_JOB) | training_jobs(OTHERS, PER_JOB, "complete")
EVALUATION_JOBS = evaluation_jobs(TRAINING_JOBS, USUAL) | evaluation_jobs({}, EXTRA, "evaluate_complete_ensembles")
PLACES = Places(Path("results"))
PRECOMP = {name for name, data in SCALE.datasets.items() if data.loader == "precomp"}
REDUCED = {spec.features.stem: spec.features for spec in RUNS.values() if spec.features.stem != spec.features.source}
PREPARED = prepared_cider(RUNS.values())
MIRROR = SCALE.mirror or os.environ.get("FIVESENTENCES_MIRROR") or None
FOLDERS = [DATA, MIRROR] if MIRROR else [DATA]
DOWNLOADS = {
    file.path: (dataset, name) for dataset, entry in CATALOGUE.datasets.items() for name, file in entry.files.items()
}
ANNOTATED = [
    name for name in SCALE.datasets if name in CATALOGUE.datasets and "instances" in CATALOGUE.datasets[name].files
]


def one_of(names):
    """A wildcard constraint that accepts these names and, if there are none, nothing."""
    return "|".join(re.escape(name) for name in names) or "nothing(?!)"


def datasets_with(*loaders):
    return [name for name, data in SCALE.datasets.items() if data.loader in loaders]


def catalogue_files(dataset, kind, splits=None):
    """Downloads of a dataset whose name in the catalogue starts with ``kind``."""
    try:
        files = files_to_read(CATALOGUE, dataset, kind, splits, FOLDERS)
    except InputError as error:
        raise WorkflowError(f"{CONFIG}: {error}") from None
    return [DATA / file for file in files]


def captions_of(wildcards):
    """The files that a corpus is read from."""
    dataset, data = wildcards.dataset, SCALE.datasets[wildcards.dataset]
    if data.loader == "folder":
        return [data.captions]
    if data.loader == "precomp":
        return [data.folder]
    return catalogue_files(dataset, "text") + catalogue_files(dataset, "captions", data.splits)


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
    return [DATA / file] if str(file) in DOWNLOADS and at_hand(file, FOLDERS) else []


def tuples_of(dataset, phis):
    """Scene-graph tuples where a phi needs them; for drawn scenes the generator wrote them."""
    drawn = SCALE.datasets[dataset].loader == "scenes"
    folder = CORPUS if drawn else SEMANTICS
    needed = any(phi.startswith("spice") for phi in phis)
    return [folder / dataset / "tuples.jsonl.gz"] if needed else []


def judgements_of(wildcards):
    """The file that holds a judge's scores."""
    if wildcards.judge == "scenes_truth":
        return [CORPUS / wildcards.dataset / "truth.npy"]
    dataset, file = {"cxc": ("cxc", "image_text_test")}.get(wildcards.judge, ("flickr8k", "text"))
    return [DATA / CATALOGUE.datasets[dataset].files[file].path]


def features_of_run(run):
    spec = RUNS[run]
    return PLACES.features(spec.dataset, spec.features, spec.dataset in PRECOMP)


def source_of_features(wildcards):
    return PLACES.source_of_features(wildcards.dataset, REDUCED[wildcards.reduced], wildcards.dataset in PRECOMP)


def phi_files_of_run(run):
    return {name: str(path) for name, path in PLACES.phi_files(RUNS[run]).items()}


def phi_files_of_runs(runs):
    return sorted({path for run in runs for path in phi_files_of_run(run).values()})


def inputs_of_runs(runs):
    """Everything that training them reads; the command `fivesentences train` needs no more."""
    corpora = {str(PLACES.corpus(RUNS[run].dataset)) for run in runs}
    features = {str(features_of_run(run)) for run in runs}
    return sorted(corpora | features) + phi_files_of_runs(runs)


def outputs_of_runs(runs, name):
    return [TRAINING / run / name for run in runs]


def phi_of_test(dataset):
    return [SEMANTICS / dataset / "test" / f"{phi}.npy" for phi in single_phis(SCALE)]


def similarities_of_members(wildcards):
    return [TRAINING / run.name / "similarity_test.npy" for run in members_of(ENSEMBLES[wildcards.ensemble])]


def labels_of(dataset):
    """Which things are in a dataset's images, where that is known and a table asks for it."""
    known = dataset in ANNOTATED or SCALE.datasets[dataset].loader == "scenes"
    return [CORPUS / dataset / "labels.parquet"] if known and labels_are_asked(STUDIES, SCALE) else []


def instances_of(wildcards):
    return catalogue_files(wildcards.dataset, "instances")


def evaluated_of_scale(scale):
    """Names of the runs and ensembles of a scale."""
    return [*EVALUATED] if scale != SCALE.scale else [*DEFAULT, *USUAL]


def metrics_of(runs):
    return [EVALUATION / run / "metrics.json" for run in runs]


wildcard_constraints:
    dataset=one_of(SCALE.datasets),
    split="train|dev|test",
    extractor=r"[A-Za-z0-9_.]+",
    layout="global|grid",
    phi="[a-z0-9_]+(-[a-z]+)?",
    judge=one_of(spec.judge for spec in SCALE.judges),
    ensemble=one_of(ENSEMBLES),
    scale=one_of(SCALES),

# Shared by the other files here: the plan of the scale, and functions that query it.
import atexit
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

from snakemake.dag import DAG
from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import update_config

from fivesentences.config.files import base_of, check_in_shell, nearby
from fivesentences.config.metrics import METRICS
from fivesentences.corpus.catalogue import precomp_folder
from fivesentences.documents import parse_yaml, read_yaml
from fivesentences.errors import InputError
from fivesentences.machine import cuda, may_find_cuda
from fivesentences.plan.cluster import GPU_RULES
from fivesentences.plan.cost import extracts_on_gpu, minutes_to_extract
from fivesentences.plan.plan import one_of, plan_of, scale_of
from fivesentences.storage import RECORD, remove_leftovers
from fivesentences.training.fingerprint import code_of_run
from fivesentences.training.subspaces.code import code_of_method
from fivesentences.versions import VERSIONS, code_of_drawing

# Snakemake writes this into shell commands without quotes, so a path with a space would run another program, or none.
sys.executable = shlex.quote(sys.executable)

# Files of the command line win; else those of `configfile:`, the demo's or that of a workflow that uses this one as a module.
FILES = [nearby(file) for file in workflow.overwrite_configfiles or workflow.configfiles]
if not FILES:
    raise WorkflowError("no scale: name its file with --configfile, or with `configfile:` where this is a module.")
CONFIG = FILES[-1]

GIVEN = list(workflow.config_settings.config_args or [])  # key=value of --config
STATED = dict(entry.partition("=")[::2] for entry in GIVEN)

try:
    # Snakemake has read these files already, but keeps the last of two equal keys: reading them again rejects those.
    base = base_of({file: read_yaml(file) for file in FILES})
    content = dict(config) | ({} if base is None else {"extends": base})
    for key, value in STATED.items():
        if isinstance(config.get(key), dict | list) or value == "null":  # of which Snakemake leaves every part a text
            update_config(content, {key: parse_yaml(value, f"--config {key}")})
    where = f"{CONFIG} with --config {' '.join(GIVEN)}" if GIVEN else None
    stated = {key: parse_yaml(value, f"--config {key}") for key, value in STATED.items()}
    PLAN = plan_of(scale_of(content, CONFIG, where, stated), CONFIG.parent)
    PLAN.check()
    written = [workflow.main_snakefile, *GIVEN]  # into commands of jobs; on a cluster every path is
    # Only the profile of SLURM sets it. Which executor there will be is not known yet, and later it would be left waiting.
    on_cluster = any("slurm_extra" in asked for asked in workflow.resource_settings.overwrite_resources.values())
    if on_cluster:
        written += [*FILES, Path.cwd(), *(file for scale in PLAN.scales for file in PLAN.files_no_rule_makes(scale))]
    check_in_shell(written, twice=on_cluster)
    if any(word.startswith("--slurm-array-jobs") for word in sys.argv):
        raise InputError("--slurm-array-jobs: a task that fails removes what others have finished; leave it out.")
except InputError as error:
    raise WorkflowError(f"{error}") from None
for line in PLAN.features.sources_of_regions() if workflow.is_main_process else ():
    logger.info(line)
for absent in PLAN.scale.absent_data if workflow.is_main_process else ():
    print(f"absent: {absent.sentence()}", file=sys.stderr)
SCALE = PLAN.scale  # {scale} is its name, or that of its complete form, whose rows no `keep` leaves out
PUBLISHED = sorted({path for exhibit in PLAN.exhibits for path in PLAN.report.published_of(exhibit)})
ASKED = []  # of a person, by a dry run
MIRROR = None if PLAN.datasets.mirror is None else str(PLAN.datasets.mirror)


wildcard_constraints:
    dataset=one_of(SCALE.datasets),
    documents=one_of(PLAN.subspaces.document_specs),
    scale=one_of(PLAN.scales),
    split="train|dev|test",
    phi="[a-z0-9_]+(:[a-z0-9_]+)?(-[a-z]+)?",
    model="[a-z0-9_]+",
    captions="fraction=[^/]+",
    judge=one_of(spec.judge for spec in SCALE.judges),
    extracted=one_of(PLAN.features.extracted_features),
    table=one_of(PLAN.tables),
    figure=one_of(PLAN.figures),
    study=one_of(PLAN.studies),


# Remove what a killed workflow left half written; not on a cluster, whose jobs may still be writing, and which has GPUs.
onstart:
    if workflow.local_exec:
        remove_leftovers(PLAN.places.results)
        if any(needs_gpu(job) for job in workflow.dag.needrun_jobs()) and not may_find_cuda():
            try:
                cuda()  # before hours of what needs none
            except InputError as error:
                raise WorkflowError(f"{error}") from None


# The last line of a run that made a page: below what Snakemake itself says at its end.
onsuccess:
    for page in (job.output.page for job in workflow.dag.jobs if job.rule.name == "make_page"):
        atexit.register(print, f"Open {page}", file=sys.stderr)


def job_of(wildcards):
    """The name of a job of training or evaluation, such as scenes/vsepp/1."""
    return f"{wildcards.dataset}/{wildcards.job}"


def subspace_job_of(wildcards):
    """The name of a job of category retrieval, such as wikipedia/printed/1."""
    return f"{wildcards.documents}/{wildcards.job}"


def subspace_runs(wildcards):
    """The runs of a job of category retrieval."""
    return PLAN.subspaces.runs_of_job(subspace_job_of(wildcards))


# After a job Snakemake deletes outputs that are older than an input, be it `ancient`: a file of a user may be dated ahead.


async def check_output_mtime(dag, job, output, check=DAG.check_output_mtime):
    inputs = [file for file in job.input if not file.is_ancient]
    await check(dag, SimpleNamespace(input=inputs, rule=job.rule), output)


DAG.check_output_mtime = check_output_mtime


def needs_gpu(job):
    """Whether a job would end without a GPU; a training whose runs are all finished would not."""
    if not SCALE.training.gpu or job.rule.name not in GPU_RULES:
        return False
    if job.rule.name != "train":
        return extracts_on_gpu(PLAN, job.wildcards.extracted)
    return not all((PLAN.places.run(run) / RECORD).is_file() for run in PLAN.jobs[job_of(job.wildcards)].runs)


# What a person must fetch, and has not, ends the planning: all of it is named at once.


def unless_absent(absent, files):
    if absent:
        # Rows that only the target `complete` makes may read more.
        named = PLAN.missing_downloads(SCALE.scale) or PLAN.missing_downloads(SCALE.complete.scale)
        raise WorkflowError("\n".join([*named, "Or leave out what is made of it: --config absent=leave_out"]))
    return files


# A dry run lists its jobs all the same where a person has only to agree to terms, or to install a program, and asks.


def fetched_by_program(wildcards):
    file = wildcards.file
    absent = PLAN.datasets.fetched_by_hand(file)
    if absent and workflow.dryrun and PLAN.datasets.has_address(file):
        if absent not in ASKED:
            ASKED.append(absent)
            atexit.register(lambda: print(absent, file=sys.stderr))  # below the list of jobs
    else:
        unless_absent(absent, [])
    return given(PLAN.datasets.page_of(file))


def archives_of_folder(wildcards):
    return given(PLAN.datasets.archives_of(PLAN.places.data / wildcards.folder))


def folder_of_features(wildcards):
    folder = PLAN.features.folder_of_features(wildcards.dataset).folder
    return given(unless_absent(PLAN.absence_of(folder), folder))


# Nothing here makes what a user or a download gives: whatever reads such files takes digests of them as a parameter and
# ignores their times.


def given(files):
    return ancient(str(files) if isinstance(files, Path) else [str(file) for file in files])


def content_of(*files):
    return PLAN.datasets.content_of(map(Path, files))


def content_of_captions(wildcards):
    data, files = SCALE.datasets[wildcards.dataset], PLAN.datasets.captions_of(wildcards.dataset)
    if data.loader == "precomp":  # whose arrays are none of a corpus
        files = sorted(precomp_folder(data.folder, data.prefix).glob("*.txt"))
    return content_of(*files)


def photographs_of(dataset):
    files = [] if dataset is None else PLAN.datasets.photographs_of(dataset)
    return [str(path) for path in files] if dataset in PLAN.datasets.scenes else given(files)


def digest_of(dataset):
    identity = PLAN.datasets.digest_of_photographs(dataset)
    if identity is not None:
        return identity.content
    drawn = dataset is None or dataset in PLAN.datasets.scenes
    return None if drawn else content_of(*PLAN.datasets.photographs_of(dataset))


def photographs(wildcards):
    return photographs_of(wildcards.dataset)


def digest_of_photographs(wildcards):
    return digest_of(wildcards.dataset)


def digest_of_names(wildcards):
    identity = PLAN.datasets.digest_of_photographs(wildcards.dataset)
    return identity and identity.names


def digest_of_images(wildcards):
    return PLAN.datasets.digest_of_images(wildcards.dataset)


def images_of(wildcards):
    """The images that features are made of: a corpus without its captions, or drawn scenes."""
    drawn = wildcards.dataset in PLAN.datasets.scenes
    return PLAN.places.corpus(wildcards.dataset) if drawn else PLAN.places.images(wildcards.dataset)


def content_of_weights(wildcards):
    return content_of(*PLAN.features.weights_of(wildcards.extracted))


def content_of_arrays(data):
    """Digests of what a precomp folder holds of features: all of it but the texts."""
    files = sorted(precomp_folder(data.folder, data.prefix).iterdir()) if data.folder.is_dir() else []
    return content_of(*(file for file in files if file.suffix != ".txt" and not file.name.startswith(".")))


def judgements(wildcards):
    files = PLAN.datasets.judgements_of(wildcards.dataset, wildcards.judge)
    return files if wildcards.judge == "scenes_truth" else given(files)


def content_of_judgements(wildcards):
    return None if wildcards.judge == "scenes_truth" else content_of(*judgements(wildcards))


def scores(wildcards):
    """The file of a phi that somebody gave, if it is one."""
    return given(PLAN.phi.scores_of(wildcards.dataset, [wildcards.phi]))


def content_of_scores(wildcards):
    return content_of(*PLAN.phi.scores_of(wildcards.dataset, [wildcards.phi]))


def vocabularies(wildcards):
    runs = PLAN.runs_of_job(job_of(wildcards))
    return sorted({words for run in runs if (words := run.training.vocabulary) is not None})


def labels(wildcards):
    """Labels of the objects in a dataset's test images, if they are known and a table needs them."""
    return PLAN.datasets.labels_of(wildcards.dataset)


def part_of_training(wildcards):
    """Return the training captions that a name such as fraction=0.1 selects."""
    return PLAN.phi.training_part(wildcards.dataset, wildcards.captions)


def settings_of_features(wildcards):
    return PLAN.features.extracted_features[wildcards.extracted].model_dump(mode="json", exclude_defaults=True)


def gpu_of_extraction(wildcards, threads):
    """As a function of the threads, as Snakemake sees it, it makes no features again: see `train`."""
    return extracts_on_gpu(PLAN, wildcards.extracted)


def time_to_extract(wildcards, attempt):
    return minutes_to_extract(PLAN, wildcards.dataset, wildcards.extracted) * attempt


def features_before(wildcards):
    """The features that are to be reduced."""
    dataset, spec = wildcards.dataset, PLAN.features.reduced_features[wildcards.reduced]
    return PLAN.places.source_of_features(dataset, spec, PLAN.features.is_described(dataset, spec))


def settings_of_scale(wildcards):
    return PLAN.settings(wildcards.scale)


def site(wildcards):
    """The navigation of the site, which every page is given: titles and paths of all pages."""
    return PLAN.report.site(wildcards.scale)


def settings_of_corpus(wildcards):
    """What the loader reads, without defaults: only karpathy may be given an order, not even its default."""
    return SCALE.datasets[wildcards.dataset].model_dump(mode="json", exclude={"regions"}, exclude_defaults=True)


def splits_needed(wildcards):
    """Splits that a user's own images must have: all, if models are trained on them."""
    trained = wildcards.dataset in PLAN.datasets.own and wildcards.dataset in SCALE.roles.values()
    return ["train", "dev", "test"] if trained else []


def texts_of(exhibit):
    """A report's text on a table or figure."""
    spec = PLAN.exhibits[exhibit]
    return {"paper": PLAN.study_of(exhibit).paper, "name": spec.name, "title": spec.title, "caption": spec.caption}


def matrices_of(shown):
    """Paths of the matrices that judge retrievals, by phi."""
    return {phi: str(PLAN.places.phi(shown.dataset, "test", f"{phi}.npy")) for phi in shown.phis}


def retrievals_of_figure(wildcards):
    """The two runs whose retrievals a figure compares."""
    return PLAN.comparisons.retrievals_of_figure(wildcards.scale, wildcards.figure)


def gallery(wildcards):
    """The runs whose retrievals the gallery of a scale shows."""
    return PLAN.comparisons.gallery(wildcards.scale)


def pairs_of(wildcards):
    """Both sides of the contrasts of a table or figure."""
    return PLAN.comparisons.paired_runs(wildcards.scale, wildcards.exhibit)


def runs_with_margins(wildcards):
    """Runs on a dataset whose adaptive margins a table or figure shows."""
    return PLAN.comparisons.runs_with_margins(wildcards.scale, wildcards.dataset)


def phi_of_margins(wildcards):
    """Files of phi that the margins of a dataset's captions, and of its runs, are made from."""
    sets = PLAN.phi.captions_with_margins(wildcards.dataset)
    files = [file for one in sets for file in one["phi_files"].values()]
    return sorted({*files, *map(str, PLAN.phi.files_read_by(runs_with_margins(wildcards)))})


def given_documents(documents):
    """What documents are read from that no rule makes, folders in an original layout too."""
    spec = PLAN.subspaces.document_specs[documents]
    files = PLAN.subspaces.read_for_documents(documents) if spec.loader != "corpus" else {}
    return [spec.folder] if spec.loader == "nus_wide" else list(files.values())


def files_of_documents(wildcards):
    files, theirs = PLAN.subspaces.read_for_documents(wildcards.documents), given_documents(wildcards.documents)
    unless_absent(any(PLAN.absence_of(Path(path)) for path in theirs if path not in files.values()), theirs)
    return {name: ancient(str(file)) if file in theirs else file for name, file in files.items()}


def settings_of_documents(wildcards):
    return PLAN.subspaces.document_specs[wildcards.documents].model_dump(mode="json")


def subspace_pairs_of(wildcards):
    """Both sides of the contrasts of a table."""
    return PLAN.comparisons.paired_subspaces(wildcards.scale, wildcards.exhibit)


def run_of_projection(wildcards):
    """The run, and the epoch, whose subspace a figure shows."""
    return PLAN.comparisons.run_of_projection(wildcards.scale, wildcards.exhibit)


def dataset_of_photographs(wildcards):
    """The dataset whose photographs a figure shows, if any."""
    return PLAN.report.dataset_of_photographs(wildcards.scale, wildcards.figure)


def of_study(exhibits, wildcards):
    """The tables or figures of one study."""
    return [name for name in exhibits if name.partition("/")[0] == wildcards.study]


def benchmarks():
    """The benchmark file of every step so far, by name."""
    return {rule.name: str(rule.benchmark) for rule in workflow.rules if rule.benchmark}


def reported(file, subcategory):
    """A table or figure as `snakemake --report` shows it: under its paper, with its own title and caption."""

    def text(params, name):
        # Text in braces would be taken for a wildcard; the added space has no width.
        return params.texts[name].replace("{", "{\u200b")

    return report(
        file,
        caption="../report/exhibit.rst",
        category=lambda wildcards, params: text(params, "paper"),
        subcategory=subcategory,
        labels=lambda wildcards, params: {name: text(params, name) for name in ("name", "title")}
        | {"scale": wildcards.scale},
    )

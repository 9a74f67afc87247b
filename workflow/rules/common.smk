# Shared by the other files here: the plan of the scale, and what only Snakemake can answer.
import sys
from functools import cache
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.logging import logger
from snakemake.utils import update_config

from fivesentences.config.files import base_of, check_in_shell, nearby
from fivesentences.config.metrics import METRICS
from fivesentences.documents import parse_yaml, read_yaml
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.training.code import code_of_method
from fivesentences.reproduction.plan.plan import one_of, plan_of, scale_of
from fivesentences.storage import RECORD, remove_leftovers
from fivesentences.training.code import code_of_run
from fivesentences.versions import VERSIONS, code_of_drawing

# Files of the command line win; else those of `configfile:`, the demo's or that of a workflow that uses this one as a module.
FILES = [nearby(file) for file in TOLD.files or workflow.configfiles]
if not FILES:
    raise WorkflowError("no scale: name its file with --configfile, or with `configfile:` where this is a module.")
CONFIG = FILES[-1]

try:
    # Snakemake has read these files already, but keeps the last of two equal keys: reading them again rejects those.
    base = base_of({file: read_yaml(file) for file in FILES})
    content = dict(config) | ({} if base is None else {"extends": base})
    stated = {}
    for key, _, value in (entry.partition("=") for entry in TOLD.entries):
        stated[key] = parse_yaml(value, f"--config {key}")
        if isinstance(config.get(key), dict | list) or value == "null":  # of which Snakemake leaves every part a text
            update_config(content, {key: parse_yaml(value, f"--config {key}")})
    where = f"{CONFIG} with --config {' '.join(TOLD.entries)}" if TOLD.entries else None
    PLAN = plan_of(scale_of(content, CONFIG, where, stated), CONFIG.parent)
    PLAN.check()
    written = [workflow.main_snakefile, *TOLD.entries]  # into commands of jobs; on a cluster every path is
    if TOLD.on_cluster:
        written += [*FILES, Path.cwd(), *(file for scale in PLAN.scales for file in PLAN.files_no_rule_makes(scale))]
    check_in_shell(written, twice=TOLD.on_cluster)
    if TOLD.in_arrays:
        raise InputError("--slurm-array-jobs: a task that fails removes what others have finished; leave it out.")
except InputError as error:
    raise WorkflowError(f"{error}") from None
for line in PLAN.features.sources_of_regions() if workflow.is_main_process else ():
    logger.info(line)
for absent in PLAN.scale.absent_data if workflow.is_main_process else ():
    print(f"absent: {absent.sentence()}", file=sys.stderr)
SCALE = PLAN.scale  # {scale} is its name, or that of its complete form, whose rows no `keep` leaves out
PUBLISHED = sorted({path for exhibit in PLAN.exhibits for path in PLAN.report.published_of(exhibit)})
MIRROR = None if PLAN.datasets.mirror is None else str(PLAN.datasets.mirror)
LAST = {"last": True}  # said by our logger at the end of all else, by others at once


wildcard_constraints:
    dataset=one_of(SCALE.datasets),
    documents=one_of(PLAN.subspaces.document_specs),
    scale=one_of(PLAN.scales),
    pool=one_of(PLAN.pools),
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
        from fivesentences.machine import cuda, may_find_cuda  # not to plan

        remove_leftovers(PLAN.places.results)
        if any(needs_gpu(job) for job in workflow.dag.needrun_jobs()) and not may_find_cuda():
            try:
                cuda()  # before hours of what needs none
            except InputError as error:
                raise WorkflowError(f"{error}") from None


# The last line of a run that made a page: below what Snakemake itself says at its end.
onsuccess:
    for page in (job.output.page for job in workflow.dag.jobs if job.rule.name == "make_page"):
        logger.info(f"Open {page}", extra=LAST)


def job_of(wildcards):
    """The name of a job of training or evaluation, such as scenes/vsepp/1."""
    return f"{wildcards.dataset}/{wildcards.job}"


def training_of(wildcards):
    return PLAN.training_of(job_of(wildcards))


# Beside a GPU, one for the model, and one for reading and phi, which take up to 9 ms of a step of 11 (docs/cluster.md).
def threads_of(training):
    return max(training.threads, 2 if training.gpu else 1) * training.runs_at_once


# At MS-COCO's size VSRN needs 5.5 GB (docs/cluster.md); CUDA's context is in host memory too.
def memory_of(training):
    return (8000 if training.gpu else 6000) * training.runs_at_once


def subspace_job_of(wildcards):
    """The name of a job of category retrieval, such as wikipedia/printed/1."""
    return f"{wildcards.documents}/{wildcards.job}"


def needs_gpu(job):
    """Whether a job would end without a GPU; a training whose runs are all finished would not."""
    if not job.resources.get("gpu"):
        return False
    if job.rule.name != "train":
        return PLAN.features.on_gpu(job.wildcards.extracted)
    return not all((PLAN.places.run(run) / RECORD).is_file() for run in PLAN.jobs[job_of(job.wildcards)].runs)


# What a person must fetch, and has not, ends the planning: all of it is named at once.


def unless_absent(absent, files):
    if absent:
        # Rows that only the target `complete` makes may read more.
        named = PLAN.missing_downloads(SCALE.scale) or PLAN.missing_downloads(SCALE.complete.scale)
        raise WorkflowError("\n".join([*named, "Or leave out what is made of it: --config absent=leave_out"]))
    return files


# A dry run lists its jobs all the same where a person has only to agree to terms, or to install a program, and asks.


@cache
def ask(how):
    logger.info(how, extra=LAST)


def fetched_by_program(wildcards):
    file = wildcards.file
    absent = PLAN.datasets.fetched_by_hand(file)
    if absent and workflow.dryrun and PLAN.datasets.has_address(file):
        ask(absent)
    else:
        unless_absent(absent, [])
    return given(PLAN.datasets.page_of(file))


def folder_of_features(wildcards):
    folder = PLAN.features.folder_of_features(wildcards.dataset).folder
    return given(unless_absent(PLAN.absence_of(folder), folder))


# Nothing here makes what a user or a download gives: whatever reads such files takes digests of them as a parameter and
# ignores their times.
content_of = PLAN.datasets.content_of


def given(files):
    return ancient(str(files) if isinstance(files, Path) else [str(file) for file in files])


def photographs_of(dataset):
    files = [] if dataset is None else PLAN.datasets.photographs_of(dataset)
    return [str(path) for path in files] if dataset in PLAN.datasets.scenes else given(files)


def digest_of_names(wildcards):
    identity = PLAN.datasets.digest_of_photographs(wildcards.dataset)
    return identity and identity.names


def judgements(wildcards):
    files = PLAN.datasets.judgements_of(wildcards.dataset, wildcards.judge)
    return files if wildcards.judge == "scenes_truth" else given(files)


def files_of_documents(wildcards):
    files = PLAN.subspaces.read_for_documents(wildcards.documents)
    theirs = PLAN.subspaces.given_for(wildcards.documents)
    unless_absent(any(PLAN.absence_of(path) for path in theirs if path not in files.values()), theirs)
    return {name: ancient(str(file)) if file in theirs else file for name, file in files.items()}


def part_of_training(wildcards):
    """The training captions that a name such as fraction=0.1 selects."""
    return PLAN.phi.training_part(wildcards.dataset, wildcards.captions)


def settings_of_scale(wildcards):
    return PLAN.settings(wildcards.scale)


def settings_of_study(wildcards):
    """The scale as the study of a table, a figure or a page has it."""
    names = (wildcards.get(kind) for kind in ("study", "table", "figure"))
    return PLAN.settings(wildcards.scale, next(name for name in names if name))


def site(wildcards):
    """The navigation of the site, which every page is given: titles and paths of all pages."""
    return PLAN.report.site(wildcards.scale)


def retrievals_of_figure(wildcards):
    """The two runs whose retrievals a figure compares."""
    return PLAN.comparisons.retrievals_of_figure(wildcards.scale, wildcards.figure)


def gallery(wildcards):
    """The runs whose retrievals the gallery of a scale shows."""
    return PLAN.comparisons.gallery(wildcards.scale)


def runs_with_margins(wildcards):
    """Runs on a dataset whose adaptive margins a table or figure shows."""
    return PLAN.comparisons.runs_with_margins(wildcards.scale, wildcards.dataset)


def run_of_projection(wildcards):
    """The run, and the epoch, whose subspace a figure shows."""
    return PLAN.comparisons.run_of_projection(wildcards.scale, wildcards.exhibit)


def dataset_of_photographs(wildcards):
    """The dataset whose photographs a figure shows, if any."""
    return PLAN.report.dataset_of_photographs(wildcards.scale, wildcards.figure)


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

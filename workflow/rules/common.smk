# What the other files here share: the plan, which knows what every rule reads and writes, and how a rule asks it.
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.io import strip_wildcard_constraints

from fivesentences.config.files import nearby
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.storage import remove_leftovers
from fivesentences.plan.plan import plan_of, scale_of

# Snakemake writes this into shell commands without quotes, so a path with a space would run another program, or none.
sys.executable = shlex.quote(sys.executable)

DEMO = Path(str(workflow.current_basedir)).parents[1] / "config" / "demo.yaml"
CONFIG = nearby(workflow.overwrite_configfiles[-1] if workflow.overwrite_configfiles else DEMO)


def ask(question):
    """An answer of the plan; what is wrong with the configuration ends Snakemake with its sentence alone."""
    try:
        return question()
    except InputError as error:
        raise WorkflowError(f"{error}") from None


# Snakemake has read these files already, and takes the last of two equal keys.
for file in workflow.overwrite_configfiles or [DEMO]:
    ask(lambda: read_yaml(nearby(file)))
PLAN = ask(lambda: plan_of(scale_of(dict(config), CONFIG), CONFIG.parent))
ask(PLAN.check_own)
made_by = PLAN.outputs_of


def read_by(rule):
    """The input function of a rule, to be unpacked."""

    def files(wildcards):
        known = dict(wildcards.items())
        by_content = ask(lambda: PLAN.by_content(rule, **known))
        inputs = ask(lambda: PLAN.inputs_of(rule, **known))
        return {
            name: ancient([str(path) for path in paths]) if name in by_content else paths
            for name, paths in inputs.items()
        }

    return files


def param(rule, name):
    """The function that gives one parameter of a rule its value."""
    return lambda wildcards: ask(lambda: PLAN.params_of(rule, **dict(wildcards.items()))[name])


def content(rule):
    """Parameters that tell the content of a user's own photographs; none at other scales."""
    return {name: param(rule, name) for name in PLAN.settings_of_content(rule)}


def reported(file, subcategory):
    """A table or figure as `snakemake --report` shows it: below its paper, with its own title and caption."""

    def text(params, name):
        # What stands in braces would be taken for a wildcard; the space has no width.
        return params.texts[name].replace("{", "{\u200b")

    return report(
        file,
        caption="../report/exhibit.rst",
        category=lambda wildcards, params: text(params, "paper"),
        subcategory=subcategory,
        labels=lambda wildcards, params: {name: text(params, name) for name in ("name", "title")}
        | {"scale": wildcards.scale},
    )


def benchmarks():
    """Where each rule that was declared before leaves its seconds."""
    return {rule.name: strip_wildcard_constraints(str(rule.benchmark)) for rule in workflow.rules if rule.benchmark}


wildcard_constraints:
    **PLAN.constraints,


# What a killed workflow had begun to write. Jobs of a cluster may still be writing, so there it stays.
onstart:
    if workflow.local_exec:
        remove_leftovers(PLAN.places.results)

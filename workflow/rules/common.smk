# What the other files here share: the plan, which knows what every rule reads and writes, and how a rule asks it.
from pathlib import Path

from snakemake.exceptions import WorkflowError

from fivesentences.config import Scale, check, extended, nearby
from fivesentences.errors import InputError
from fivesentences.paper.studies import plan_of

DEMO = Path(str(workflow.current_basedir)).parents[1] / "config" / "demo.yaml"
CONFIG = nearby(workflow.overwrite_configfiles[-1] if workflow.overwrite_configfiles else DEMO)


def ask(question):
    """An answer of the plan; what is wrong with the configuration ends Snakemake with its sentence alone."""
    try:
        return question()
    except InputError as error:
        raise WorkflowError(f"{error}") from None


PLAN = ask(lambda: plan_of(check(Scale, extended(dict(config), CONFIG), str(CONFIG)), CONFIG.parent))
made_by = PLAN.outputs_of


def read_by(rule):
    """The input function of a rule, to be unpacked."""
    return lambda wildcards: ask(lambda: PLAN.inputs_of(rule, **dict(wildcards.items())))


def param(rule, name):
    """The function that gives one parameter of a rule its value."""
    return lambda wildcards: PLAN.params_of(rule, **dict(wildcards.items()))[name]


wildcard_constraints:
    **PLAN.constraints,

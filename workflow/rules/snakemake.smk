# What this workflow changes in Snakemake, and what it reads there that is no documented interface. A later version may
# have neither: then what is changed stays as it is there, and what is read ends the planning by a sentence.
# Names here are those of the module that Snakemake runs rules in: `from copy import copy` would take a module away that 9.13 needs.
import copy
import inspect
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

from snakemake import __version__ as snakemake_version
from snakemake.dag import DAG
from snakemake.exceptions import WorkflowError
from snakemake.executors.local import Executor as LocalExecutor
from snakemake.script import PythonScript

# github.com/snakemake/snakemake/issues/2645 and 3211: it writes this into shell commands without quotes, so that a path with a
# space runs another program, or none. What is quoted already is no file.
if Path(sys.executable).is_file() and shlex.quote(sys.executable) != sys.executable:
    if LocalExecutor.get_python_executable(None) == sys.executable and "{py_exec} {fname:q}" in inspect.getsource(
        PythonScript
    ):
        sys.executable = shlex.quote(sys.executable)


# github.com/snakemake/snakemake/issues/3254: after a job it deletes outputs that are older than an input, be it `ancient`, and
# the file of a user may be dated ahead.
async def check_output_mtime(dag, job, output, check=DAG.check_output_mtime):
    fresh = copy.copy(job)
    fresh.input = [file for file in job.input if not file.is_ancient]
    await check(dag, fresh, output)


if [*inspect.signature(DAG.check_output_mtime).parameters] == ["self", "job", "expanded_output"]:
    DAG.check_output_mtime = check_output_mtime

try:
    TOLD = SimpleNamespace(
        files=list(workflow.overwrite_configfiles),  # of --configfile
        # key=value of --config, of which github.com/snakemake/snakemake/issues/2374 makes texts.
        entries=list(workflow.config_settings.config_args or []),
        # Only the profile of SLURM sets it. Which executor there will be is not known yet, and later it would be left waiting.
        on_cluster=any("slurm_extra" in asked for asked in workflow.resource_settings.overwrite_resources.values()),
        # github.com/snakemake/snakemake-executor-plugin-slurm/issues/447: each task looks for the outputs of the first.
        in_arrays=any(word.startswith("--slurm-array-jobs") for word in sys.argv),
    )
except (AttributeError, TypeError) as error:
    raise WorkflowError(
        f"Snakemake {snakemake_version} does not say what its command line asks for ({error}); "
        "install one of the versions that pyproject.toml names."
    )

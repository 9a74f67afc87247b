"""Another project uses this workflow as a module: from a folder, as snakedeploy writes it, and from git."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from workflow.conftest import PROJECT, jobs, said

pytestmark = [pytest.mark.workflow, pytest.mark.slow]

USE = """
configfile: "{config}"

module fivesentences:
    snakefile: "{snakefile}"
    config: config

use rule * from fivesentences
"""


def test_a_module_of_another_folder_makes_what_the_workflow_makes(tmp_path: Path) -> None:
    snakefile, demo = PROJECT / "workflow" / "Snakefile", PROJECT / "config" / "demo.yaml"
    (tmp_path / "Snakefile").write_text(USE.format(config=demo, snakefile=snakefile))
    alone = said(tmp_path, "snakemake", "-n", "-s", snakefile, "--workflow-profile", "none")
    assert jobs(said(tmp_path, "snakemake", "-n")) == jobs(alone)


def test_snakedeploy_writes_a_workflow_that_plans_what_its_configuration_says(tmp_path: Path) -> None:
    pytest.importorskip("snakedeploy", reason="needs the dependency group dev")
    source, deployed = tmp_path / "source", tmp_path / "deployed"
    for name in ("workflow", "config", "profiles"):
        shutil.copytree(PROJECT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    said(tmp_path, "snakedeploy", "deploy-workflow", source, deployed, "--branch", "main")

    # Of a local source snakedeploy writes the path within it, which is another file here.
    snakefile = deployed / "workflow" / "Snakefile"
    written = snakefile.read_text()
    assert '"workflow/Snakefile"' in written
    snakefile.write_text(written.replace('"workflow/Snakefile"', f'"{source}/workflow/Snakefile"'))
    (deployed / "config/config.yml").write_text("extends: demo.yaml\nscale: mine\n")
    assert "results/paper/mine/index.html" in said(deployed, "snakemake", "-n", "--workflow-profile", "none")

    # On a host there is no folder to compute with, only files by address. Snakemake's reader of local git repositories
    # stands for that; it cannot read scripts, so this plans nothing.
    git = ("git", "-c", "user.name=x", "-c", "user.email=x@localhost")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], cwd=source, check=True)
    snakefile.write_text(written.replace('"workflow/Snakefile"', f'"git+file://{source}/workflow/Snakefile@HEAD"'))
    listed = said(deployed, "snakemake", "--list", "--workflow-profile", "none")
    assert re.search(r"^draw_scenes$", listed, re.MULTILINE) and re.search(r"^page$", listed, re.MULTILINE)

"""`fivesentences report`: tables and figures from numbers that somebody else made, without Snakemake."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands.arguments import Quiet
from fivesentences.corpus import Photographs
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError, InputErrors, need
from fivesentences.plan.plan import plan_of, scale_of


def report(
    scale: Annotated[Path, typer.Argument(metavar="SCALE.yaml")] = Path("config/demo.yaml"),
    *,
    check: bool = False,
    quiet: Quiet = False,
) -> None:
    """Write the tables, figures and pages of a scale again, from results that were kept or fetched.

    It needs no GPU, no training, no downloads and no Snakemake. Where files of jobs are
    not here, numbers of runs come from the tidy table of the scale. What is made of
    other numbers or photographs that are not here stays as it was fetched.
    --check compares the SHA-256 of numbers, studies and downloads that are here,
    and the settings, with results/paper/SCALE/manifest.json.

    Args:
        scale: A scale.
        check: Write nothing; fail if files or settings are not those of the manifest.
        quiet: Say nothing about what was written.

    Examples:

        fivesentences report config/demo.yaml --check

        fivesentences report config/demo.yaml
    """
    for package in ("jinja2", "matplotlib"):
        need(package, "workflow", "report")
    from fivesentences.paper.context import Context
    from fivesentences.paper.manifest import CURE, differences_from, read_manifest
    from fivesentences.paper.rendering import OF_RESULTS, write_exhibit
    from fivesentences.paper.site.remaking import remake_pages

    plan = plan_of(scale_of(read_yaml(scale), scale), scale.parent)
    name = plan.scale.scale
    tidy = plan.places.tidy(name)
    said = []
    if check:
        if found := differences_from(read_manifest(plan.places.manifest(name)), plan):
            raise InputErrors([InputError(sentence) for sentence in found])
        said.append("Files and settings are those of the manifest.")
        if absent := [path for path in plan.report.large_or_worded_values(name) if not path.exists()]:
            what = f"{len(absent)} files of captions, or of values per image, query or pair, such as {absent[0]},"
            said.append(f"{what} are not here: what needs them stays as it was fetched.")
    for exhibit in (*plan.tables, *plan.figures) if not check else ():
        numbers, made = plan.report.numbers_of(name, exhibit), plan.report.exhibit_files[exhibit]
        spec, study = plan.tables.get(exhibit) or plan.figures[exhibit], exhibit.partition("/")[0]
        if spec.kind in OF_RESULTS and tidy.exists() and not all(path.exists() for path in numbers):
            numbers = [tidy]
        pictured = plan.report.dataset_of_photographs(name, exhibit) if exhibit in plan.figures else None
        archives = [] if pictured is None else plan.datasets.photographs_of(pictured)
        if absent := [path for path in (*numbers, *archives) if not path.exists()]:
            if absent[0] in numbers and not made.exists():
                raise InputError(f"{exhibit} is made of it", where=absent[0], cure=CURE)
            said.append(f"kept as fetched, since {absent[0]} is not here: {exhibit}")
            continue
        photographs = {pictured: Photographs(*archives)} if pictured is not None else {}
        folder = Path(plan.report.folder_of_published(exhibit))
        context = Context(study, plan.studies[study], plan.scale, folder, photographs)
        write_exhibit(spec, context, numbers, made.with_suffix(""))
        print(made)
    for page in remake_pages(plan) if not check else ():
        print(page)
    for sentence in said:
        print(sentence)

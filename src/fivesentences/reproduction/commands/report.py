"""`fivesentences report`: tables and figures from saved results, without Snakemake."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.choices import each_once
from fivesentences.commands.arguments import Quiet, names_typed
from fivesentences.config.files import moved
from fivesentences.corpus import Photographs
from fivesentences.documents import check_file, read_yaml
from fivesentences.errors import InputError, InputErrors, did_you_mean, need
from fivesentences.reproduction.plan.plan import plan_of, scale_of
from fivesentences.reproduction.plan.report import short_names
from fivesentences.reproduction.study.exhibits import FigureSpec, TableSpec

# Of figures and tables: all formats, and those that are written by default.
FORMATS = {
    "figure": (("svg", "pdf", "png", "eps", "csv", "json"), ("svg", "pdf")),
    "table": (("csv", "md", "tex", "html", "json"), ("csv", "tex")),
}


def report(
    scale: Annotated[Path, typer.Argument(metavar="SCALE.yaml")] = Path("config/demo.yaml"),
    *,
    check: bool = False,
    only: Annotated[str | None, typer.Option(metavar="LIST")] = None,
    formats: Annotated[str | None, typer.Option("--format", metavar="LIST")] = None,
    width: Annotated[float | None, typer.Option(metavar="INCHES", min=2, max=30)] = None,
    style: Annotated[Path | None, typer.Option(metavar="FILE.mplstyle|NAME")] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR")] = None,
    quiet: Quiet = False,
) -> None:
    """Redraw the tables, figures and pages of a scale from saved results.

    Run it in a clone, which contains the results. It needs no GPU, no training, no
    downloads and no Snakemake. Without the files of single jobs, it reads the tidy
    table of the scale. Figures of photographs that are missing stay as they are.

    What is read is first compared with results/paper/SCALE/manifest.json: numbers
    that were altered are refused, and what is written is noted there. --check
    compares everything that is here: numbers, tables, figures, pages, studies,
    downloads and the settings.

    --only, --format, --width, --style and --out make files for your paper or slides:
    results/ stays as it is, and NAME.pdf, NAME.svg, ... go to the current folder or
    to --out.

    Args:
        scale: A scale.
        check: Write nothing; fail if files or settings are not those of the manifest.
        only: Tables or figures, as STUDY/NAME or NAME, separated by commas; default: all.
        formats: Files to write, separated by commas. Of figures: svg, pdf, png, eps, csv, json (default svg,pdf). Of
            tables: csv, md, tex, html, json (default csv,tex).
        width: Width of figures; text and markers keep their size. A column of a paper is about 3.4. Default: 7.4.
        style: A matplotlib style file, or the name of one of matplotlib's own, applied on top of the package's: fonts,
            axes.prop_cycle, ... Text sizes belong to the layout: for larger text, enlarge a figure of less --width.
        out: Folder for the files, created if missing.
        quiet: Say nothing about what was written.

    Examples:

        fivesentences report config/demo.yaml --check

        fivesentences report config/demo.yaml

        fivesentences report config/flickr8k_evidence.yaml --only evidence_choice/choice_forest --width 3.4 --format pdf

        fivesentences report config/flickr8k_evidence.yaml --only evidence_choice/choices --format tex --out paper
    """
    for package in ("jinja2", "matplotlib"):
        need(package, "plots", "report")
    from fivesentences.reproduction.paper.context import Context
    from fivesentences.reproduction.paper.manifest import CURE, altered, differences_from, read_manifest, record_site
    from fivesentences.reproduction.paper.rendering import OF_RESULTS, write_exhibit
    from fivesentences.reproduction.paper.site.remaking import remake_pages

    check_file(scale, moved(scale) or "name a scale, such as config/demo.yaml in a clone of the repository")
    plan = plan_of(scale_of(read_yaml(scale), scale), scale.parent)
    name = plan.scale.scale
    chosen: dict[str, TableSpec | FigureSpec] = {
        exhibit: plan.tables.get(exhibit) or plan.figures[exhibit] for exhibit in (*plan.tables, *plan.figures)
    }
    look = {key: value for key, value in (("width", width), ("style", style)) if value is not None}
    ours = bool(only or formats or look or out)  # for somebody's own paper, not the kept files
    if ours:
        if check:
            raise InputError("--check writes nothing; leave out --only, --format, --width, --style and --out")
        chosen = _chosen(chosen, only, formats, look)
    names = Counter(spec.name for spec in chosen.values())
    said = []
    if check:
        if found := differences_from(read_manifest(plan.places.manifest(name)), plan):
            raise InputErrors([InputError(sentence) for sentence in found])
        said.append("Files and settings are those of the manifest.")
        if absent := [path for path in plan.report.large_or_worded_values(name) if not path.exists()]:
            what = f"{len(absent)} files of captions, or of values per image, query or pair, such as {absent[0]},"
            said.append(f"{what} are not here: what needs them stays as it was fetched.")
    drawn: list[tuple[str, TableSpec | FigureSpec, list[Path], dict[str, Photographs]]] = []
    kept: list[Path] = []  # files of what stays as it is
    for exhibit, spec in chosen.items() if not check else ():
        numbers, there = plan.report.numbers_of(name, exhibit), plan.report.kept_files(name, exhibit)
        tidy = plan.places.tidy(plan.pool_of(name, exhibit))
        if spec.kind in OF_RESULTS and tidy.exists() and not all(path.exists() for path in numbers):
            numbers = [tidy]
        pictured = plan.report.dataset_of_photographs(name, exhibit) if exhibit in plan.figures else None
        archives = [] if pictured is None else plan.datasets.photographs_of(pictured)
        if absent := [path for path in (*numbers, *archives) if not path.exists()]:
            if only or (absent[0] in numbers and not all(path.exists() for path in there) and not ours):
                clone = scale.absolute().parent.parent
                elsewhere = not clone.samefile(Path()) and any((clone / one).exists() for one in (absent[0], tidy))
                cure = f"results are read from the current folder: run the command in {clone}" if elsewhere else CURE
                what = "this file is missing," if absent[0] in numbers else "these photographs are missing,"
                raise InputError(f"{what} which {exhibit} needs", where=absent[0], cure=cure)
            what = "left out" if ours else "kept as fetched"
            said.append(f"{what}, since {absent[0]} is not here: {exhibit}")
            kept += there
            continue
        photographs = {pictured: Photographs(*archives)} if pictured is not None else {}
        drawn.append((exhibit, spec, numbers, photographs))
    read = [path for _, _, numbers, _ in drawn for path in numbers]
    if not (ours or check):
        read += [*kept, *plan.report.read_by_pages(name)]
        read += [path for paths in plan.report.numbers_of_runs(name).values() for path in paths]
    if wrong := altered(read, plan):
        raise InputErrors(wrong)
    if not (manifest := plan.places.manifest(name)).is_file():
        said.append(f"There is no {manifest}, with which numbers could be compared.")
    for exhibit, spec, numbers, photographs in drawn:
        study, made = exhibit.partition("/")[0], plan.report.exhibit_files[exhibit]
        folder = Path(plan.report.folder_of_published(exhibit))
        context = Context(study, plan.studies[study], plan.at(name, study), folder, photographs)
        if not ours:
            write_exhibit(spec, context, numbers, made.with_suffix(""))
            print(made if made.exists() else made.with_suffix(".csv"))
            continue
        stem = (out or Path()) / (spec.name if only and names[spec.name] == 1 else exhibit)
        stem.parent.mkdir(parents=True, exist_ok=True)
        written = _formats_of(spec, formats)
        write_exhibit(spec, context, numbers, stem, written, **look if isinstance(spec, FigureSpec) else {})
        paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in written]
        if not all(path.exists() for path in paths):
            said.append(f"Nothing of {exhibit} is made at this scale; there is no picture.")
        for path in filter(Path.exists, paths):
            print(path)
    if not (check or ours):
        for page in remake_pages(plan):
            print(page)
        record_site(plan)
    for sentence in said:
        print(sentence)


def _chosen(
    exhibits: Mapping[str, TableSpec | FigureSpec], only: str | None, formats: str | None, look: Mapping[str, object]
) -> dict[str, TableSpec | FigureSpec]:
    """Return the tables and figures that options choose, by ``study/name``."""
    known = {one for of_kind, _ in FORMATS.values() for one in of_kind}
    for one in _named(formats):
        if one not in known:
            what = f"'{one}' is no format of figures or tables ({', '.join(sorted(known))})"
            raise InputError(what, where="--format", cure=did_you_mean(one, known))
    if only is None:
        return {
            name: spec
            for name, spec in exhibits.items()
            if _formats_of(spec, formats) and (isinstance(spec, FigureSpec) or formats or not look)
        }
    named = short_names(exhibits)
    short, chosen = named | {name: name for name in exhibits}, {}
    for one in names_typed(only) or [""]:
        if one not in short:
            several = [name for name in exhibits if name.endswith(f"/{one}")]
            cure = f"say which: {', '.join(several)}" if several else did_you_mean(one, short)
            what = "is the name of several" if several else "is no table or figure of this configuration"
            there = f"there are {', '.join({exhibit: name for name, exhibit in named.items()}.values())}"
            raise InputError(f"'{one}' {what}", where="--only", cure=cure or there)
        spec = exhibits[short[one]]
        if not isinstance(spec, FigureSpec) and look:
            raise InputError(f"{one} is a table, which has no width or style", where="--only", cure="name figures")
        if not _formats_of(spec, formats):
            kind = "figure" if isinstance(spec, FigureSpec) else "table"
            what = f"{one} is a {kind}, and {formats} is no format of one"
            raise InputError(what, where="--format", cure=f"choose from {', '.join(FORMATS[kind][0])}")
        chosen[short[one]] = spec
    return chosen


def _formats_of(spec: TableSpec | FigureSpec, formats: str | None) -> list[str]:
    """Return the formats in which a table or figure is to be written."""
    every, usual = FORMATS["figure" if isinstance(spec, FigureSpec) else "table"]
    return [one for one in _named(formats) if one in every] if formats else list(usual)


def _named(formats: str | None) -> tuple[str, ...]:
    return each_once(one.lstrip(".").lower() for one in names_typed(formats))

"""`fivesentences redraw`: tables and figures from numbers that somebody else made."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from fivesentences.commands import arguments as given
from fivesentences.errors import InputError, InputErrors, need

NOTHING = "Nothing to be done"
LAST_LINES = 2000  # characters of Snakemake's output that an error shows


def redraw(
    what: Annotated[Path, typer.Argument(metavar="SCALE", help="a scale, config/*.yaml")] = Path("config/demo.yaml"),
    config: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE", help="settings that were changed on Snakemake's command line; repeat for more"
        ),
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="processes at once; default: one per processor")] = None,
    quiet: given.Quiet = False,
) -> None:
    """Draw all tables and figures of a scale again, from results that `dvc pull` fetched.

    It needs no GPU, no training and no downloads. First it checks by SHA-256 that
    the numbers and the configuration are those of results/paper/SCALE/manifest.json;
    if not, it changes nothing. Then Snakemake is told that what was fetched is up to
    date, since neither git nor DVC keeps times, and draws. From then on
    `snakemake -n` lists exactly what depends on a change of yours.

    What shows photographs that are not here stays as it was fetched.

    Examples:

        fivesentences redraw

        fivesentences redraw config/flickr8k.yaml
    """
    from fivesentences.machine import processors
    from fivesentences.paper.comparing_manifests import check_as_pushed
    from fivesentences.paper.digests import CHECKSUMS, Digests
    from fivesentences.paper.manifest import drawn_of, graph_of_site, read_manifest
    from fivesentences.plan.plan import plan_of, scale_of

    need("snakemake", "workflow", "drawing")
    plan = plan_of(scale_of(_content(what, config or []), what), what.parent)
    scale, digests = plan.scale.scale, Digests(CHECKSUMS)
    if not plan.places.manifest(scale).is_file():
        raise InputError("there is no such file", where=plan.places.manifest(scale), cure="fetch the results: dvc pull")
    check_as_pushed(plan, read_manifest(plan.places.manifest(scale)), digests)
    digests.save()
    drawn = drawn_of(graph_of_site(plan, scale))
    if drawn.missing:
        raise InputError(
            f"{drawn.missing[0]} is not here, and neither is what it is drawn from ({drawn.reason})",
            cure="fetch the results: dvc pull",
        )
    before = {path: digests.of(path) for path in drawn.files}
    common = ["--configfile", str(what), *(["--config", *config] if config else [])]
    page = [str(path) for path in plan.targets["page"]]
    _snakemake("mark what was fetched as up to date", "--touch", "--forceall", "--cores", "1", *common, "--", *page)

    def draw(paths: list[Path]) -> None:
        at_once = str(cores or processors())
        _snakemake("draw", "--force", "--cores", at_once, *common, "--", *map(str, paths), show=not quiet)

    draw([path for path in drawn.targets if path not in drawn.later])
    # The manifest says what the numbers were made of, and by whom; drawing them again changes nothing in it.
    noted = str(plan.places.manifest(scale))
    _snakemake("keep the manifest", "--touch", "--force", "--cores", "1", *common, "--", noted)
    draw(drawn.later)
    said = _snakemake("look what is left", "--dry-run", "--cores", "1", *common, "--", *page)
    if NOTHING not in said:
        lines = f"after drawing, Snakemake still finds work to do:\n{said[-LAST_LINES:]}".splitlines()
        raise InputErrors([InputError(line) for line in lines])
    equal = sum(digests.of(path) == known for path, known in before.items())
    print(
        f"{len(drawn.targets)} tables, figures and pages drawn; {equal} of their {len(before)} files equal what was "
        "fetched."
    )
    for path in drawn.kept:
        print(f"kept as fetched, since its photographs or features are not here: {path}")
    print(f"{plan.places.page(scale)}; snakemake has nothing else to do.")


def _content(what: Path, config: list[str]) -> Any:
    """A scale's settings, with those of the command line over them, merged as Snakemake does."""
    from fivesentences.config.reading import merged
    from fivesentences.documents import parse_yaml, read_yaml

    content = read_yaml(what)
    for item in config:
        key, equals, value = item.partition("=")
        if not equals or not isinstance(content, dict):
            raise InputError(f"--config is '{item}'; it is KEY=VALUE, as for snakemake.")
        new, old = parse_yaml(value, f"--config {key}"), content.get(key)
        content = content | {key: merged(old, new) if isinstance(old, dict) and isinstance(new, dict) else new}
    return content


def _snakemake(purpose: str, *arguments: str, show: bool = False) -> str:
    """Run Snakemake; returns what it said, unless that is shown."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    done = subprocess.run(command, text=True, stdout=None if show else subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        said = "" if show else f":\n{done.stdout[-LAST_LINES:]}"
        raise InputError(f"Snakemake could not {purpose} (exit code {done.returncode}){said or '; see above.'}")
    return "" if show else done.stdout

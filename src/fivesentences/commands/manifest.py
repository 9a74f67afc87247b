"""`fivesentences manifest ...`: what the numbers of a scale were made of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import Outputs, Sheet

manifest = typer.Typer(no_args_is_help=True, epilog=given.WORDS)
Manifest = Annotated[Path, typer.Argument(metavar="FILE", help="a manifest.json, or the folder that it is in")]


@manifest.callback()
def _root() -> None:
    """Compare what the numbers of two scales, machines or revisions were made of.

    Example:

        fivesentences manifest diff results/paper/demo theirs/manifest.json
    """


@manifest.command(epilog=given.WORDS)
def diff(
    a: Manifest,
    b: Manifest,
    seconds: Annotated[bool, typer.Option("--seconds", help="the seconds of each rule too")] = False,
    json_out: given.Json = None,
    csv: given.Csv = None,
    markdown: given.Markdown = None,
    quiet: given.Quiet = False,
) -> None:
    """Show in what two manifests differ: inputs, versions, machines, settings, seeds and headline numbers.

    Files are compared by SHA-256, whose first digits are shown. With equal
    inputs, settings, seeds and versions, numbers should be equal too.

    Example:

        fivesentences manifest diff ours/manifest.json theirs/manifest.json
    """
    import pandas as pd

    from fivesentences.paper.comparing_manifests import differences_of
    from fivesentences.paper.manifest import read_manifest

    outputs = Outputs.of(json_out, csv, markdown, None, quiet, [("manifest", a), ("manifest", b)])
    found = differences_of(read_manifest(a), read_manifest(b), seconds)
    rows = [difference.row() for difference in found]
    note = "The two manifests say the same." if not found else f"{len(found)} differences."
    sheet = Sheet(["part", "what"], [("", str(a)), ("", str(b)), ("", "change")], rows, notes=[note])
    tidy = pd.DataFrame([[one.part, one.name, one.a, one.b] for one in found], columns=["part", "name", "a", "b"])
    outputs.write([sheet], tidy, {"differences": [vars(one) for one in found]})

"""`fivesentences metrics`: every metric, its unit and its source."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands.sheets import Sheet, show
from fivesentences.errors import InputError
from fivesentences.storage import replacing, write_json

PAGE = Path("docs/metrics.md")


def metrics(
    page: Annotated[Path | None, typer.Option("--page", metavar="FILE", help=f"write the page {PAGE}")] = None,
    check: Annotated[
        Path | None, typer.Option("--check", metavar="FILE", help="end with code 1 if this page is not up to date")
    ] = None,
    json_out: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="write JSON")] = None,
) -> None:
    """List every metric that evaluate reports: what it measures, its unit, what it needs, and its source.

    Example:

        fivesentences metrics
    """
    from fivesentences.metrics.registry import METRICS, metrics_page

    if check is not None and (not check.is_file() or check.read_text(encoding="utf-8") != metrics_page()):
        raise InputError(
            f"this is not the list of metrics; write it with: fivesentences metrics --page {check}", where=check
        )
    if page is not None:
        with replacing(page) as temporary:
            temporary.write_text(metrics_page(), encoding="utf-8")
    if json_out is not None:
        write_json(json_out, [asdict(metric) for metric in METRICS.values()])
    if check is None and page is None and json_out is None:
        rows = [
            [metric.name, metric.measures, metric.unit, metric.better, metric.source] for metric in METRICS.values()
        ]
        show([Sheet(["metric", "measures", "unit", "better", "source"], [], rows)])

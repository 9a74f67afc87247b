"""`fivesentences metrics`: every metric, its unit, what it needs and its source."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands.sheets import STDOUT, Sheet, show
from fivesentences.storage import check_writable, write_json


def metrics(
    json_out: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="write JSON instead; - is standard output")
    ] = None,
) -> None:
    """List every metric that evaluate reports: what it measures, its unit, what it needs, and its source.

    Example:

        fivesentences metrics
    """
    from fivesentences.config.metrics import METRIC_HEADINGS, METRICS, metric_rows

    if json_out is not None:
        content = [asdict(metric) for metric in METRICS.values()]
        if str(json_out) == STDOUT:
            print(json.dumps(content, indent=1, ensure_ascii=False))
        else:
            check_writable(json_out)
            write_json(json_out, content)
        return
    show([Sheet([heading.lower() for heading in METRIC_HEADINGS], [], metric_rows())])

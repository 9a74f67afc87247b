"""`fivesentences metrics`: every metric, its unit, what it needs and its source."""

from __future__ import annotations

import json as json_module
from dataclasses import asdict
from pathlib import Path

from fivesentences.commands.sheets import STDOUT, Sheet, show
from fivesentences.config.metrics import METRIC_HEADINGS, METRICS, metric_rows
from fivesentences.storage import check_writable, write_json


def metrics(*, json: Path | None = None) -> None:
    """List every metric that evaluate reports.

    It says what each measures, its unit, what it needs, and its source.

    Args:
        json: Write JSON instead; - is standard output.

    Example:

        fivesentences metrics
    """
    content = [asdict(metric) for metric in METRICS.values()]
    if json is None:
        show([Sheet([heading.lower() for heading in METRIC_HEADINGS], [], metric_rows())])
    elif str(json) == STDOUT:
        print(json_module.dumps(content, indent=1, ensure_ascii=False))
    else:
        check_writable(json)
        write_json(json, content)

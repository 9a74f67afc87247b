"""`fivesentences metrics`: every metric, its unit, what it needs and its source."""

from __future__ import annotations

from dataclasses import asdict

import pandas as pd

from fivesentences.commands.sheets import Outputs
from fivesentences.config.metrics import METRIC_HEADINGS, METRICS, metric_rows
from fivesentences.metrics.sheet import Sheet


def metrics(*, outputs: Outputs) -> None:
    """List every metric that evaluate reports.

    It says what each measures, its unit, what it needs, and its source.

    Example:

        fivesentences metrics
    """
    outputs.check()
    content = [asdict(metric) for metric in METRICS.values()]
    sheet = Sheet([heading.lower() for heading in METRIC_HEADINGS], [], metric_rows())
    outputs.write([sheet], lambda: pd.DataFrame(content), {"metrics": content})

"""README's snippet runs as it stands, and prints what the text below it says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_snippet_prints_what_readme_says() -> None:
    found = re.search(
        r"```python\n(?P<code>.+?)```\s+prints `(?P<printed>[^`]+)`", README.read_text("utf-8"), re.DOTALL
    )
    assert found, "README has no snippet with its output"
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(found["code"], {})
    assert printed.getvalue().split() == found["printed"].split()

"""The demo that README's first command made has the numbers that were kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from golden import golden


def test_the_demo_has_the_numbers_that_were_kept(root: Path) -> None:
    if not (root / "results" / "paper" / "demo" / "index.html").is_file():
        pytest.skip("the demo is not made yet: uv run snakemake")
    found, _ = golden.compared("demo", root / "results")
    assert not found, "\n".join(["made by other code? uv run snakemake makes it again", *found[: golden.SHOWN]])

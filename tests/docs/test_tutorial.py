"""docs/tutorial.md runs as a notebook, and what its text says of the results is so."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

nbclient = pytest.importorskip("nbclient", reason="needs the dependency group docs")
nbformat = pytest.importorskip("nbformat", reason="needs the dependency group docs")
read = pytest.importorskip("myst_nb.core.read", reason="needs the dependency group docs")

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial.md"

# Run after the notebook's own cells, in its kernel.
WHAT_THE_TEXT_SAYS = """
ranked = np.argsort(-info_nce, axis=1, kind="stable")
by_hand = 100 * np.mean(image_of_caption[ranked[:, 0]] == np.arange(200))
assert np.isclose(scores["R@1", "i2t"], by_hand)

# The pictures are those of the captions.
assert [one.text for scene in scenes for one in scene.captions] == captions

# Captions of other images describe the first one too.
assert of_others.max() > 0.5

rsum = tests.query("metric == 'Rsum'").iloc[0]
assert rsum["difference"] > 0 and rsum["p"] < 0.05

# Both miss the own image, and NCS differs all the same.
assert max(gaps) >= 10
single = evaluate(hardest, {"cider": phi}, ks=(5,), ms=(), asp_ties=())
by_hand = np.mean([ncs(hardest, caption) for caption in range(1000)])
assert np.isclose(single.value("N@5", "t2i", ground_truth="kept"), by_hand)

assert hubness(csls(hardest, k=10)).maximum <= hubness(hardest).maximum
"""


@pytest.fixture(scope="module")
def notebook():
    """The executed tutorial."""
    notebook = read.read_myst_markdown_notebook(TUTORIAL.read_text(encoding="utf-8"))
    notebook.cells.append(nbformat.v4.new_code_cell(WHAT_THE_TEXT_SAYS))
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3")
    return client.execute(env=os.environ | {"OMP_NUM_THREADS": "1"})


def outputs(notebook, part: str) -> str:
    """Everything that the cell with this line in its source shows as text."""
    (cell,) = [cell for cell in notebook.cells if cell.cell_type == "code" and part in cell.source.splitlines()]
    return "".join(one.get("text", "") or one.get("data", {}).get("text/plain", "") for one in cell.outputs)


def test_every_cell_runs_and_the_text_is_right(notebook) -> None:
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(code) >= 8
    assert all(cell.execution_count for cell in code if cell.source.strip())
    table = outputs(notebook, 'scores.wide().droplevel(["phi", "formula", "style"])')
    assert all(metric in table for metric in ("R@k", "NCS@k", "SR@k", "200 images, 1,000 captions"))
    table = outputs(notebook, 'tests = compare(info_nce, hardest, {"cider": phi}, ks=(1, 10), ms=())')
    assert "difference" in table and "p is not adjusted" in table
    drawn = [one for cell in notebook.cells for one in cell.get("outputs", []) if "image/png" in one.get("data", {})]
    assert len(drawn) == 2

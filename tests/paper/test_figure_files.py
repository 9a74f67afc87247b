"""The files of a figure, whatever its labels hold."""

from __future__ import annotations

import pandas as pd
import pytest

from fivesentences.paper.figures.drawing import Drawing, write_drawing


@pytest.mark.parametrize("label", [r"$\frac{$", r"$\frac{1}{2}$", "US$ 1 and US$ 2", r"\$1$", "_^{"])
def test_labels_are_drawn_as_they_are_and_not_as_formulas(label, tmp_path):
    def labelled(**literal):
        def draw(canvas):
            panel = canvas.add_axes((0.2, 0.2, 0.6, 0.6))
            panel.set_title(label, **literal)
            panel.set_xticks([0, 1], [label, label], **literal)
            panel.plot([0, 1], [0, 1], label="line")
            panel.legend().get_texts()[0].set(text=label, **literal)

        return Drawing(pd.DataFrame({"label": [label]}), [label], draw)

    write_drawing(tmp_path / "plain", label, label, labelled())
    write_drawing(tmp_path / "literal", label, label, labelled(parse_math=False))
    for suffix in (".png", ".pdf", ".csv", ".json"):
        assert (tmp_path / f"plain{suffix}").read_bytes() == (tmp_path / f"literal{suffix}").read_bytes()

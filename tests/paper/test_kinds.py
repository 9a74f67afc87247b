"""What every kind of table and figure promises."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib.style
import numpy as np
import pandas as pd
import pypdf
import pytest
from matplotlib import colors
from matplotlib.text import Text

from colours import told_apart
from drawn_texts import drawn, misplaced
from fivesentences.reproduction.paper import rendering
from fivesentences.reproduction.paper.figures.drawing import read_style
from fivesentences.reproduction.paper.figures.style import ON_PHONES, STYLE, WIDTH
from fivesentences.reproduction.paper.tables.writing import read_texts
from fivesentences.reproduction.study.exhibits import AnyFigure, AnyTable

# One of each kind.
TABLES = {
    "runs": "knn_margin/table4",
    "agreement": "five_sentences/table1",
    "lengths": "papers_captions/lengths",
    "margins": "evidence_margins/margins",
    "paired": "contrasts/paired",
    "splits": "knn_margin/splits",
    "subspaces": "sched_sam/table1",
    "subspace_contrasts": "sched_sam/margin_contrasts",
}
FIGURES = {
    "activation": "sched_sam/activation",
    "agreement": "five_sentences/judged",
    "best_captions": "five_sentences/best_captions",
    "category_margins": "sched_sam/category_margins",
    "correlations": "meaning/agreement",
    "curves": "evidence_fractions/crossing",
    "forest": "evidence_seeds/seeds_forest",
    "found_positives": "daa_supp/found_positives",
    "front": "evidence_daa/front",
    "hubness": "knn_margin/hubness",
    "margin_by_epoch": "sched_sam/margin_by_epoch",
    "margins": "evidence_margins/margin_distribution",
    "means": "evidence_models/rsum",
    "metric_agreement": "metric_agreement/agreement",
    "phi_histogram": "five_sentences/phi_histogram",
    "retrievals": "five_sentences/figure1",
    "semantic_recall_over_m": "five_sentences/figure3",
    "start_and_share": "sched_sam/start_and_share",
    "subspace": "sched_sam/subspace",
    "subspace_forest": "sched_sam/gains",
}
FORMS = {
    "tables": [".csv", ".html", ".json", ".md", ".tex"],
    "figures": [".csv", ".json", ".narrow.svg", ".pdf", ".svg"],
}
every_figure = pytest.mark.parametrize("exhibit", FIGURES.values(), ids=FIGURES)


def kinds_of(union: Any) -> set[str]:
    """The words for ``kind`` that a study may use."""
    return {kind.model_fields["kind"].annotation.__args__[0] for kind in union.__args__[0].__args__}


def files_of(stem) -> dict[str, bytes]:
    return {"".join(path.suffixes): path.read_bytes() for path in sorted(stem.parent.glob(f"{stem.name}.*"))}


def test_the_tests_below_have_one_of_every_kind():
    assert kinds_of(AnyTable) == set(TABLES) == set(rendering.TABLES)
    assert kinds_of(AnyFigure) == set(FIGURES) == set(rendering.FIGURES)


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", [*TABLES.values(), FIGURES["activation"], FIGURES["retrievals"]])
def test_a_table_or_figure_is_written_whole_with_equal_bytes_each_time_and_on_every_machine(
    everything, exhibit, tmp_path
):
    everything.write(exhibit, tmp_path / "first")
    with matplotlib.rc_context({"font.size": 20, "lines.color": "red", "axes.facecolor": "black", "pdf.fonttype": 3}):
        everything.write(exhibit, tmp_path / "second")
    files = files_of(tmp_path / "first")
    assert list(files) == FORMS["tables" if exhibit in TABLES.values() else "figures"] and all(files.values())
    assert files == files_of(tmp_path / "second")
    assert len(pd.read_csv(tmp_path / "first.csv")) > 0


@pytest.mark.slow
@every_figure
def test_a_figure_is_written_with_its_data_and_texts_and_its_fonts_are_inside(everything, exhibit, tmp_path):
    spec, drawing = everything.plan.figures[exhibit], everything.drawing(exhibit)
    everything.write(exhibit, tmp_path / "f")
    data = pd.read_csv(tmp_path / "f.csv")
    pd.testing.assert_frame_equal(data, drawing.data, check_dtype=False)
    assert read_texts(tmp_path / "f.json")[:3] == (spec.title, spec.caption, drawing.notes)
    assert set(spec.notes) <= set(drawing.notes)
    assert size_of(tmp_path / "f.svg")[0] == pytest.approx(72 * WIDTH)
    reader = pypdf.PdfReader(tmp_path / "f.pdf")
    assert "/CreationDate" not in (reader.metadata or {})
    fonts = [font.get_object() for page in reader.pages for font in page["/Resources"]["/Font"].values()]
    for font in fonts:
        inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
        assert "/FontFile2" in inner["/FontDescriptor"].get_object(), font["/BaseFont"]  # TrueType
    assert fonts


def size_of(svg: Path) -> tuple[float, float]:
    """Width and height in points."""
    root = ElementTree.parse(svg).getroot()
    return float(root.attrib["width"].removesuffix("pt")), float(root.attrib["height"].removesuffix("pt"))


def over_white(colour: Any) -> str:
    """A colour that may let white through, as hex."""
    red, green, blue, alpha = colors.to_rgba(colour)
    return colors.to_hex([alpha * part + 1 - alpha for part in (red, green, blue)])


def series_of(axes: Any) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Colour and style of every line, point and area of data; not of rules, tints, annotations or pictures."""
    for line in axes.lines:
        if len(np.unique(line.get_xdata())) == 1 and line.get_linestyle() != "None" and line.get_marker() == "None":
            continue  # a rule or whisker
        marker = (line.get_marker(), over_white(line.get_markerfacecolor())) if line.get_marker() != "None" else ()
        dashes = str(line._unscaled_dash_pattern) if line.get_linestyle() != "None" else "no line"
        yield over_white(line.get_color()), ("line", dashes, marker[:1], marker[1:] == ("#ffffff",))
    for patch in axes.patches:
        if not patch.get_fill() or (patch.get_alpha() or 1) >= 0.25:  # not a tint below an outline
            colour = patch.get_facecolor() if patch.get_fill() else patch.get_edgecolor()
            style = (patch.get_fill(), str(patch._unscaled_dash_pattern), patch.get_hatch())
            yield over_white(colour), (type(patch).__name__, *style)


@pytest.mark.slow
@every_figure
def test_texts_of_a_figure_can_be_read_and_no_two_series_share_both_style_and_grey(everything, exhibit):
    canvas = drawn(everything.drawing(exhibit).draw)
    assert misplaced(canvas) == [] and canvas.get_figwidth() == WIDTH
    texts = [text for text in canvas.findobj(Text) if text.get_visible() and text.get_text().strip()]
    assert min(text.get_fontsize() for text in texts) >= 6
    with matplotlib.style.context(STYLE):  # a colour is the name of a place in its cycle
        series = [(axes.get_title(loc="left"), set(series_of(axes))) for axes in canvas.axes]
    for title, found in series:
        for (colour, style), (other, another) in itertools.combinations(found, 2):
            if colour != other and style == another and style[0] != "Rectangle":
                assert told_apart(colour, other), (title, colour, other, style)


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", [FIGURES[kind] for kind in FIGURES if kind not in ("best_captions", "retrievals")])
def test_texts_of_a_figure_can_be_read_on_a_phone(everything, exhibit):
    canvas = drawn(everything.drawing(exhibit).draw, ON_PHONES)
    assert misplaced(canvas) == [] and canvas.get_figwidth() == ON_PHONES


@pytest.mark.slow
@pytest.mark.parametrize("width", [3.4, WIDTH])
@pytest.mark.parametrize("style", ["own", "serif", "ggplot"])
@pytest.mark.parametrize("exhibit", [FIGURES[kind] for kind in FIGURES if kind not in ("best_captions", "retrievals")])
def test_no_text_hides_another_whatever_width_and_style_a_user_asks_for(everything, exhibit, width, style, tmp_path):
    file = tmp_path / "serif.mplstyle"
    file.write_text("font.family: serif\n")
    look = {"own": {}, "serif": read_style(file), "ggplot": read_style(Path("ggplot"))}[style]
    canvas = drawn(everything.drawing(exhibit).draw, width, look)
    assert misplaced(canvas) == [] and canvas.get_figwidth() == width


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", [FIGURES[kind] for kind in ("best_captions", "retrievals")])
def test_a_dataset_without_photographs_is_drawn_all_the_same(everything, exhibit):
    context = replace(everything.contexts[exhibit], photographs={})
    drawing = rendering.make(everything.plan.figures[exhibit], context, everything.numbers(exhibit))
    texts = [text.get_text() for text in drawn(drawing.draw).texts]
    assert any("no photographs here" in text for text in texts)


# But words per caption, which every scale with captions has.
SOME_HAVE_NONE = [name for name in (*TABLES.values(), *FIGURES.values()) if name != TABLES["lengths"]]


@pytest.mark.slow
@pytest.mark.parametrize("exhibit", SOME_HAVE_NONE)
def test_a_scale_that_has_none_of_it_gets_files_that_say_so(judged_by, make_up, exhibit, tmp_path):
    every = ["binary", "spice", "cider", "tfidf", "bleu_daa", "rouge_daa", "meteor", "bleu4", "rouge_l"]
    tokens = [f"{metric}-{name}" for metric in ("cider", "bleu4", "rouge_l") for name in ("reattached", "ptb")]
    made_up = make_up(judged_by(leave_out={"phis": [*every, *tokens]}))
    made_up.write(exhibit, tmp_path / "stem")
    assert pd.read_csv(tmp_path / "stem.csv").empty
    if exhibit in TABLES.values():
        for suffix in ("md", "tex", "html"):
            text = (tmp_path / f"stem.{suffix}").read_text(encoding="utf-8")
            assert "None of its rows is made at the scale tiny." in text
    else:
        assert read_texts(tmp_path / "stem.json").empty and not (tmp_path / "stem.svg").exists()


def test_a_study_is_read_without_what_draws_writes_and_trains():
    slow = ("matplotlib", "jinja2", "scipy", "pandas", "torch", "snakemake")
    code = f"import sys, fivesentences.reproduction.study.study; print([one for one in {slow} if one in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"

"""What every kind of table and figure promises, and that a new kind takes a specification, a function and a line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import pandas as pd
import pytest
from PIL import Image
from pydantic import Field

from fivesentences.config.reading import check
from fivesentences.evaluation.tidy import collect
from fivesentences.paper import rendering
from fivesentences.paper.context import Context
from fivesentences.paper.figures.drawing import Drawing, read_texts
from fivesentences.paper.tables.table import Cell, Column, Group, Table, TableRow
from fivesentences.study.exhibits import AnyFigure, AnyTable, FigureSpec, RowSpec, TableSpec
from fivesentences.study.study import Study

# One of each kind.
TABLES = {
    "runs": "knn_margin/table4",
    "agreement": "five_sentences/table1",
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
    "curves": "evidence_fractions/crossing",
    "forest": "contrasts/forest",
    "found_positives": "daa_supp/found_positives",
    "front": "evidence_daa/front",
    "hubness": "knn_margin/hubness",
    "margin_by_epoch": "sched_sam/margin_by_epoch",
    "margins": "evidence_margins/margin_distribution",
    "metric_agreement": "metric_agreement/agreement",
    "phi_histogram": "five_sentences/phi_histogram",
    "retrievals": "five_sentences/figure1",
    "semantic_recall_over_m": "five_sentences/figure3",
    "start_and_share": "sched_sam/start_and_share",
    "subspace": "sched_sam/subspace",
}


def kinds_of(union: Any) -> set[str]:
    """The words for ``kind`` that a study may use."""
    return {kind.model_fields["kind"].annotation.__args__[0] for kind in union.__args__[0].__args__}


def files_of(stem) -> dict[str, bytes]:
    return {path.suffix: path.read_bytes() for path in stem.parent.glob(f"{stem.name}.*")}


def test_the_tests_below_have_one_of_every_kind():
    assert kinds_of(AnyTable) == set(TABLES) == set(rendering.TABLES)
    assert kinds_of(AnyFigure) == set(FIGURES) == set(rendering.FIGURES)


@pytest.mark.parametrize("exhibit", [*TABLES.values(), *FIGURES.values()])
def test_a_table_or_figure_is_written_whole_with_equal_bytes_each_time(
    everything, everything_written, exhibit, tmp_path
):
    everything.write(exhibit, tmp_path / exhibit)
    files = files_of(tmp_path / exhibit)
    forms = (
        [".csv", ".html", ".json", ".md", ".tex"] if exhibit in TABLES.values() else [".csv", ".json", ".pdf", ".png"]
    )
    assert sorted(files) == forms and all(files.values())
    assert files == files_of(everything_written / exhibit)
    assert len(pd.read_csv(tmp_path / f"{exhibit}.csv")) > 0


@pytest.mark.parametrize("exhibit", FIGURES.values(), ids=FIGURES)
def test_a_figure_is_drawn_and_its_data_and_texts_stand_beside_it(everything, everything_written, exhibit):
    spec, drawing = everything.plan.figures[exhibit], everything.drawing(exhibit)
    data = pd.read_csv(everything_written / f"{exhibit}.csv")
    pd.testing.assert_frame_equal(data, drawing.data, check_dtype=False)
    assert read_texts(everything_written / f"{exhibit}.json") == (spec.title, spec.caption, drawing.notes)
    assert set(spec.notes) <= set(drawing.notes)
    with Image.open(everything_written / f"{exhibit}.png") as image:
        assert image.width >= 1200 and len(image.getcolors(maxcolors=1 << 20)) > 50


@pytest.mark.parametrize("exhibit", FIGURES.values(), ids=FIGURES)
def test_what_a_figure_draws_is_collected_without_matplotlib(everything, exhibit, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # its import fails
    assert not everything.drawing(exhibit).data.empty


@pytest.mark.parametrize("exhibit", FIGURES.values(), ids=FIGURES)
def test_a_dataset_without_photographs_is_drawn_all_the_same(everything, exhibit, tmp_path):
    context = replace(everything.contexts[exhibit], photographs={})
    rendering.write_exhibit(everything.plan.figures[exhibit], context, everything.numbers(exhibit), tmp_path / "f")
    assert (tmp_path / "f.png").stat().st_size > 10_000


@pytest.mark.parametrize("exhibit", [*TABLES.values(), *FIGURES.values()])
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
        assert made_up.drawing(exhibit).draw is None
        with Image.open(tmp_path / "stem.png") as image:
            assert image.height == 200  # a sentence


class RsumTable(TableSpec):
    """A table of one column, which nothing in the package knows."""

    reads: ClassVar = "runs"

    kind: Literal["rsum"]
    rows: list[RowSpec]


def rsum_table(spec, context, frame):
    values = frame.query("metric == 'Rsum' and inference == 'naive'")
    of_run = dict(zip(values["run"], values["value"], strict=True))
    rows = [
        TableRow("ours", (row.loss,), {"loss": row.loss}, "", False, (Cell(of_run[row.runs[0].name]),))
        for row in context.rows(spec)
    ]
    group, columns = Group("All", {}, tuple(rows)), (Column(("Rsum",), "Rsum", {}),)
    return Table(*context.texts(spec), ("Loss",), columns, (group,), (), 1, (("loss", ""), ("rsum", "value")))


class RsumFigure(FigureSpec):
    """Dots, drawn by nothing in the package."""

    reads: ClassVar = "runs"

    kind: Literal["rsum_dots"]
    rows: list[RowSpec]


def rsum_figure(spec, context, frame):
    data = frame.query("metric == 'Rsum' and inference == 'naive'")[["run", "value"]]
    return Drawing(data, ["Dots."], lambda canvas: canvas.add_axes((0, 0, 1, 1)).plot(data["value"], "o"))


class ToyStudy(Study):
    """Both kinds as one line each of the unions."""

    tables: list[Annotated[AnyTable.__args__[0] | RsumTable, Field(discriminator="kind")]]
    figures: list[Annotated[AnyFigure.__args__[0] | RsumFigure, Field(discriminator="kind")]]


def test_a_new_kind_of_table_and_figure_is_planned_made_and_written(make_scale, make_up, tmp_path, monkeypatch):
    for kind, make, kinds in (("rsum", rsum_table, "TABLES"), ("rsum_dots", rsum_figure, "FIGURES")):
        monkeypatch.setitem(rendering.OF_RESULTS, kind, make)
        monkeypatch.setitem(getattr(rendering, kinds), kind, rendering.of_results)
    rows = [{"role": "flickr30k", "loss": ["a", "b"]}]
    content = {
        "paper": "P",
        "losses": {"a": {}, "b": {"triplet": "all"}},
        "tables": [{"name": "t", "kind": "rsum", "title": "T", "caption": "C", "rows": rows}],
        "figures": [{"name": "f", "kind": "rsum_dots", "title": "F", "caption": "C", "rows": rows}],
    }
    made_up = make_up(make_scale(keep=None), toy=check(ToyStudy, content, "toy"))
    for name in ("toy/t", "toy/f"):
        made_up.write(name, tmp_path / name)
    values = collect(made_up.numbers("toy/t"), "tiny").query("metric == 'Rsum' and inference == 'naive'")
    assert pd.read_csv(tmp_path / "toy/t.csv")["rsum"].tolist() == values["value"].tolist()[::3]
    assert pd.read_csv(tmp_path / "toy/f.csv")["value"].tolist() == pytest.approx(values["value"].tolist())
    assert read_texts(tmp_path / "toy/f.json") == ("F", "C", ["Dots."])


def test_a_study_is_read_without_what_draws_writes_and_trains():
    slow = ("matplotlib", "jinja2", "scipy", "pandas", "torch", "snakemake")
    code = f"import sys, fivesentences.study.study; print([name for name in {slow} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_a_context_names_a_table_and_its_rows(studies, scale):
    study = studies["knn_margin"]
    context = Context("knn_margin", study, scale)
    rows = context.rows(study.exhibit("table2"))
    assert [row.left_out for row in rows] == [None] * 3 + ["role"] * 6
    assert context.where(study.exhibit("table2")) == "knn_margin: table2"

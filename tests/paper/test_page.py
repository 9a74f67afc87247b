from __future__ import annotations

import re
import shutil

import pytest
from PIL import Image

from fivesentences.errors import InputError
from fivesentences.paper.html import Picture
from fivesentences.paper.making import make_figure, make_table
from fivesentences.paper.page import write_page
from fivesentences.paper.tables.runs import build_table
from fivesentences.paper.tables.writing import write_table
from fivesentences.plan.asked import drawn_phis, figures_of, tables_of
from fivesentences.plan.rows import runs_of_scale


@pytest.fixture(scope="module")
def scale(make_scale):
    return make_scale(judges=[{"judge": "scenes_truth", "dataset": "scenes"}])


@pytest.fixture(scope="module")
def everything(
    studies, scale, made_up, published, tmp_path_factory, write_agreement, meaning_file, photographs, write_runs,
    retrievals_file,
):  # fmt: skip
    """All tables and figures of the studies, made once."""
    folder, frame = tmp_path_factory.mktemp("page"), made_up(runs_of_scale(studies, scale).values())
    runs = write_runs(runs_of_scale(studies, scale).values(), frame)
    judged = write_agreement(studies, scale)
    meaning = meaning_file(drawn_phis(studies, scale))
    for name, study in studies.items():
        for table in study.tables:
            write_table(build_table(name, table, study, scale, frame, published), folder / name / table)
        for figure, spec in study.figures.items():
            numbers = [retrievals_file] if spec.drawing == "retrievals" else runs
            make_figure(name, figure, study, scale, numbers, folder / name / figure, {"scenes": photographs})
        for table in study.agreement_tables:
            make_table(name, table, study, scale, judged, published, folder / name / table)
        pairs = [path.with_suffix(".parquet") for path in judged]
        for figure in study.agreement_figures:
            make_figure(name, figure, study, scale, pairs, folder / name / figure)
        for figure in study.meaning_figures:
            make_figure(name, figure, study, scale, [meaning], folder / name / figure, {"scenes": photographs})
    return folder


@pytest.fixture
def folder(everything, tmp_path):
    """A copy of what a page shows, for tests that change something."""
    return shutil.copytree(everything, tmp_path, dirs_exist_ok=True)


def test_the_page_shows_every_table_and_figure_in_the_order_of_its_study(studies, scale, folder):
    text = write_page(scale, studies, folder).read_text(encoding="utf-8")
    everything = tables_of(studies, scale) | figures_of(studies, scale)
    titles = [everything[f"{name}/{thing}"].title for name, study in studies.items() for thing in study.things]
    assert len(titles) == len(everything) == 18
    assert re.findall(r"<h3>(.*?)</h3>", text) == titles


def test_links_of_the_page_lead_somewhere(studies, scale, folder):
    text = write_page(scale, studies, folder).read_text(encoding="utf-8")
    links = re.findall(r'href="([^"]+)"', text)
    assert len(links) == 5 * len(tables_of(studies, scale)) + 3 * len(figures_of(studies, scale))
    assert all((folder / link).is_file() for link in links)


def test_what_a_scale_does_not_make_is_not_on_its_page(studies, make_scale, folder):
    scale = make_scale(only=["table3", "judged"])
    text = write_page(scale, studies, folder).read_text(encoding="utf-8")
    study = studies["five_sentences"]
    shown = [study.agreement_figures["judged"].title, study.tables["table3"].title]
    assert re.findall(r"<h3>(.*?)</h3>", text) == shown
    assert studies["knn_margin"].paper not in text


def test_a_scale_of_captions_alone_has_a_page(
    studies, judged_scale, published, tmp_path, write_agreement, meaning_file
):
    only = ["table1", "judged", "own_and_foreign"]
    scale = judged_scale.model_copy(update={"only": only})
    judged, study = write_agreement(studies, scale), studies["five_sentences"]
    stem = tmp_path / "five_sentences"
    make_table("five_sentences", "table1", study, scale, judged, published, stem / "table1")
    pairs = [path.with_suffix(".parquet") for path in judged]
    make_figure("five_sentences", "judged", study, scale, pairs, stem / "judged")
    meaning = meaning_file(study.meaning_figures["own_and_foreign"].phis)
    make_figure("five_sentences", "own_and_foreign", study, scale, [meaning], stem / "own_and_foreign")
    text = write_page(scale, {"five_sentences": study}, tmp_path).read_text(encoding="utf-8")
    assert len(re.findall("<h3>", text)) == 3


def test_pictures_are_inside_the_page(studies, scale, folder, tmp_path):
    Image.new("RGB", (20, 10), "red").save(tmp_path / "sheet.png")
    sheet = Picture(tmp_path / "sheet.png", "What <scenes> looks like", ("8 of 200.",))
    text = write_page(scale, studies, folder, [sheet]).read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]{0,40})', text)
    assert len(sources) == 1 + len(figures_of(studies, scale))
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "What &lt;scenes&gt; looks like" in text
    assert not re.search(r"@import|url\(|<script|<link", text)


def test_a_table_that_was_not_made_or_a_strange_picture_is_named(studies, scale, folder, tmp_path):
    with pytest.raises(InputError, match=r"picture.svg: a picture of the page must be"):
        write_page(scale, studies, folder, [Picture(tmp_path / "picture.svg", "x")])
    (folder / "knn_margin" / "table1.json").unlink()
    with pytest.raises(InputError, match=r"table1.json: there is no such file"):
        write_page(scale, studies, folder)

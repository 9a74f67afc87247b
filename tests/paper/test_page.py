from __future__ import annotations

import re

import pytest
from PIL import Image

from fivesentences.errors import InputError
from fivesentences.paper.figures import build_figure, write_figure
from fivesentences.paper.html import Picture
from fivesentences.paper.page import write_page
from fivesentences.paper.tables import build_table
from fivesentences.paper.writing import write_table


@pytest.fixture
def folder(studies, scale, frame, published, tmp_path):
    for name, study in studies.items():
        for table in study.tables:
            write_table(build_table(name, table, study, scale, frame, published), tmp_path / name / table)
        for figure in study.figures:
            write_figure(build_figure(name, figure, study, scale, frame), tmp_path / name / figure)
    return tmp_path


def test_the_page_shows_every_table_and_figure_and_its_links_lead_somewhere(studies, scale, folder):
    text = write_page(scale, studies, folder).read_text(encoding="utf-8")
    for study in studies.values():
        for thing in (*study.tables.values(), *study.figures.values()):
            assert thing.title in text
    links = re.findall(r'href="([^"]+)"', text)
    assert len(links) == 5 + 3 + 5
    assert all((folder / link).is_file() for link in links)


def test_pictures_are_inside_the_page(studies, scale, folder, tmp_path):
    Image.new("RGB", (20, 10), "red").save(tmp_path / "sheet.png")
    sheet = Picture(tmp_path / "sheet.png", "What <scenes> looks like", ("8 of 200.",))
    text = write_page(scale, studies, folder, [sheet]).read_text(encoding="utf-8")
    sources = re.findall(r'src="([^"]{0,40})', text)
    assert len(sources) == 2 and all(source.startswith("data:image/png;base64,") for source in sources)
    assert "What &lt;scenes&gt; looks like" in text
    assert not re.search(r"@import|url\(|<script|<link", text)


def test_a_table_that_was_not_made_or_a_strange_picture_is_named(studies, scale, folder, tmp_path):
    with pytest.raises(InputError, match=r"picture.svg: a picture of the page must be"):
        write_page(scale, studies, folder, [Picture(tmp_path / "picture.svg", "x")])
    (folder / "knn_margin" / "table1.json").unlink()
    with pytest.raises(InputError, match=r"table1.json: there is no such file"):
        write_page(scale, studies, folder)

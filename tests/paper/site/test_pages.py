"""The overview and the pages of the studies: what they show of the tables, figures and claims that were made."""

from __future__ import annotations

import html
import re
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.errors import InputError
from fivesentences.paper.claims.writing import line_of, read_claims, words_for
from fivesentences.paper.figures.drawing import read_texts
from fivesentences.paper.site.overview import effects_of, write_overview
from fivesentences.paper.site.pictures import (
    Picture,
    read_examples,
    read_features_sheet,
    write_examples,
    write_features_sheet,
)
from fivesentences.paper.site.shell import Site, SitePage
from fivesentences.paper.site.study import site_rows, write_study_page
from fivesentences.paper.tables.table import Table

SITE = Site("Tiny", (SitePage("", "Overview", "index.html"), SitePage("Papers", "Five", "five_sentences/index.html")))


@pytest.fixture
def folder(everything_written, tmp_path):
    """A copy of what a site shows, for tests that change something."""
    return shutil.copytree(everything_written, tmp_path, dirs_exist_ok=True)


def study_page(scale, studies, folder, name="five_sentences", claims=()):
    return write_study_page(SITE, scale, name, studies[name], folder, claims).read_text(encoding="utf-8")


def overview(scale, studies, folder, **given):
    return write_overview(SITE, scale, studies, folder, **given).read_text(encoding="utf-8")


def titles_on(text):
    return [html.unescape(title) for title in re.findall(r"<h3 id=[^>]*>(.*?)<a class=.permalink", text)]


@pytest.mark.parametrize("name", ["five_sentences", "sched_sam", "metric_agreement"])
def test_the_page_of_a_study_shows_its_tables_and_figures_in_its_order_and_its_links_lead_somewhere(
    studies, scale, folder, name
):
    text, made = study_page(scale, studies, folder, name), studies[name].made_at(scale)
    assert titles_on(text) == [exhibit.title for exhibit in made] and made
    main = text.partition("<main")[2]
    links = [link for link in re.findall(r'href="([^"#]+)"', main) if "claims" not in link]
    assert len(links) >= 4 * len(made)
    assert all((folder / name / link).is_file() for link in links)
    assert all(f'id="{one.name}"' in main for one in made)


def test_every_note_of_a_table_stands_on_the_page_and_a_shared_one_only_once(studies, scale, folder):
    text = html.unescape(study_page(scale, studies, folder))
    for one in studies["five_sentences"].made_at(scale):
        _, _, notes = read_texts(folder / "five_sentences" / f"{one.name}.json")
        for note in notes:
            assert len(re.findall(rf"<li>{re.escape(note)}\s*(?:<|$)", text)) == 1, note


def test_a_cell_holds_our_number_the_published_one_and_the_difference_where_both_may_be_compared(folder):
    tables = [Table.read(path) for path in sorted(folder.glob("five_sentences/table*.json"))]
    table, group, row = next(
        (table, group, row)
        for table in tables
        for group in table.groups
        for row in group.rows
        if row.kind == "ours" and any(cell.published for cell in row.cells)
    )
    index = next(place for place, cell in enumerate(row.cells) if cell.published)
    columns = tuple(replace(one, better="higher", decimals=1) for one in table.columns)
    table = replace(table, columns=columns)
    cell = replace(row.cells[index], value=20.26, published=18.0, difference=2.26)
    worse = replace(cell, value=15.0, difference=-3.0)
    for changed, sense, sign in ((cell, "better", "+2.3"), (worse, "worse", "\N{MINUS SIGN}3.0")):
        cells = (*row.cells[:index], changed, *row.cells[index + 1 :])
        made = replace(group, rows=(replace(row, cells=cells, same_data=True),))
        (shown,) = site_rows(table, made)
        of_row = shown["cells"][index]
        assert (of_row["published"], of_row["difference"], of_row["sense"]) == ("18.0", sign, sense)
        assert float(of_row["sort"]) == changed.value
        lower = replace(table, columns=tuple(replace(one, better="lower") for one in table.columns))
        assert next(site_rows(lower, made))["cells"][index]["sense"] == {"better": "worse", "worse": "better"}[sense]
    (plain,) = site_rows(table, replace(group, rows=(row,)))
    assert plain["cells"][index]["difference"] == plain["cells"][index]["sense"] == ""


def test_what_a_scale_does_not_make_is_not_on_its_pages(studies, make_scale, folder):
    scale, study = make_scale(only=["table3", "judged"]), studies["five_sentences"]
    assert titles_on(study_page(scale, studies, folder)) == [study.exhibit(name).title for name in ("table3", "judged")]
    assert studies["knn_margin"].paper not in overview(scale, {"five_sentences": study}, folder)


def test_published_values_are_explained_only_where_there_are_some(studies, make_scale, folder):
    explained = {
        name: "stands the published one" in study_page(make_scale(only=[name]), studies, folder)
        for name in ("table3", "phi_histogram")
    }
    assert explained == {"table3": True, "phi_histogram": False}


def test_a_scale_of_captions_alone_has_pages(studies, make_up, judged_by, tmp_path):
    scale = judged_by("cxc", only=["judged", "phi_histogram", "agreement"])
    made_up = make_up(scale)
    for name in made_up.plan.exhibits:
        made_up.write(name, tmp_path / name)
    shown = [one for name in ("five_sentences",) for one in titles_on(study_page(scale, studies, tmp_path, name))]
    assert len(shown) >= 2
    text = overview(scale, {"five_sentences": studies["five_sentences"]}, tmp_path)
    assert "Nothing is trained at this scale." in text and "No paper states anything" in text


def test_the_overview_says_what_was_found_in_numbers_of_the_claims(studies, scale, site_folder):
    if not (site_folder / "claims" / "claims.json").is_file() or "tiny" not in site_folder.name:
        pytest.skip("a built site is tested")
    claims = read_claims(site_folder / "claims" / "claims.json")
    text = html.unescape((site_folder / "index.html").read_text(encoding="utf-8"))
    for verdict, count in claims["counts"].items():
        assert not count or f"{count} {words_for(verdict, count)}" in text
    main = [claim for claim in claims["claims"] if claim.get("main")]
    tested = [claim for claim in main if claim["cells"]]
    assert len(tested) == text.count('<li><a href="claims/claims.html#') >= 5
    named = text.partition("No runs of this scale test:")[2].partition("</li>")[0]
    for claim in main:
        assert (f'claims.html#{line_of(claim)["name"]}"' in named) == (claim not in tested), claim["name"]
    recall = next(claim for claim in main if claim["name"] == "sam_recall_10")
    assert recall["verdict"] == "holds"
    values = [cell["effect"]["value"] for cell in recall["cells"]]
    assert f"Here: {min(values):+.1f} to {max(values):+.1f} in {len(values)} settings" in text
    drawn = effects_of(claims["claims"])
    assert drawn is not None and len(drawn["lines"]) >= 2
    assert all(0 <= line["start"] <= line["at"] <= line["end"] <= 100 for line in drawn["lines"])


def test_pictures_are_inside_the_page(everything, studies, scale, folder, tmp_path):
    Image.new("RGB", (20, 10), "red").save(tmp_path / "sheet.png")
    shown = Picture(tmp_path / "sheet.png", "What <scenes> looks like", "8 of 200.", name="sheet")
    text = overview(scale, {}, folder, pictures=[shown])
    sources = re.findall(r'src="([^"]{0,40})', text)
    assert len(sources) == 1 and sources[0].startswith("data:image/png;base64,")
    assert "What &lt;scenes&gt; looks like" in text and "8 of 200." in text
    figures = [name for name in everything.plan.figures if name.startswith("five_sentences/")]
    sources = re.findall(r'src="([^"]{0,40})', study_page(scale, studies, folder))
    assert len(sources) == len(figures) and all(one.startswith("data:image/png;base64,") for one in sources)


def test_a_page_asks_for_nothing_outside(studies, scale, folder):
    assert not re.search(r"@import|url\(|<link|<script [^>]*src", study_page(scale, studies, folder))


def test_a_table_that_was_not_made_or_a_strange_picture_is_named(studies, scale, folder, tmp_path):
    with pytest.raises(InputError, match=r"picture.svg: a picture of the page must be"):
        overview(scale, {}, folder, pictures=[Picture(tmp_path / "picture.svg", "x", "")])
    (folder / "knn_margin" / "table1.json").unlink()
    with pytest.raises(InputError, match=r"table1.json: there is no such file"):
        study_page(scale, studies, folder, "knn_margin")


def test_examples_are_a_sheet_of_photographs_spread_over_the_images(everything, tmp_path):
    photographs = everything.contexts["five_sentences/figure1"].photographs["scenes"]
    write_examples(everything.corpus, photographs, tmp_path / "scenes.json")
    shown = read_examples(tmp_path / "scenes.json")
    assert shown.caption == "8 of the 12 test images of scenes, each with its captions."
    with Image.open(shown.path) as image:
        assert image.width >= 1200 and len(image.getcolors(maxcolors=1 << 20)) > 50


def test_features_are_shown_by_images_that_they_put_beside_each_other(everything, tmp_path):
    photographs, images = everything.contexts["five_sentences/figure1"].photographs["scenes"], everything.corpus.images
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(len(images), 8))
    vectors[5] = vectors[0] + 0.01  # as near as can be
    other = pd.DataFrame({"image_id": ["elsewhere"], "filename": ["elsewhere.png"]})  # of another split
    ids = pd.concat([images[["image_id", "filename"]], other], ignore_index=True)
    np.save(tmp_path / "net-global.npy", np.concatenate([vectors, vectors[:1]]).astype(np.float32))
    ids.to_parquet(tmp_path / "net-global.images.parquet")
    write_features_sheet(everything.corpus, photographs, tmp_path / "net-global.npy", tmp_path / "shown.json")
    shown = read_features_sheet(tmp_path / "shown.json")
    assert shown.title == "What net-global holds near each other"
    assert shown.caption == "4 of the 12 test images of scenes, each beside its nearest others."
    data = pd.read_csv(tmp_path / "shown.csv")
    of_first = data[data["query"] == images["image_id"].iloc[0]]
    assert of_first["image_id"].iloc[1] == images["image_id"].iloc[5]
    assert "elsewhere" not in set(data["image_id"])
    with Image.open(shown.path) as image:
        assert len(image.getcolors(maxcolors=1 << 20)) > 50


def test_features_of_a_detector_are_shown_by_their_boxes(everything, tmp_path):
    photographs, images = everything.contexts["five_sentences/figure1"].photographs["scenes"], everything.corpus.images
    rng = np.random.default_rng(0)
    np.save(tmp_path / "net-regions2.npy", rng.random((len(images), 2, 4), dtype=np.float32))
    images[["image_id", "filename"]].to_parquet(tmp_path / "net-regions2.images.parquet")
    boxes = {"x1": 1.0, "y1": 2.0, "x2": [20.0, 40.0] * len(images), "y2": 30.0, "score": [0.9, 0.4] * len(images)}
    ids = {"image_id": images["image_id"].repeat(2).to_numpy(), "region": [0, 1] * len(images)}
    table = pd.DataFrame(ids | boxes).astype(dict.fromkeys(boxes, np.float32))
    table.drop(columns="region").to_parquet(tmp_path / "net-regions2.regions.parquet")
    write_features_sheet(everything.corpus, photographs, tmp_path / "net-regions2.npy", tmp_path / "shown.json")
    assert read_features_sheet(tmp_path / "shown.json").title == "What net-regions2 looks at"
    assert len(pd.read_csv(tmp_path / "shown.csv")) == 8

from __future__ import annotations

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.errors import InputError
from fivesentences.paper.site.examples import read_examples, write_examples
from fivesentences.paper.site.features import read_features_sheet, write_features_sheet
from fivesentences.paper.site.page import Picture, write_page
from fivesentences.paper.site.shell import Site, SitePage

SITE = Site("Tiny", (SitePage("", "Overview", "index.html"),))


@pytest.fixture
def folder(everything_written, tmp_path):
    """A copy of what a page shows, for tests that change something."""
    return shutil.copytree(everything_written, tmp_path, dirs_exist_ok=True)


def page_of(scale, studies, folder, examples=()):
    return write_page(SITE, scale, studies, folder, examples).read_text(encoding="utf-8")


def titles_on(text):
    return re.findall(r"<h3 id=[^>]*>(.*?)</h3>", text)


def test_the_page_shows_every_table_and_figure_in_the_order_of_its_study_and_its_links_lead_somewhere(
    everything, studies, scale, folder
):
    text, plan = page_of(scale, studies, folder), everything.plan
    titles = [exhibit.title for study in studies.values() for exhibit in study.exhibits]
    assert len(titles) == len(plan.exhibits) and titles_on(text) == titles
    links = re.findall(r'href="([^"#]+)"', text.partition("<main")[2])
    assert len(links) == 5 * len(plan.tables) + 3 * len(plan.figures)
    assert all((folder / link).is_file() for link in links)


def test_the_page_leads_to_the_claims_where_there_are_some(studies, scale, folder):
    text = write_page(SITE, scale, studies, folder, claims="81 claims: 5 hold").read_text(encoding="utf-8")
    assert '<a href="claims/claims.html">81 claims: 5 hold</a>' in text
    assert "claims/claims.html" not in page_of(scale, studies, folder)


def test_what_a_scale_does_not_make_is_not_on_its_page(studies, make_scale, folder):
    text, study = page_of(make_scale(only=["table3", "judged"]), studies, folder), studies["five_sentences"]
    assert titles_on(text) == [study.exhibit(name).title for name in ("table3", "judged")]
    assert studies["knn_margin"].paper not in text


def test_published_values_are_explained_only_where_there_are_some(studies, make_scale, folder):
    explained = {
        name: "stands the published one" in page_of(make_scale(only=[name]), studies, folder)
        for name in ("table3", "phi_histogram")
    }
    assert explained == {"table3": True, "phi_histogram": False}


def test_a_scale_of_captions_alone_has_a_page(studies, make_up, judged_by, tmp_path):
    scale = judged_by("cxc", only=["judged", "phi_histogram", "agreement"])
    made_up = make_up(scale)
    for name in made_up.plan.exhibits:
        made_up.write(name, tmp_path / name)
    assert len(titles_on(page_of(scale, studies, tmp_path))) == len(made_up.plan.exhibits) >= 3


def test_pictures_are_inside_the_page(everything, studies, scale, folder, tmp_path):
    Image.new("RGB", (20, 10), "red").save(tmp_path / "sheet.png")
    text = page_of(scale, studies, folder, [Picture(tmp_path / "sheet.png", "What <scenes> looks like", "8 of 200.")])
    sources = re.findall(r'src="([^"]{0,40})', text)
    assert len(sources) == 1 + len(everything.plan.figures)
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "What &lt;scenes&gt; looks like" in text and "8 of 200." in text
    assert not re.search(r"@import|url\(|<link|<script [^>]*src", text)


def test_a_table_that_was_not_made_or_a_strange_picture_is_named(studies, scale, folder, tmp_path):
    with pytest.raises(InputError, match=r"picture.svg: a picture of the page must be"):
        page_of(scale, studies, folder, [Picture(tmp_path / "picture.svg", "x", "")])
    (folder / "knn_margin" / "table1.json").unlink()
    with pytest.raises(InputError, match=r"table1.json: there is no such file"):
        page_of(scale, studies, folder)


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

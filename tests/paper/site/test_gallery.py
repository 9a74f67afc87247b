"""The gallery: what stands on the page and beside it, from queries that the evaluation chose."""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from fivesentences.corpus import COLUMNS, Corpus, Photographs
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.reproduction.paper.site.gallery import write_gallery, write_thumbnails
from fivesentences.reproduction.paper.site.shell import Site, SitePage
from fivesentences.reproduction.study.expand import expand_rows
from fivesentences.storage import write_json

from .conftest import disagreements_of

SITE = Site("Tiny", (SitePage("", "Overview", "index.html"), SitePage("", "Gallery", "gallery/index.html")))
HOSTILE = '</script><script>alert("x")</script> a "dog" & <b onmouseover=\'y\'>'
K = 3


@pytest.fixture(scope="module")
def corpus():
    rows = [
        (f"i{image}", f"i{image}.png", f"{image}.{number}", f"thing {image} seen {number} times", "test", None)
        for image in range(16)
        for number in range(3)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.loc[::3, "caption"] = [f"{HOSTILE} {image}" for image in range(16)]
    return Corpus("scenes", table)


@pytest.fixture(scope="module")
def photographs(tmp_path_factory, corpus):
    folder = tmp_path_factory.mktemp("photographs")
    for place, filename in enumerate(corpus.images["filename"]):
        Image.new("RGB", (300 + 10 * place, 240), (15 * place, 80, 120)).save(folder / filename)
    return Photographs(folder)


@pytest.fixture(scope="module")
def found(studies, make_scale, corpus):
    study = studies["five_sentences"]
    runs = [row.runs[0].name for row in expand_rows(study.gallery.rows, study, make_scale()) if row.runs]
    assert len(runs) > 1
    return disagreements_of(corpus, runs, K)[0]


@pytest.fixture(scope="module")
def folder(found, studies, make_scale, photographs, tmp_path_factory):
    """The folder of the gallery, written."""
    out = tmp_path_factory.mktemp("gallery")
    write_json(out / "found.json", found)
    return write_gallery(
        SITE, make_scale(), studies["five_sentences"], out / "found.json", photographs, out / "site"
    ).parent


@pytest.fixture(scope="module")
def articles(folder):
    """The markup of each query on the page, by its id."""
    text = (folder / "index.html").read_text(encoding="utf-8")
    return dict(re.findall(r'<article[^>]* id="([^"]+)"(.*?)</article>', text, re.DOTALL))


def words_of(markup: str) -> str:
    return " ".join(unescape(re.sub("<[^>]*>", " ", markup)).split())


def of_query(articles, query):
    return articles[f"{query['direction']}-{query['query']}"]


def test_marks_phi_ranks_and_ncs_on_the_page_are_those_that_were_found(articles, found):
    assert len(articles) == len(found["queries"])
    for query in found["queries"]:
        article = of_query(articles, query)
        sections = re.findall(r'<section class="answer.*?</section>', article, re.DOTALL)
        for section, answer in zip(sections, query["answers"], strict=True):
            words = words_of(section)
            assert f"R@{K}: {'found' if answer['found'] else 'missed'}" in words
            assert f"first own at rank {answer['rank']}" in words and f"NCS@{K} {answer['ncs']:.1f}" in words
            items = re.findall(r"<li class=\"item.*?</li>", section, re.DOTALL)
            for item, expected in zip(items, answer["items"], strict=True):
                own = "own caption" if query["direction"] == "i2t" else "own image"  # not by colour alone
                assert (own in words_of(item)) == expected["own"]
                phi = expected["phi"]
                assert f"CIDEr {phi['cider']:.2f} SPICE {phi['spice']:.2f}" in words_of(item)


def test_a_full_bar_is_the_best_item_of_another_image(articles, found):
    for query in found["queries"]:
        best = query["best_other"]
        values = [(name, v) for a in query["answers"] for item in a["items"] for name, v in item["phi"].items()]
        wanted = [str(round(100 * min(1, value / best[name]))) for name, value in values]
        assert re.findall(r'<span class="phi">.*?--part: (\d+)%', of_query(articles, query)) == wanted


def test_hostile_captions_stay_text(articles, found, folder):
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert 'alert("x")' not in text and "<b onmouseover" not in text
    query = next(one for one in found["queries"] if one["captions"][0].startswith(HOSTILE))
    article = of_query(articles, query)
    assert unescape(re.findall(r'<img[^>]* alt="([^"]*)"', article)[0]) == query["captions"][0]
    assert escape(query["captions"][0], quote=False).partition('"')[0] in article


def test_the_reason_of_a_miss_names_the_model_that_missed(articles, found, folder):
    labels, looked_at = read_json(folder / "gallery.json")["labels"], 0
    for query in found["queries"]:
        for one in query["chosen"]:
            name = found["directions"][query["direction"]]["criteria"][one["criterion"]]["criterion"]
            if name not in ("missed_but_close", "found_but_far"):
                continue
            word = "missed" if name == "missed_but_close" else "found"
            models = [
                label
                for label, answer in zip(labels, query["answers"], strict=True)
                if answer["ncs"] == one["value"] and bool(answer["found"]) == (word == "found")
            ]
            assert f"{word}, NCS {one['value']:.1f} ({models[0]})" in words_of(of_query(articles, query))
            looked_at += 1
    assert looked_at == 8  # two criteria, two directions, two queries


def test_thumbnails_of_earlier_queries_are_removed_and_names_never_leave_the_folder(tmp_path):
    (tmp_path / "in").mkdir()
    names = ["a b & 'c'.png", "ä%2e.png", "x.png"]
    for name in names:
        Image.new("RGB", (40, 500)).save(tmp_path / "in" / name)
    photographs, folder = Photographs(tmp_path / "in"), tmp_path / "thumbnails"
    made = write_thumbnails(names, photographs, folder)
    assert [(one["width"], one["height"]) for one in made.values()] == [(16, 200)] * 3
    made = write_thumbnails(names[:1], photographs, folder)
    assert [path.name for path in folder.iterdir()] == ["0001.jpg"] == [Path(made[names[0]]["path"]).name]


def test_a_run_of_another_gallery_and_a_study_without_one_are_refused(
    found, studies, make_scale, photographs, tmp_path
):
    write_json(tmp_path / "f.json", found | {"models": ["another/run", *found["models"][1:]]})
    for study, said in (("five_sentences", "'another/run' is in no row"), ("knn_margin", "has no gallery")):
        with pytest.raises(InputError, match=said):
            write_gallery(SITE, make_scale(), studies[study], tmp_path / "f.json", photographs, tmp_path / "site")

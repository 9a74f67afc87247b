"""The gallery: what stands on the page and beside it, from queries that the evaluation chose."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from fivesentences.config import Scale
from fivesentences.corpus import COLUMNS, Corpus, Photographs
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.paper.manifest import drawn_of, graph_of_site
from fivesentences.paper.site.gallery import LONGEST_SIDE, write_gallery, write_thumbnails
from fivesentences.paper.site.shell import Site, SitePage
from fivesentences.plan.pages import GALLERY
from fivesentences.plan.places import Places
from fivesentences.plan.rows import expand_rows
from fivesentences.storage import write_json
from fivesentences.study.study import Study

from .conftest import disagreements_of

SITE = Site("Tiny", (SitePage("", "Overview", "index.html"), SitePage("", "Gallery", "gallery/index.html")))
HOSTILE = '</script><script>alert("x")</script> a "dog" & <b onmouseover=\'y\'>'
K = 3


class Node:
    """An element of a page."""

    def __init__(self, tag: str, attributes: dict[str, str | None]):
        self.tag, self.attributes, self.children, self.text = tag, attributes, [], ""  # type: ignore[var-annotated]

    def find(self, tag: str = "", **wanted: str) -> Iterator[Node]:
        for child in self.children:
            classes = (child.attributes.get("class") or "").split()
            has = all(
                (child.attributes.get(key.replace("_", "-")) == value) for key, value in wanted.items() if key != "of"
            )
            if (not tag or child.tag == tag) and has and ("of" not in wanted or wanted["of"] in classes):
                yield child
            yield from child.find(tag, **wanted)

    @property
    def words(self) -> str:
        return " ".join((self.text + "".join(f" {child.words}" for child in self.children)).split())


class Page(HTMLParser):
    """The elements of a page as a browser would find them."""

    VOID = frozenset({"img", "input", "meta", "br", "link"})

    def __init__(self, text: str):
        super().__init__()
        self.root = Node("", {})
        self._open = [self.root]
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, dict(attrs))
        self._open[-1].children.append(node)
        if tag not in self.VOID:
            self._open.append(node)

    def handle_endtag(self, tag: str) -> None:
        while len(self._open) > 1 and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        self._open[-1].text += data


@pytest.fixture
def corpus() -> Corpus:
    rows = [
        (f"i{image}", f"i{image}.png", f"{image}.{number}", f"thing {image} seen {number} times", "test", None)
        for image in range(16)
        for number in range(3)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    table.loc[::3, "caption"] = [f"{HOSTILE} {image}" for image in range(16)]
    return Corpus("scenes", table)


@pytest.fixture
def study(studies: dict[str, Study]) -> Study:
    return studies["five_sentences"]


@pytest.fixture
def scale(make_scale) -> Scale:
    return make_scale()


@pytest.fixture
def made_up(corpus: Corpus, study: Study, scale: Scale) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    assert study.gallery is not None
    runs = [row.runs[0].name for row in expand_rows(study.gallery.rows, study, scale) if row.runs]
    assert len(runs) > 1
    return disagreements_of(corpus, runs, K)


@pytest.fixture
def found(made_up) -> dict[str, Any]:
    return made_up[0]


@pytest.fixture
def phis(made_up) -> dict[str, np.ndarray]:
    return made_up[1]


@pytest.fixture
def photographs(tmp_path: Path, corpus: Corpus) -> Photographs:
    folder = tmp_path / "photographs"
    folder.mkdir()
    for place, filename in enumerate(corpus.images["filename"]):
        Image.new("RGB", (300 + 10 * place, 240), (15 * place, 80, 120)).save(folder / filename)
    return Photographs(folder)


@pytest.fixture
def folder(found: dict[str, Any], study: Study, scale: Scale, photographs: Photographs, tmp_path: Path) -> Path:
    """The folder of the gallery, written."""
    write_json(tmp_path / "found.json", found)
    page = write_gallery(SITE, scale, study, tmp_path / "found.json", photographs, tmp_path / "site")
    return page.parent


@pytest.fixture
def page(folder: Path) -> Node:
    return Page((folder / "index.html").read_text(encoding="utf-8")).root


def test_marks_phi_ranks_and_ncs_on_the_page_are_those_that_were_found(
    page: Node, found: dict[str, Any], phis: dict[str, np.ndarray], corpus: Corpus
) -> None:
    for query in found["queries"]:
        (article,) = page.find("article", id=f"{query['direction']}-{query['query']}")
        sections = list(article.find("section", of="answer"))
        assert len(sections) == len(found["models"])
        for section, answer in zip(sections, query["answers"], strict=True):
            numbers = next(section.find("p", of="numbers")).words
            assert f"R@{K}: {'found' if answer['found'] else 'missed'}" in numbers
            assert f"first own at rank {answer['rank']}" in numbers
            assert f"NCS@{K} {answer['ncs']:.1f}" in numbers
            shown = list(section.find("li", of="item"))
            assert len(shown) == K
            for item, expected in zip(shown, answer["items"], strict=True):
                assert ("own" in (item.attributes["class"] or "").split()) == expected["own"]
                # Not by colour alone.
                assert (("own caption" if query["direction"] == "i2t" else "own image") in item.words) == expected[
                    "own"
                ]
                bars = [bar.words for bar in item.find("span", of="phi")]
                assert bars == [f"CIDEr {expected['phi']['cider']:.2f}", f"SPICE {expected['phi']['spice']:.2f}"]
                if query["direction"] == "t2i":
                    image = list(corpus.images["image_id"]).index(expected["image_id"])
                    assert expected["phi"]["cider"] == phis["cider"][query["query"], image]


def test_a_full_bar_is_the_best_item_of_another_image(page: Node, found: dict[str, Any]) -> None:
    for query in found["queries"]:
        (article,) = page.find("article", id=f"{query['direction']}-{query['query']}")
        bars = [node.attributes["style"] for span in article.find("span", of="phi") for node in span.find("i")]
        best = query["best_other"]
        values = [(name, v) for a in query["answers"] for item in a["items"] for name, v in item["phi"].items()]
        assert bars == [f"--part: {round(100 * min(1, value / best[name]))}%" for name, value in values]


def test_hostile_captions_stay_text(page: Node, found: dict[str, Any], folder: Path) -> None:
    assert 'alert("x")' not in (folder / "index.html").read_text(encoding="utf-8")
    assert not [node for node in page.find("script") if "alert(" in node.text]
    assert not list(page.find("b", onmouseover="y"))
    query = next(one for one in found["queries"] if one["captions"][0].startswith(HOSTILE))
    (article,) = page.find("article", id=f"{query['direction']}-{query['query']}")
    picture = next(article.find("img"))
    assert picture.attributes["alt"] == query["captions"][0]
    assert " ".join(query["captions"][0].split()) in article.words


def test_every_picture_is_beside_the_page_lazy_and_described_by_its_first_caption(
    page: Node, folder: Path, corpus: Corpus, found: dict[str, Any]
) -> None:
    first = {corpus.captions[int(np.argmax(corpus.image_of_caption == image))] for image in range(corpus.n_images)}
    asked = {query["captions"][0] for query in found["queries"]}
    pictures = list(page.find("img"))
    assert pictures and {image.attributes["alt"] for image in pictures} <= first | asked
    for image in pictures:
        path = folder / str(image.attributes["src"])
        assert path.is_relative_to(folder) and image.attributes["loading"] == "lazy"
        with Image.open(path) as opened:
            assert opened.format == "JPEG" and max(opened.size) == LONGEST_SIDE
            assert opened.size == (int(str(image.attributes["width"])), int(str(image.attributes["height"])))
    assert {path.name for path in (folder / "thumbnails").iterdir()} == {
        Path(str(image.attributes["src"])).name for image in pictures
    }


def test_reasons_are_worded_and_can_be_filtered_by(page: Node, found: dict[str, Any], folder: Path) -> None:
    (chooser,) = page.find("select", x_model="criterion")
    keys = {str(option.attributes["value"]) for option in chooser.find("option")} - {""}
    written = read_json(folder / "gallery.json")
    assert (
        keys == {one["key"] for one in written["criteria"]["i2t"]} == {one["key"] for one in written["criteria"]["t2i"]}
    )
    articles = list(page.find("article", of="query"))
    reasons = [str(article.attributes["data-reasons"]).split() for article in articles]
    assert {key for some in reasons for key in some} <= keys
    assert sum(len(some) for some in reasons) == sum(len(query["chosen"]) for query in found["queries"])
    assert all("{" not in article.words for article in articles)
    explained = " ".join(node.words for node in page.find("dl", of="criteria"))
    for criterion in [*written["criteria"]["i2t"], *written["criteria"]["t2i"]]:
        assert " ".join(criterion["says"].split()) in explained


def test_the_reason_of_a_miss_names_the_model_that_missed(page: Node, found: dict[str, Any]) -> None:
    labels = [node.words for node in next(page.find("fieldset")).find("label")]
    looked_at = 0
    for query in found["queries"]:
        criteria = found["directions"][query["direction"]]["criteria"]
        for one in query["chosen"]:
            name = criteria[one["criterion"]]["criterion"]
            if name not in ("missed_but_close", "found_but_far"):
                continue
            (article,) = page.find("article", id=f"{query['direction']}-{query['query']}")
            models = [
                label
                for label, answer in zip(labels, query["answers"], strict=True)
                if answer["ncs"] == one["value"] and bool(answer["found"]) == (name == "found_but_far")
            ]
            word = "missed" if name == "missed_but_close" else "found"
            assert f"{word}, NCS {one['value']:.1f} ({models[0]})" in article.words
            looked_at += 1
    assert looked_at == 8  # two criteria, two directions, two queries


def test_the_csv_has_a_line_for_every_result(folder: Path, found: dict[str, Any]) -> None:
    table = pd.read_csv(folder / "gallery.csv")
    items = [item for query in found["queries"] for answer in query["answers"] for item in answer["items"]]
    assert table["result_caption"].tolist() == [item["caption"] for item in items]
    assert table["own"].tolist() == [item["own"] for item in items]
    assert table["cider"].to_numpy() == pytest.approx([item["phi"]["cider"] for item in items])
    assert set(table["run"]) == set(found["models"])


def test_thumbnails_of_earlier_queries_are_removed_and_names_never_leave_the_folder(tmp_path: Path) -> None:
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
    found: dict[str, Any], study: Study, studies, scale: Scale, photographs: Photographs, tmp_path: Path
) -> None:
    write_json(tmp_path / "f.json", found | {"models": ["another/run", *found["models"][1:]]})
    with pytest.raises(InputError, match=r"f\.json: the run 'another/run' is in no row of the gallery"):
        write_gallery(SITE, scale, study, tmp_path / "f.json", photographs, tmp_path / "site")
    with pytest.raises(InputError, match="has no gallery; add one to its file"):
        write_gallery(SITE, scale, studies["knn_margin"], tmp_path / "f.json", photographs, tmp_path / "site")


def test_a_reader_without_the_photographs_keeps_the_gallery_that_was_fetched(
    scale: Scale, planned, tmp_path: Path
) -> None:
    plan = planned(scale)
    plan.places = Places(tmp_path / "results", tmp_path / "data")
    graph = graph_of_site(plan, scale.scale)
    (job,) = [job for job in graph.jobs if job.rule == "show_gallery"]
    for path in (path for one in graph.jobs for path in (*one.inputs, *one.outputs)):
        if path.is_relative_to(tmp_path) and path not in job.outputs:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
    (photographs,) = [path for path in job.inputs if path.name == "photographs.zip"]
    photographs.unlink()
    page = plan.places.page(scale.scale, GALLERY)
    assert page in drawn_of(graph).missing
    page.parent.mkdir(parents=True, exist_ok=True)
    for path in job.outputs:
        path.mkdir() if path.name == "thumbnails" else path.touch()
    assert page in drawn_of(graph).kept and page not in drawn_of(graph).targets
    photographs.touch()
    drawn = drawn_of(graph)
    assert page in drawn.targets and page.with_name("thumbnails") in drawn.files

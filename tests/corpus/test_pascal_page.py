"""The page of Pascal Sentences becomes a JSON and an archive, or one sentence says what has changed."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest
from PIL import Image

from fivesentences.config.datasets import CatalogueEntry
from fivesentences.corpus import Photographs, download, fetch
from fivesentences.corpus.pascal_page import read_page
from fivesentences.corpus.pascal_sentences import load_pascal_sentences
from fivesentences.errors import InputError

ROWS = {
    "aeroplane/2008_000716.jpg": ["One jet lands at an airport.", "Two jets &amp; a  truck.\n", " Two planes "],
    "bird/2008_000008.jpg": ["A bird."],
}


def page_of(rows: dict[str, list[str]]) -> str:
    """As the original: a table of photographs, and within each row a table of sentences."""
    cells = "".join(
        f'<tr>\n<td><img src="{name}"></td>\n<td><table>\n'
        + "".join(f"<tr><td> {text} </td></tr>\n" for text in sentences)
        + "</table></td></tr>\n"
        for name, sentences in rows.items()
    )
    return (
        f"<html><head><title>Pascal Sentences</title></head><body><h1>Data</h1><table border=1>{cells}</table></body>"
    )


def jpeg(colour: str) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (8, 6), colour).save(out, "JPEG")
    return out.getvalue()


@pytest.fixture
def pascal(host, monkeypatch):
    """A host of the page and its photographs, and the entry of the catalogue."""
    monkeypatch.setattr(download.time, "sleep", lambda _: None)
    host.files["/pascal/"] = page_of(ROWS).encode()
    host.files |= {f"/pascal/{name}": jpeg("red") for name in ROWS}
    about = {"version": "1", "sha256": None, "size": None, "licence": "none"}
    files = {
        "page": {"path": "p/page.html", "url": f"{host.url}/pascal/"} | about,
        "captions": {"path": "p/captions.json", "url": None, "made_of": "page"} | about,
        "photographs": {"path": "p/photographs.zip", "url": None, "made_of": "page"} | about,
    }
    host.entry = CatalogueEntry.model_validate({"title": "P", "files": files})
    return host


def test_captions_and_photographs_are_collected_from_the_page(pascal, tmp_path):
    captions, photographs = (fetch(pascal.entry, "p", name, tmp_path, None) for name in ("captions", "photographs"))
    corpus = load_pascal_sentences(captions)
    assert list(corpus.captions) == [
        "One jet lands at an airport.", "Two jets & a truck.", "Two planes", "A bird.",
    ]  # fmt: skip
    assert list(corpus.images["category"]) == ["aeroplane", "bird"]
    assert all(Photographs(photographs).decoded(name).size == (8, 6) for name in corpus.images["filename"])
    assert [place for place, _ in pascal.requests].count("/pascal/") == 1
    assert "its page" in photographs.with_name("photographs.zip.sha256").read_text()
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "captions.json", "captions.json.sha256", "page.html", "page.html.sha256", "photographs.zip",
        "photographs.zip.sha256",
    ]  # fmt: skip


def test_photographs_that_are_missing_are_said_and_the_next_call_fetches_only_these(pascal, tmp_path):
    name = "bird/2008_000008.jpg"
    there = pascal.files.pop(f"/pascal/{name}")
    with pytest.raises(InputError, match=f"1 of the page's 2 photographs are missing, such as {name} .*404") as error:
        fetch(pascal.entry, "p", "photographs", tmp_path, None)
    assert error.value.where == tmp_path / "p/photographs.zip" and "run again" in error.value.cure
    pascal.files[f"/pascal/{name}"] = b"<html>log in</html>"
    with pytest.raises(InputError, match="this is a web page"):
        fetch(pascal.entry, "p", "photographs", tmp_path, None)
    pascal.files[f"/pascal/{name}"] = there
    pascal.requests.clear()
    with zipfile.ZipFile(fetch(pascal.entry, "p", "photographs", tmp_path, None)) as archive:
        assert archive.namelist() == [f"p/{one}" for one in ROWS]
    assert [place for place, _ in pascal.requests] == [f"/pascal/{name}"]


def test_the_address_that_has_the_photographs_is_asked_first_from_then_on(pascal, tmp_path):
    many = {f"cat/{number}.jpg": ["A cat."] for number in range(4)}
    pascal.files = {"/copy/id_/page/": page_of(many).encode()} | {
        f"/copy/id_/page/{name}": jpeg("blue") for name in many
    }
    page = pascal.entry.files["page"]
    pascal.entry.files["page"] = page.model_copy(
        update={"url": f"{pascal.url}/page/", "more_urls": [f"{pascal.url}/copy/id_/page/"]}
    )
    fetch(pascal.entry, "p", "photographs", tmp_path, None)
    asked = [place for place, _ in pascal.requests if place.endswith(".jpg")]
    assert asked == ["/page/cat/0.jpg", *(f"/copy/id_/page/{name}" for name in many)]


def test_a_host_that_is_gone_is_not_asked_a_thousand_times(pascal, tmp_path):
    pascal.files["/pascal/"] = page_of({f"cat/{number}.jpg": ["A cat."] for number in range(50)}).encode()
    with pytest.raises(InputError, match="50 of the page's 50 photographs are missing"):
        fetch(pascal.entry, "p", "photographs", tmp_path, None)
    assert len(pascal.requests) < 10


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_page_is_read_in_utf_8_or_as_pages_were_written_before(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "page.html"
    path.write_bytes(page_of({"cat/a.jpg": ["A caf\u00e9 \u2013 with a cat."]}).encode(encoding))
    assert read_page(path)["cat/a.jpg"]["captions"] == ["A caf\u00e9 \u2013 with a cat."]


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<html><body>We have moved.</body></html>", "has no table of photographs"),
        (page_of({"bird/a.jpg": []}), "'bird/a.jpg', has 0 sentences"),
        (page_of({"bird/a.jpg": ["x"] * 11}), "'bird/a.jpg', has 11 sentences"),
        (page_of({"logo.png": ["x"]}), "is not <category>/<name>.jpg"),
        (page_of({"../../a.jpg": ["x"]}), "is not <category>/<name>.jpg"),
        (page_of({"%2e%2e/a.jpg": ["x"]}), "is not <category>/<name>.jpg"),
        (page_of({"https://evil.org/a.jpg": ["x"]}), "is not <category>/<name>.jpg"),
        (page_of({"bird/a.jpg": ["x"], "cat/a.jpg": ["y"]}), "'cat/a.jpg', has the name of one before"),
    ],
)
def test_a_page_whose_table_changed_is_one_sentence_and_nothing_is_made(tmp_path: Path, page, words) -> None:
    path = tmp_path / "page.html"
    path.write_text(page)
    with pytest.raises(InputError) as error:
        read_page(path)
    assert error.value.where == path and words in error.value.what and error.value.cure and "\n" not in str(error.value)


@pytest.mark.data
def test_a_page_of_the_real_captions_gives_them_back(mirror, tmp_path: Path) -> None:
    real = json.loads((mirror / "pascal_sentences/pascal_sentences.json").read_text())
    (tmp_path / "page.html").write_text(
        page_of(
            {
                f"{about['category']}/{name}": [
                    text.replace("&", "&amp;").replace("<", "&lt;") for text in about["captions"]
                ]
                for name, about in real.items()
            }
        )
    )
    found = {name.partition("/")[2]: about for name, about in read_page(tmp_path / "page.html").items()}
    assert list(found) == list(real)
    for name, about in found.items():
        assert about["captions"] == [" ".join(text.split()) for text in real[name]["captions"] if text.strip()]

"""`fivesentences look` of captions that systems made: the numbers of `captioning`, and who differs where."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from commands.test_look_command import look, read
from drawn_photographs import jpeg
from fivesentences.errors import InputError

WORDS = "a dog runs over green grass while two men play near some red houses by the sea"
N = 30


@pytest.fixture
def captioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Captions of 30 images by two systems, their references and photographs; image 7 is said badly by b alone."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    references = [[" ".join(rng.choice(WORDS.split(), 6, replace=False)) for _ in range(5)] for _ in range(N)]
    Path("refs.txt").write_text("".join(f"{text}\n" for some in references for text in some))
    of_a = [some[0] + " here" for some in references]
    of_b = [*of_a[:7], "<script>alert(1)</script> nothing", *of_a[8:]]
    Path("a.txt").write_text("\n".join(of_a) + "\n")
    Path("b.txt").write_text("\n".join(of_b) + "\n")
    ids = [f"{100 + number}" for number in range(N)]
    for name, texts in (("a", of_a), ("b", of_b)):
        rows = [{"image_id": int(image), "caption": text} for image, text in zip(ids, texts, strict=True)]
        Path(f"{name}.json").write_text(json.dumps(rows[::-1]))
    annotations = [
        {"image_id": int(image), "id": 5 * at + one, "caption": text}
        for at, (image, some) in enumerate(zip(ids, references, strict=True))
        for one, text in enumerate(some)
    ]
    Path("refs.json").write_text(json.dumps({"images": [{"id": int(one)} for one in ids], "annotations": annotations}))
    with zipfile.ZipFile("photos.zip", "w") as archive:
        for number, image in enumerate(ids):
            archive.writestr(f"COCO_val2014_{int(image):012d}.jpg", jpeg(number % 12))
    return tmp_path


def test_numbers_are_those_of_captioning(captioned, run, capsys):
    look("a.txt", "b.txt", "refs.txt", "--metric", "cider,rouge_l")
    data = read()
    said = run("captioning", "a.txt", "b.txt", "refs.txt", "--metric", "cider,rouge_l", "--json", "-")
    expected = json.loads(said.out)
    titles = [one["title"] for one in data["metrics"]]
    assert data["systems"] == ["a", "b"] and titles == ["CIDEr", "ROUGE-L"] and data["total"] == N
    assert data["corpus"] == [[one["value"] for one in of["scores"]] for of in expected["systems"]]
    for metric in (0, 1):
        of_images = np.array([[of[metric] for of in image["scores"]] for image in data["images"]])
        np.testing.assert_allclose(of_images.mean(axis=0), [of[metric] for of in data["corpus"]], atol=1e-5)
        assert int(np.argmax(of_images[:, 0] - of_images[:, 1])) == 7
    tests = {row["metric"]: row for row in data["tests"]}
    assert [tests[one]["difference"] for one in titles] == [row["difference"] for row in expected["tests"]]


def test_a_caption_is_never_markup(captioned):
    look("a.txt", "b.txt", "refs.txt", "--metric", "cider")
    assert "<script>alert" not in Path("look/data.js").read_text() + Path("look/index.html").read_text()
    assert read()["images"][7]["captions"][1].startswith("<script>")


def test_images_of_a_file_with_ids_have_their_photographs(captioned):
    look("a.json", "b.json", "refs.json", "--images", "photos.zip", "--metric", "cider")
    image = next(one for one in read()["images"] if one["id"] == "107")
    assert image["captions"][0] != image["captions"][1] and image["picture"]["width"] > 0
    assert len(list(Path("look/thumbnails").iterdir())) == N


def test_of_many_images_those_are_shown_where_systems_differ(captioned):
    for seed in range(3):
        look("a.txt", "b.txt", "refs.txt", "--metric", "cider", "--queries", "6", "--seed", str(seed))
        data = read()
        assert len(data["images"]) == 6 and 7 in [one["at"] for one in data["images"]] and data["total"] == N


@pytest.mark.parametrize(
    ("more", "named"),
    [
        (("--query", "3", "--figure", "out.pdf"), "--query"),
        (("--phi", "cider.npy"), "--metric"),
        (("--first-captions", "2"), "--metric"),
        (("--images", "few.zip"), "30 images"),
        (("-o", "."), "a.json"),
    ],
)
def test_what_does_not_fit_is_named(captioned, more, named):
    with zipfile.ZipFile("few.zip", "w") as archive:
        archive.writestr("1.jpg", jpeg(1))
    before = sorted(path.name for path in captioned.iterdir())
    with pytest.raises(InputError, match=named):
        look("a.txt", "b.txt", "refs.txt", "--metric", "cider", *more)
    assert sorted(path.name for path in captioned.iterdir()) == before


def test_systems_of_other_images_are_refused(captioned):
    rows = json.loads(Path("b.json").read_text())
    Path("b.json").write_text(json.dumps(rows[1:]))
    with pytest.raises(InputError, match=r"b\.json"):
        look("a.json", "b.json", "refs.json", "--metric", "cider")

"""Files of candidates and references: matched by the ids of images, or refused in a sentence that names the cure."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fivesentences.errors import InputError
from fivesentences.semantics.captioned_images import CaptionedImages, read_captioned_images

PEOPLE = {7: ["a dog", "the dog"], 12: ["a cat"], 3: ["two birds", "birds", "a bird"]}
MADE = {12: "cat", 3: "bird", 7: "dog"}
RESULTS: list[dict[str, Any]] = [{"image_id": image, "caption": text} for image, text in MADE.items()]
ANNOTATIONS: dict[str, Any] = {
    "images": [{"id": image, "file_name": f"{image:012}.jpg"} for image in PEOPLE],
    "annotations": [
        {"id": 10 * image + at, "image_id": image, "caption": text}
        for image, texts in PEOPLE.items()
        for at, text in enumerate(texts)
    ],
}
KARPATHY = {
    "images": [
        {"filename": f"{image:012}.jpg", "cocoid": image, "split": "test", "sentences": [{"raw": one} for one in texts]}
        for image, texts in PEOPLE.items()
    ]
    + [{"filename": "4.jpg", "cocoid": 4, "split": "val", "sentences": [{"raw": "a boat"}]}]
}
FLICKR30K = {"images": [{key: value for key, value in one.items() if key != "cocoid"} for one in KARPATHY["images"]]}
IN_ORDER = CaptionedImages(list(MADE.values()), [PEOPLE[image] for image in MADE], list(map(str, MADE)))


def changed(content: Any, *path: Any, to: Any) -> Any:
    """JSON in which one value is another."""
    copy = json.loads(json.dumps(content))
    place = copy
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = to
    return copy


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., CaptionedImages]:
    """Write both files, each JSON or text, and read them."""

    def made(candidates: Any, references: Any, of: str | None = None, **options: Any) -> CaptionedImages:
        paths = []
        for stem, content in (("made", candidates), ("people", references)):
            paths.append(tmp_path / f"{stem}.{'txt' if isinstance(content, str) else 'json'}")
            if isinstance(content, bytes):
                paths[-1].write_bytes(content)
            else:
                paths[-1].write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        if of is not None:
            options["image_of_caption"] = tmp_path / "of.txt"
            options["image_of_caption"].write_text(of)
        return read_captioned_images(*paths, **options)

    return made


@pytest.mark.parametrize("references", [ANNOTATIONS, KARPATHY, {"annotations": ANNOTATIONS["annotations"]}])
def test_results_meet_the_references_of_their_images_whatever_the_order(read, references):
    assert read(RESULTS, references) == IN_ORDER


@pytest.mark.parametrize("wrapped", [lambda text: text, lambda text: [text], lambda text: [{"caption": text}]])
@pytest.mark.parametrize("references", [ANNOTATIONS, KARPATHY])
def test_keys_of_a_mapping_are_ids_though_json_writes_them_as_text(read, references, wrapped):
    assert read({str(image): wrapped(text) for image, text in MADE.items()}, references) == IN_ORDER


def test_images_of_another_split_are_found_there(read):
    boat = {"image_id": 4, "caption": "boat"}
    with pytest.raises(InputError, match=r"1 of its 1 image .*'4'; .* --split dev"):
        read([boat], KARPATHY)
    assert read([boat], KARPATHY, split="val").references == [["a boat"]]
    with pytest.raises(InputError, match=r"1 of its 4 images .*'4'; .*split dev.*one split"):
        read([*RESULTS, boat], KARPATHY)
    with pytest.raises(InputError, match=r"'99'; give references"):
        read([{"image_id": 99, "caption": "boat"}], KARPATHY)


def test_ids_of_text_are_names_of_photographs_without_their_ending(read):
    results = [{"image_id": f"{image:012}", "caption": text} for image, text in MADE.items()]
    found = read(results, FLICKR30K)
    assert (found.candidates, found.references) == (IN_ORDER.candidates, IN_ORDER.references)
    assert read([{"image_id": 4, "caption": "boat"}], KARPATHY, split="dev").references == [["a boat"]]


def test_lines_are_in_the_order_of_the_images(read):
    assert read("dog\ncat\n", "a dog\nthe dog\na cat\nthe cat\n", per_image=2).references == [
        ["a dog", "the dog"],
        ["a cat", "the cat"],
    ]
    varying = read("dog\ncat\n", "a dog\na cat\nthe dog\n", of="0\n1\n0\n")
    assert varying == CaptionedImages(["dog", "cat"], [["a dog", "the dog"], ["a cat"]], ["0", "1"])
    named = read("dog\ncat\nbird\n", ANNOTATIONS)
    assert named.references == list(PEOPLE.values()) and "one order" in named.notes[0]


def test_a_subset_is_scored_where_it_is_asked_for_alone(read):
    with pytest.raises(InputError, match=r"made.json: 2 of the 3 images of .*people.json have no caption: '7', '12';"):
        read(RESULTS[1:2], ANNOTATIONS)
    found = read(RESULTS[1:2], ANNOTATIONS, subset=True)
    assert found.references == [PEOPLE[3]] and "2 of the 3 images" in found.notes[0]
    many = {"annotations": [{"image_id": image, "caption": "a dog"} for image in range(9)]}
    with pytest.raises(InputError, match=r"8 of the 9 images .*: '1', '2', '3', '4', '5', \.\.\.; caption them too"):
        read([{"image_id": 0, "caption": "dog"}], many)


NESTED: Any = []
for _ in range(300):
    NESTED = [NESTED]
WRONG: dict[str, tuple[Any, Any, dict[str, Any], list[str]]] = {
    "no references": (changed(RESULTS, 1, "image_id", to=99), ANNOTATIONS, {}, ["made.json", "1 of its 3", "'99'"]),
    "two captions": (RESULTS + RESULTS[1:2], ANNOTATIONS, {}, ["made.json: item 3", "image 3", "item 1"]),
    "ids of text": (
        [{**one, "image_id": str(one["image_id"])} for one in RESULTS],
        ANNOTATIONS,
        {},
        ["made.json", "'12'", "without quotes"],
    ),
    "ids of text, Karpathy's": (
        [{**one, "image_id": str(one["image_id"])} for one in RESULTS],
        KARPATHY,
        {},
        ["made.json", "'12'", "without quotes"],
    ),
    "one id of text": (changed(RESULTS, 1, "image_id", to="3"), ANNOTATIONS, {}, ["item 1", "'3'", "numbers"]),
    **{
        f"an id that is {value!r}": (
            changed(RESULTS, 1, "image_id", to=value),
            ANNOTATIONS,
            {},
            ["made.json: item 1", repr(value)],
        )
        for value in (None, 1.5, True, [3], {"id": 3})
    },
    **{
        f"a caption that is {value!r}": (
            changed(RESULTS, 1, "caption", to=value),
            ANNOTATIONS,
            {},
            ["made.json: item 1", "image 3", repr(value)],
        )
        for value in ("", "  ", None, 5, ["a", "b"])
    },
    "no caption": ([*RESULTS[:2], {"image_id": 7}], ANNOTATIONS, {}, ["item 2", "caption"]),
    "a string among results": ([*RESULTS[:2], "a dog"], ANNOTATIONS, {}, ["item 2", "a dog"]),
    "an object": (RESULTS[0], ANNOTATIONS, {}, ["made.json", "one object", "[{"]),
    "a number": (5, ANNOTATIONS, {}, ["made.json", "5"]),
    "an empty list": ([], ANNOTATIONS, {}, ["made.json", "no captions"]),
    "deep": (NESTED, ANNOTATIONS, {}, ["made.json", "nested"]),
    "deep references": (RESULTS, NESTED, {}, ["people.json", "nested"]),
    "not UTF-8": (b'[{"image_id": 1, "caption": "caf\xe9"}]', ANNOTATIONS, {}, ["made.json", "UTF-8"]),
    "references not UTF-8": (RESULTS, b'{"annotations": "\xe9"}', {}, ["people.json", "UTF-8"]),
    "cut": (b'[{"image_id": 1, "cap', ANNOTATIONS, {}, ["made.json", "JSON"]),
    "annotations by id": (
        RESULTS,
        {"annotations": {"1": {"image_id": 7, "caption": "a dog"}}},
        {},
        ["people.json", "annotations", "list"],
    ),
    "no annotations": (RESULTS, {**ANNOTATIONS, "annotations": []}, {}, ["people.json", "annotations"]),
    **{
        f"an annotation of image {value!r}": (
            RESULTS,
            changed(ANNOTATIONS, "annotations", 1, "image_id", to=value),
            {},
            ["people.json", "annotations[1]", repr(value)],
        )
        for value in ("7", 8, 7.0, [7], {"a": 1})
    },
    "an image with a list": (
        RESULTS,
        changed(ANNOTATIONS, "images", 1, "id", to=[1]),
        {},
        ["people.json", "images[1]"],
    ),
    "an image twice": (RESULTS, changed(ANNOTATIONS, "images", 1, "id", to=7), {}, ["people.json", "images[1]", "7"]),
    "an annotation twice": (
        RESULTS,
        changed(ANNOTATIONS, "annotations", 1, "id", to=70),
        {},
        ["people.json", "annotations[1]", "70", "annotations[0]"],
    ),
    "an empty reference": (
        RESULTS,
        changed(ANNOTATIONS, "annotations", 1, "caption", to=" "),
        {},
        ["people.json", "annotations[1]", "empty"],
    ),
    "Karpathy's image twice": (RESULTS, changed(KARPATHY, "images", 1, "cocoid", to=7), {}, ["people.json", "'7'"]),
    "no such split": (RESULTS, KARPATHY, {"split": "train"}, ["people.json", "train"]),
    "no splits": (RESULTS, ANNOTATIONS, {"split": "test"}, ["people.json", "--split"]),
    "an empty line": ("dog\n\ncat\n", "a\nb\nc\n", {"per_image": 1}, ["made.txt", "1 of its 3", "number 2"]),
    "an empty line of references": ("dog\ncat\n", "a\n \n", {"per_image": 1}, ["people.txt", "1 of its 2"]),
    "too few lines": ("dog\ncat\n", "a\nb\nc\n", {}, ["people.txt", "3 captions", "--image-of-caption"]),
    "an image too many": ("dog\ncat\n", "a\nb\nc\n", {"of": "0\n1\n2\n"}, ["people.txt", "3 images", "2 candidates"]),
    "a gap": ("dog\ncat\n", "a\nb\n", {"of": "0\n2\n"}, ["of.txt"]),
    "an index too few": ("dog\ncat\n", "a\nb\n", {"of": "0\n"}, ["of.txt", "2 captions"]),
    "both": ("dog\ncat\n", "a\nb\n", {"of": "0\n1\n", "per_image": 1}, ["--per-image", "--image-of-caption"]),
}


@pytest.mark.parametrize(("made", "people", "options", "told"), WRONG.values(), ids=list(WRONG))
def test_what_cannot_be_scored_is_one_sentence(read, made, people, options, told):
    with pytest.raises(InputError) as error:
        read(made, people, **options)
    said = str(error.value)
    assert all(word in said for word in told) and "\n" not in said, said


def test_the_command_scores_the_fields_files(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("made.json").write_text(json.dumps(RESULTS))
    for name, content in (("coco.json", ANNOTATIONS), ("karpathy.json", KARPATHY)):
        Path(name).write_text(json.dumps(content))
        said = run("captioning", "made.json", name, "--metric", "bleu1", "--tokens", "whitespace", "--csv", "-")
        assert said.code == 0, said.err
        assert [row.split(",")[2] for row in said.out.splitlines()[1:]] == ["12", "3", "7"]
    Path("boat.json").write_text('[{"image_id": 4, "caption": "boat"}]')
    for split in ("dev", "val", "Validation"):
        said = run("captioning", "boat.json", "karpathy.json", "--metric", "bleu1", "--split", split)
        assert said.code == 0 and "1 caption against 1 reference," in said.out, said.err
    for wrong in ("restval", "valid"):
        said = run("captioning", "boat.json", "karpathy.json", "--split", wrong)
        assert said.code == 2 and wrong in said.err and "dev" in said.err
    said = run("captioning", "made.json", "coco.json", "--split", "test")
    assert said.code == 1 and said.err.startswith("Error: coco.json") and "--split" in said.err

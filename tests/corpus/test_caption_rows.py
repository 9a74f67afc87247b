"""Captions from the field's own text files. What they must hold is written out here, or read by json and csv alone."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pycocoevalcap.cider.cider import Cider

from fivesentences.errors import InputError
from fivesentences.semantics.caption_file import read_captioned

IMAGES = ("b.jpg", "a.jpg")
SAID = {"b.jpg": ["A dog , runs .", "two dogs"], "a.jpg": ["a #1 fan; here", "the cat"]}
PAIRS = [(image, text) for image in IMAGES for text in SAID[image]]
TOKENS = [f"{image}#{number % 2}\t{text}" for number, (image, text) in enumerate(PAIRS)]
COCO = {
    "images": [{"id": 9 - at, "file_name": image} for at, image in enumerate(IMAGES)],
    "annotations": [{"id": at, "image_id": 9 - at // 2, "caption": text} for at, (_, text) in enumerate(PAIRS)],
}
KARPATHY = [
    {"filename": image, "split": "test", "cocoid": 9 - at, "sentences": [{"raw": text} for text in SAID[image]]}
    for at, image in enumerate(IMAGES)
]
OTHERS = {"filename": "c.jpg", "split": "train", "sentences": [{"raw": "not read"}]}
ONE = {"images": [{**COCO["images"][0], "id": 1}, *COCO["images"]], "annotations": COCO["annotations"]}


def lines(rows) -> str:
    return "".join(f"{row}\n" for row in rows)


def table(separator: str, header: str, quoted: bool = True) -> str:
    rows = [f'"{text}"' if quoted else text for _, text in PAIRS]
    return lines([header, *(f"{image}{separator}{text}" for (image, _), text in zip(PAIRS, rows, strict=True))])


def bars(cut: bool = False) -> str:
    rows = [f"{image}| {at % 2}{'  ' if cut and at == 1 else '|'} {text}" for at, (image, text) in enumerate(PAIRS)]
    return lines(["image_name| comment_number| comment", *rows])


def of_frame(frame: pd.DataFrame) -> str:
    return frame.to_csv(index=False)


LISTS = pd.DataFrame({"filename": IMAGES, "split": "test", "raw": [SAID[image] for image in IMAGES]})


@pytest.mark.parametrize(
    ("name", "content"),
    {
        "Flickr8k.token.txt": lines(TOKENS),
        "results_20130124.token": lines(TOKENS),
        "a blank line.txt": lines([*TOKENS, ""]),
        "bom, Windows": "\ufeff" + "\r\n".join(TOKENS) + "\r\n",
        "numbers from 7": lines(one.replace("#", "#7", 1) for one in TOKENS),
        "Flickr8k-CN.txt": lines(one.replace("#", "#zhb#", 1).replace("\t", " ") for one in TOKENS),
        "captions.txt": table(",", "image,caption"),
        "captions.csv": table(",", "Image,Caption"),
        "semicolons.csv": table(";", "image;caption"),
        "tabs.tsv": table("\t", "filepath\ttitle", quoted=False),
        "results.csv": bars(),
        "results.csv as it is": bars(cut=True),
        "captions_val2014.json": json.dumps(COCO),
        "an image without captions.json": json.dumps(ONE),
        "results.json": json.dumps([{"image_id": image, "caption": text} for image, text in PAIRS]),
        "gts.json": json.dumps({f"{image}": [{"caption": text} for text in SAID[image]] for image in IMAGES}
                               ).replace("jpg", "1"),
        "wrapped.json": json.dumps({"data": [{"image": image, "caption": text} for image, text in PAIRS]}),
        "dataset_flickr8k.json": json.dumps({"images": [OTHERS, *KARPATHY]}),
        "coco_karpathy_test.json": json.dumps([{"image": image, "caption": SAID[image]} for image in IMAGES]),
        "rows.jsonl": lines(json.dumps({"image": image, "caption": SAID[image]}) for image in IMAGES),
        "rows of JSON.txt": lines(json.dumps({"image": image, "caption": text}) for image, text in PAIRS),
        "JSON's lists.csv": of_frame(LISTS.assign(raw=LISTS["raw"].map(json.dumps))),
        "Python's lists.csv": of_frame(LISTS),
        "Python's tuples.csv": of_frame(LISTS.assign(raw=LISTS["raw"].map(tuple))),
        "numbered.csv": lines(["filename,caption_1,caption_2",
                               *(f'{image},"{SAID[image][0]}",{SAID[image][1]}' for image in IMAGES)]),
    }.items(),
)  # fmt: skip
def test_captions_and_their_images(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content, newline="")
    found = read_captioned(path)
    assert found.captions == [text for _, text in PAIRS]
    assert found.image_of_caption.tolist() == [0, 0, 1, 1]
    assert [image.replace(".1", ".jpg") for image in found.images] == list(IMAGES)


@pytest.mark.parametrize("rows", [TOKENS[::-1], [TOKENS[2], TOKENS[0], TOKENS[3], TOKENS[1]]])
def test_captions_in_any_order_are_paired_by_name(tmp_path, rows):
    (tmp_path / "x.txt").write_text(lines(rows))
    found = read_captioned(tmp_path / "x.txt")
    named = [found.images[image] for image in found.image_of_caption]
    assert [*zip(named, found.captions, strict=True)] == [(one.split("#")[0], one.split("\t")[1]) for one in rows]


@pytest.mark.parametrize(
    "content",
    [
        "[UNK] dog [SEP]\n[UNK] cat\n",
        '("so") a dog\n"Stop" sign\n',
        "a dog, a cat\nimage, text\n",
        "a #1 fan\n",
        "{x}!\na\n",
    ],
)
def test_what_is_only_like_them_is_a_caption_per_line(tmp_path, content):
    (tmp_path / "x.txt").write_text(content)
    found = read_captioned(tmp_path / "x.txt")
    assert found.captions == content.splitlines() and not found.is_paired


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("no numbers.txt", lines(one.replace("#0", "", 1).replace("#1", "", 1) for one in TOKENS), "image<tab>caption"),
        ("ids.txt", lines(f"img{at}\t{text}" for at, (_, text) in enumerate(PAIRS)), "image<tab>caption"),
        ("numbered.txt", lines(f"{at},{text}" for at, (_, text) in enumerate(PAIRS)), "image,caption"),
        ("quoted.txt", lines(f'"{text}"' for _, text in PAIRS), "quoted"),
        ("page.txt", "<!DOCTYPE html>\n<html>x</html>\n", "web page"),
        ("two columns.csv", "image,caption,caption\na.jpg,x,y\n", "'caption' twice"),
        ("no test.json", json.dumps({"images": [OTHERS, {**OTHERS, "filename": "d.jpg", "split": "val"}]}), "dev (1"),
        ("one line.txt", lines([*TOKENS, "b.jpg a dog"]), "line 5"),
        ("twice.txt", lines([*TOKENS, TOKENS[0]]), "line 5"),
        ("no header.csv", lines(f'{image},"{text}"' for image, text in PAIRS), "image,caption"),
        ("no header.txt", lines(f"{image} {text}" for image, text in PAIRS), "names of images"),
        ("testImages.txt", lines(IMAGES), "names of images"),
        ("Expert.txt", "a.jpg\tb.jpg#2\t1\t1\t1\n", "names of images"),
        ("pairing.txt", "0\n0\n1\n1\n", "numbers"),
        ("sits.csv", "caption,image,agg_score\nCOCO_val2014:sentid:1,COCO_val2014_000000000001.jpg,2\n", "sentid:1"),
        ("foils.csv", "image,caption,foil\n0,0,1\n", "'0'"),
        ("numpy's lists.csv", of_frame(LISTS.assign(raw=LISTS["raw"].map(lambda one: str(np.array(one))))), "line 2"),
        ("cut.csv", "image,caption\na.jpg,\"['a dog', 'a c]\"\n", "line 2"),
        ("wide.csv", "image,caption\na.jpg,a dog, here\n", "line 2"),
        ("instances.json", json.dumps({**COCO, "annotations": [{"image_id": 9, "category_id": 1}]}), "annotations[0]"),
        ("other image.json", json.dumps({**COCO, "annotations": [{"image_id": 1, "caption": "x"}]}), "image 1"),
        ("image_info.json", json.dumps({"images": COCO["images"]}), "images"),
        ("other names.json", json.dumps({"data": [{"nr": "a", "says": "x"}, {"nr": "b", "says": "y"}]}), "data"),
        ("splits.json", json.dumps({"train": ["a dog"], "test": ["a cat"]}), "train"),
        ("pairs.json", json.dumps([["a.jpg", "a dog"]]), "a.jpg"),
        ("number.json", "5", "5"),
        ("packed.txt", gzip.compress(b"a dog\n", mtime=0), "compressed"),
    ],
)  # fmt: skip
def test_what_is_something_else_is_refused(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as error:
        read_captioned(tmp_path / name)
    assert name in str(error.value) and says in str(error.value)


def test_results_are_scored_against_the_references_of_their_images(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    Path("refs.json").write_text(json.dumps(COCO))
    Path("refs.txt").write_text(lines(TOKENS))
    results = [{"image_id": 8, "caption": "the cat here"}, {"image_id": 9, "caption": "two dogs"}]  # another order
    Path("mine.json").write_text(json.dumps(results))
    references = {one["id"]: [a["caption"].lower() for a in COCO["annotations"] if a["image_id"] == one["id"]]
                  for one in COCO["images"]}  # fmt: skip
    expected, _ = Cider().compute_score(references, {one["image_id"]: [one["caption"]] for one in results})
    command = ("--tokens", "whitespace", "--json", "out.json")
    said = run("captioning", "mine.json", "refs.json", *command, "-q")
    assert said.code == 0, said.err
    assert json.loads(Path("out.json").read_text())["scores"][0]["value"] == pytest.approx(expected)
    assert expected > 1
    more = {"images": [*COCO["images"], {"id": 3, "file_name": "c.jpg"}],
            "annotations": [*COCO["annotations"], {"image_id": 3, "caption": "a bird"}]}  # fmt: skip
    Path("more.json").write_text(json.dumps(more))
    said = run("captioning", "mine.json", "more.json", *command)
    assert said.code == 1 and "1 of the 3 images of more.json has no caption: '3'" in said.err
    said = run("captioning", "mine.json", "more.json", *command, "--subset")
    assert "1 of the 3 images" in said.out
    assert json.loads(Path("out.json").read_text())["scores"][0]["value"] == pytest.approx(expected)
    said = run("captioning", "mine.json", "refs.txt")  # its names are others
    assert said.code == 1 and "mine.json" in said.err and "'8'" in said.err


def test_recall_uses_the_pairing_of_the_captions_and_refuses_another(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    annotations = [{"image_id": image, "caption": f"a dog {at}"} for at, image in enumerate([7, 9, 7, 7, 9, 8])]
    Path("c.json").write_text(json.dumps({"images": [{"id": 9}, {"id": 8}, {"id": 7}], "annotations": annotations}))
    owner = [[9, 8, 7].index(one["image_id"]) for one in annotations]
    similarity = np.random.default_rng(0).random((3, 6)).astype(np.float32)
    np.save("s.npy", similarity)
    said = run("evaluate", "s.npy", "--captions", "c.json", "--csv", "-")
    rows = [row for row in csv.DictReader(said.out.splitlines()) if row["metric"] == "R@1"]
    t2i = 100 * np.mean(similarity.argmax(axis=0) == owner)
    assert t2i in [pytest.approx(float(row["value"])) for row in rows if row["direction"] == "t2i"], said.out
    assert "in the order of c.json, in which captions of an image are apart" in run(
        "evaluate", "s.npy", "--captions", "c.json"
    ).out.replace("\n", " ")
    np.save("pairing.npy", np.arange(6) // 2)
    for command in (["evaluate", "s.npy", "--captions"], ["phi", "cider", "-o", "phi.npy"]):
        said = run(*command, "c.json", "--image-of-caption", "pairing.npy")
        assert said.code == 1 and "c.json" in said.err and not Path("phi.npy").exists()

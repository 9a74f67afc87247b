"""Captions that begin with ids are refused, whatever the ids and the separator are, and no caption of people is."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import uuid
from pathlib import Path

import numpy as np
import pytest

from fivesentences.commands.example import SHIPPED
from fivesentences.corpus import load_flickr8k, load_karpathy, load_precomp
from fivesentences.corpus.caption_rows import refuse_leading_ids
from fivesentences.corpus.pascal_sentences import load_pascal_sentences
from fivesentences.errors import InputError
from fivesentences.evaluation import read_caption_table
from fivesentences.semantics import cider_matrix
from fivesentences.semantics.caption_file import read_captioned, read_captions

CAPTIONS = (SHIPPED / "captions.txt").read_text(encoding="utf-8").splitlines()[:100]
IDS = {
    "COCO's, of the image": lambda place: f"{12 + place // 5:012}",
    "of the caption": lambda place: f"{770337 + 3 * place}",
    "of Flickr's caption": lambda place: f"1000268201_693b08cb{place // 5:02x}.jpg#{place % 5}",
    "of CxC": lambda place: f"COCO_val2014:sentid:{732091 + place}"[-6:],
    "a hash": lambda place: hashlib.sha256(CAPTIONS[place].encode()).hexdigest(),
    "a short hash": lambda place: "f" + hashlib.sha1(CAPTIONS[place].encode()).hexdigest()[:6] + "0",
    "a UUID": lambda place: str(uuid.uuid5(uuid.NAMESPACE_URL, CAPTIONS[place])),
    "a file": lambda place: f"{'abcdefghijklmnopqrst'[place // 5]}.png",
    "a file of a folder": lambda place: f"val/{place // 5:04}.jpg",
    "a video": lambda place: f"video{place}",
    "the line": lambda place: f"{place + 1}",
    "the image": lambda place: f"{place // 5}",
    "a list's number": lambda place: f"{place + 1}.",
    "in brackets": lambda place: f"[{place}]",
    "a number sign": lambda place: f"#{place}",
}
SEPARATORS = (" ", "  ", ": ", "\t", " | ", ";", ", ", " :: ")


@pytest.mark.parametrize("separator", SEPARATORS)
@pytest.mark.parametrize("ids", IDS)
def test_ids_before_captions_are_refused_and_the_cure_gives_the_captions_alone(ids, separator, tmp_path):
    path = tmp_path / "captions.txt"
    path.write_text("".join(f"{IDS[ids](place)}{separator}{text}\n" for place, text in enumerate(CAPTIONS)))
    if ids == "of Flickr's caption" and separator[0] in " \t":  # a token file, which says whose captions they are
        table = read_captioned(path)
        assert table.captions == CAPTIONS and table.image_of_caption.tolist() == [place // 5 for place in range(100)]
        return
    with pytest.raises(InputError) as error:
        read_captions(path)
    assert error.value.where == path
    if (command := re.search(r"write a table: (\(.+\) > table)\.txt", str(error.value))) is not None:
        subprocess.run(["bash", "-c", command[1].replace("FILE", "captions.txt")], cwd=tmp_path, check=True)
        table = read_captioned(tmp_path / "table")
        assert table.captions == CAPTIONS and table.image_of_caption.tolist() == [place // 5 for place in range(100)]
    elif (command := re.search(r"sed -E '.*' FILE", str(error.value))) is not None:
        line = command[0].replace("FILE", "captions.txt > alone.txt")
        subprocess.run(["bash", "-c", line], cwd=tmp_path, check=True)
        assert read_captions(tmp_path / "alone.txt") == CAPTIONS
    else:  # a table, for which there was a sentence before
        assert "name its columns" in str(error.value)


@pytest.mark.parametrize("ids", ["COCO's, of the image", "a hash", "a file", "the line"])
def test_every_reader_refuses_them(ids, tmp_path):
    texts = [f"{IDS[ids](place)} {text}" for place, text in enumerate(CAPTIONS)]
    (tmp_path / "list.json").write_text(json.dumps(texts))
    rows = [{"image": f"i{place // 5}.jpg", "caption": text} for place, text in enumerate(texts)]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "x_precomp").mkdir()
    (tmp_path / "x_precomp" / "test_caps.txt").write_text("\n".join(texts) + "\n")
    for read in (
        lambda: read_captions(tmp_path / "list.json"),
        lambda: read_caption_table(tmp_path / "rows.jsonl"),
        lambda: load_precomp(tmp_path / "x_precomp"),
    ):
        with pytest.raises(InputError, match=re.escape(IDS[ids](0)[:50])):
            read()


def test_phi_of_captions_after_the_cure_is_that_of_the_captions(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    texts = "".join(f"{12 + place // 5:012} {text}\n" for place, text in enumerate(CAPTIONS))
    Path("captions.txt").write_text(texts)
    said = run("phi", "cider", "captions.txt", "-o", "cider.npy")
    assert said.code == 1 and "000000000012" in said.err and not Path("cider.npy").exists()
    Path("captions.txt").write_text("".join(f"{line.partition(' ')[2]}\n" for line in texts.splitlines()))
    assert run("phi", "cider", "captions.txt", "-o", "cider.npy").code == 0
    np.testing.assert_allclose(np.load("cider.npy").sum(), cider_matrix(CAPTIONS).sum(), rtol=1e-6)


NATURAL = {
    "as they are": lambda place, text: text,
    "counts": lambda place, text: f"{2 + place * 7919 % 8} {text}",
    "years": lambda place, text: f"{1990 + place * 7919 % 30} {text}",
    "half with numbers": lambda place, text: f"{place:06} {text}" if place % 2 else text,
    "one prompt": lambda place, text: f"a 3D picture of {text}",
    "a word each": lambda place, text: f"{'abcdefghij'[place // 10]}{'klmnopqrst'[place % 10]}y {text}",
    "letters without blanks": lambda place, text: text.replace(" ", ""),
}


@pytest.mark.parametrize("kind", NATURAL)
@pytest.mark.parametrize("count", [1, 2, 5, 100])
def test_what_people_write_is_read(kind, count):
    refuse_leading_ids([NATURAL[kind](place, text) for place, text in enumerate(CAPTIONS[:count])], "captions.txt")


@pytest.mark.data
def test_no_caption_of_the_datasets_begins_with_an_id(mirror):
    for corpus in (
        load_flickr8k(mirror / "flickr8k/Flickr8k_text.zip"),
        load_karpathy(mirror / "flickr30k/flickr30k.zip", "flickr30k"),
        load_karpathy(mirror / "coco/coco_test5k.zip", "coco"),
        load_pascal_sentences(mirror / "pascal_sentences/pascal_sentences.json"),
    ):
        refuse_leading_ids(corpus.captions, corpus.name)
        for start in range(0, 1000, 25):
            refuse_leading_ids(corpus.captions[start : start + 5], corpus.name)

"""Errors name the file and what to type; what cannot be written is said before anything is computed."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from fivesentences.commands.arguments import Dataset
from fivesentences.evaluation.protocols import PROTOCOLS, Protocol
from fivesentences.semantics import write_phi


@pytest.fixture
def files(folder):
    similarity = np.load("sims.npy")
    np.save("square.npy", np.repeat(similarity, 5, axis=0))
    np.save("uneven.npy", similarity[:, :97])
    np.save("tall.npy", np.ones((97, 20)))
    np.save("one.npy", similarity[:1, :5])
    np.save("fine.npy", np.zeros((100, 20), dtype=np.float32))
    broken = np.zeros((100, 20))
    broken[3, 4] = np.nan
    np.save("phinan.npy", broken)
    images, texts = np.load("image_emb.npy")[::5].copy(), np.load("text_emb.npy")
    images[3, 0], texts[7, 2] = np.inf, np.nan
    np.save("image_bad.npy", images)
    np.save("text_bad.npy", texts)
    np.save("image_once.npy", np.load("image_emb.npy")[::5])
    np.save("less.npy", similarity[:, :60])
    np.save("turned5k.npy", np.zeros((5000, 1000), dtype=np.float16))
    nan = similarity.copy()
    nan[3, 7] = np.nan
    np.save("nan.npy", nan)
    np.save("pickled.npy", np.array([{"a": 1}], dtype=object))
    Path("cut.npy").write_bytes(Path("sims.npy").read_bytes()[:500])
    few = Path("captions.txt").read_text().splitlines()[:10]
    Path("few.txt").write_text("".join(f"{caption}\n" for caption in few))
    write_phi("cider", few, np.repeat(np.arange(2), 5), Path("few.npy"), captions_file="few.txt")
    np.save("labels.npy", np.zeros((7, 3)))
    labels = np.zeros((20, 3))
    labels[4, 1] = 2
    np.save("twos.npy", labels)
    Path("dir.npy").mkdir()
    Path("file").write_text("")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("evaluate nowhere.npy", "nowhere.npy: there is no such file"),
        ("evaluate captions.txt", "matrices are read from .npy"),
        ("evaluate pickled.npy", "not a complete .npy file of numbers"),
        ("evaluate cut.npy", "not a complete .npy file"),
        ("evaluate turned5k.npy --dataset f30k", "turned5k.npy is [5000, 1000], but rows are images"),
        ("evaluate sims.npy --dataset f30k", "sims.npy is [20, 100], but f30k has 1000 images and 5000 captions"),
        ("evaluate nan.npy", "nan.npy: similarity[3, 7] is nan (image 3, caption 7); every value must be finite: "),
        ("evaluate sims.npy --phi few.npy", "it comes from few.txt (10 captions of 2 images)"),
        ("evaluate sims.npy --phi sims.npy", "phi looks transposed"),
        ("evaluate sims.npy --phi fine.npy --phi fine.npy", "name them: --phi NAME=FILE"),
        ("evaluate sims.npy --captions few.txt", "few.txt holds 10 captions but the similarity has 100 columns"),
        ("evaluate sims.npy --captions captions.txt --metric spice", "fivesentences phi spice"),
        ("evaluate sims.npy --captions captions.txt --metric cidre", "expected one of"),
        ("evaluate sims.npy --metric cider", "give --captions FILE"),
        ("evaluate sims.npy --mean --captions captions.txt", "at least two"),
        ("evaluate text_emb.npy,image_once.npy", "give the embeddings of the images first"),
        ("evaluate sims.npy text_emb.npy", "text_emb.npy is [100, 14] but sims.npy is [20, 100]"),
        ("evaluate image_emb.npy,text_emb.npy --transposed", "--transposed is about a similarity"),
        ("evaluate sims.npy --labels twos.npy --instances x.json", "give one of them"),
        ("evaluate sims.npy --instances few.txt", "give --image-ids FILE"),
        ("evaluate sims.npy --image-ids few.txt", "holds 10 ids but there are 20 images"),
        ("evaluate sims.npy --categories few.txt", "10 categories but there are 20 images"),
        ("evaluate sims.npy --inference csls --rescored o.npz", "must end in .npy"),
        ("evaluate sims.npy --rescored o.npy", "give --inference too"),
        ("evaluate sims.npy other.npy --inference csls --rescored o.npy", "one model, but there are 2"),
        ("evaluate sims.npy --inference csls,beta=3", "csls has no setting 'beta'; its settings are: k"),
        ("evaluate sims.npy --inference bogus", "a method is one of naive"),
        ("evaluate sims.npy --inference csls,k=0", "k is 0"),
        ("evaluate sims.npy --inference csls,k=x", "k is 'x'"),
        ("evaluate sims.npy --inference assignment,captions_per_image=2", "captions_per_image is 2, which"),
        ("evaluate one.npy --inference inverted_softmax", "--include-self"),
        ("evaluate sims.npy other.npy --embeddings other.npy", "--embeddings takes two files"),
        ("compare sims.npy uneven.npy --image-of-caption x.txt", "x.txt: there is no such file"),
        ("compare sims.npy less.npy", "less.npy is [20, 60] but sims.npy is [20, 100]"),
        ("compare sims.npy sims.npy --confidence 1", "confidence is 1.0; it must lie between 0 and 1"),
        ("evaluate square.npy", "square.npy has 100 rows but they repeat 20 images 5 times each"),
        ("evaluate uneven.npy", "uneven.npy is [20, 97]: 97 captions are not equal blocks for 20 images"),
        ("evaluate uneven.npy", "--image-of-caption FILE"),
        (
            "evaluate tall.npy",
            "tall.npy is [97, 20], but rows are images, columns captions, and every image has a caption",
        ),
        ("evaluate sims.npy --phi fine.npy --phi phinan.npy", "phinan.npy: phi[3, 4] is nan (image 4, caption 3)"),
        ("compare sims.npy sims.npy --phi phinan.npy", "phinan.npy: phi[3, 4] is nan"),
        ("evaluate image_bad.npy,text_emb.npy", "image_bad.npy[3, 0] is inf (row and column, from 0)"),
        ("evaluate --embeddings image_emb.npy text_bad.npy", "text_bad.npy[7, 2] is nan"),
        ("evaluate sims.npy --labels labels.npy", "labels.npy is [7, 3] but there are 20 images"),
        ("evaluate sims.npy --labels twos.npy", "twos.npy: [4, 1] is 2.0; a label is 0 or 1"),
        ("evaluate sims.npy --dataset coco-1k-5fold --cxc x.csv", "--dataset coco-1k-5fold scores parts of it"),
        ("evaluate sims.npy --cxc x.csv", "give --image-ids FILE and --caption-ids FILE"),
        ("evaluate nowhere.npy --json dir.npy", "dir.npy cannot be written (it is a folder)"),
        ("compare nowhere.npy x.npy --csv file/o.csv", "file is not a folder"),
        ("phi cider nowhere.txt -o file/phi.npy", "file/phi.npy cannot be written"),
        ("phi cider nowhere.txt -o file/best --top-k 3", "cannot be written"),
        ("similarity nowhere -o file/s.npy", "file/s.npy cannot be written"),
        ("similarity nowhere -o s.npy --captions dir.npy", "dir.npy cannot be written"),
        ("similarity nowhere -o s.npy", "there is no weights.safetensors in it"),
        ("doctor --json dir.npy", "dir.npy cannot be written"),
    ],
)
def test_an_error_is_one_sentence_in_the_words_of_the_shell(run, files, arguments, sentence):
    before = sorted(Path().rglob("*"))
    said = run(*arguments.split())
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("Error: ") and said.err.count("\n") == 1 and sentence in said.err
    assert sorted(Path().rglob("*")) == before


def test_nan_is_located_in_the_file_whatever_the_fold(run, folder, monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "coco-1k-5fold", Protocol("coco-1k-5fold", 20, 100, 4, 5, "five folds of four"))
    broken = np.load("sims.npy").astype(np.float64)
    broken[13, 67] = np.nan
    np.save("nan.npy", broken)
    np.save("turned.npy", broken.T)
    for arguments in (
        ["evaluate", "nan.npy", "--dataset", "coco-1k-5fold"],
        ["compare", "sims.npy", "nan.npy", "--dataset", "coco-1k-5fold"],
    ):
        assert "nan.npy: similarity[13, 67] is nan (image 13, caption 67)" in run(*arguments).err
    assert "(image 13, caption 67)" in run("evaluate", "turned.npy", "--transposed").err


def test_folds_say_the_size_of_the_file_and_of_a_gallery(run, folder, monkeypatch):
    monkeypatch.setitem(PROTOCOLS, "coco-1k-5fold", Protocol("coco-1k-5fold", 20, 100, 4, 5, "five folds of four"))
    said = run("evaluate", "sims.npy", "--dataset", "coco-1k-5fold", "--csv", "o.csv")
    title = "sims.npy: 20 images, 100 captions; mean of 5 galleries of 4 images, 20 captions"
    assert said.out.splitlines()[0] == title
    header, first, *_ = Path("o.csv").read_text().splitlines()
    assert header.startswith("file,protocol,images,captions,galleries,file_images,file_captions,tie_rule,metric,")
    assert first.startswith("sims.npy,coco-1k-5fold,4,20,5,20,100,")


def test_phi_of_another_pairing_or_other_captions_is_refused(run, folder):
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(20), 5))
    Path("images.txt").write_text("".join(f"{image}\n" for image in order))
    Path("turned.txt").write_text("".join(reversed(Path("captions.txt").read_text().splitlines(keepends=True))))
    run("phi", "cider", "captions.txt", "-o", "other.npy", "--image-of-caption", "images.txt")
    run("phi", "cider", "turned.txt", "-o", "turned.npy")
    for arguments in ("evaluate sims.npy --phi other.npy", "compare sims.npy sims.npy --phi other.npy"):
        said = run(*arguments.split())
        assert said.code == 1 and "other.npy: phi was made with another list of whose caption" in said.err
    said = run("evaluate", "sims.npy", "--phi", "turned.npy", "--captions", "captions.txt", "--metric", "bleu2")
    assert said.code == 1 and "turned.npy: phi was made of other captions" in said.err


def test_wrong_options_end_with_2(run, folder):
    for arguments in (
        "evaluate",
        "evaluate sims.npy --no-such-option",
        "evaluate sims.npy --dataset bogus",
        "evaluate sims.npy --ks 0",
        "evaluate sims.npy --ks 1,x",
        "evaluate sims.npy --ncs-ms x",
        "evaluate sims.npy --map-cutoffs 0",
        "evaluate sims.npy --json - --csv -",
        "evaluate sims.npy --eccv --cxc x.csv",
        "compare sims.npy sims.npy --method bogus",
        "similarity x --split bogus -o o.npy",
    ):
        said = run(*arguments.split())
        assert said.code == 2 and "Usage: fivesentences" in said.err, arguments
    assert "--ks" in (said := run("evaluate", "sims.npy", "--ks", "1,x").err) and "such as 1,5,10" in said


def test_choices_are_those_of_the_library():
    assert set(get_args(Dataset)) == set(PROTOCOLS)


def test_help_keeps_its_square_brackets_and_says_the_version(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    said = run("evaluate", "--help").out
    assert "[images, captions]" in said and "[captions, dim]" in said and "[[" not in said
    assert all(len(line) <= 80 for line in said.splitlines())
    assert run("--version").out.startswith("fivesentences 0.")

"""`fivesentences embed` and what `evaluate` makes of its folders."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fivesentences.corpus import Corpus, Photographs
from fivesentences.documents import read_json
from fivesentences.encoders import CaptionedImages, EmbeddingFolder, EncoderSpec, embed, load_encoder
from fivesentences.encoders import embedding as module
from fivesentences.errors import InputError
from fivesentences.semantics.phi_file import captions_sha256
from fivesentences.storage import sha256_of

OF_FILES = ("--captions", "captions.txt", "--image-names", "images.txt")


@pytest.fixture(scope="module")
def once(clip, photographs, captions, tmp_path_factory):
    """A folder of embeddings by the tiny CLIP."""
    names = [f"{number}.png" for number in range(7)]
    subject = CaptionedImages(names, names, captions, np.arange(21) // 3, "captions.txt")
    encoder = load_encoder(EncoderSpec(encoder=f"transformers:{clip}"))
    return embed(encoder, subject, Photographs(photographs), tmp_path_factory.mktemp("once") / "clip").path


@pytest.fixture
def embedded(once, files):
    """A copy of it, ``clip``, in the working directory."""
    shutil.copytree(once, "clip")


def content(path="out.json"):
    return json.loads(Path(path).read_text())


def test_the_command_writes_the_vectors_of_the_encoder_and_says_how_and_of_what(
    run, files, once, clip, photographs, pictures, captions
):
    given = ("embed", f"transformers:{clip}", "--images", photographs, *OF_FILES, "-o", "clip", "--device", "cpu")
    said = run(*given)
    assert said.code == 0, said.err
    encoder = load_encoder(EncoderSpec(encoder=f"transformers:{clip}"))
    for name, wanted in (
        ("images", encoder.images([encoder.prepare(picture) for picture in pictures])),
        ("captions", encoder.captions(captions)),
    ):
        unit = wanted / np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(np.load(f"clip/{name}.npy"), unit, atol=1e-6)
        assert Path(f"clip/{name}.npy").read_bytes() == (once / f"{name}.npy").read_bytes()
    assert Path("clip/captions.txt").read_text() == Path("captions.txt").read_text()
    assert Path("clip/image_of_caption.txt").read_text().split() == [str(at // 3) for at in range(21)]
    assert len(list(Path("clip").iterdir())) == 5

    note = content("clip/embed.json")
    assert note["model"] == f"transformers:{clip}" and note["encoder"]["model_class"] == "CLIPModel"
    assert note["encoder"]["weights_sha256"] == sha256_of(clip / "model.safetensors")
    assert note["encoder"]["preprocessing"]["crop_size"] == {"height": 16, "width": 16}
    assert note["captions_sha256"] == captions_sha256(captions) == sha256_of(Path("captions.txt"))
    assert (note["prompt"], note["precision"], note["split"], note["dim"]) == ("{}", "float32", None, 12)
    lengths = [len(caption.replace(" ", "")) + 2 for caption in captions]
    assert note["truncated"] == sum(length > 10 for length in lengths) > 0
    assert f"{note['truncated']} captions are longer than the 10 tokens" in said.out

    before = {path: path.stat().st_mtime_ns for path in Path("clip").iterdir()}
    assert run(*given).code == 0  # which finds nothing to do
    assert before == {path: path.stat().st_mtime_ns for path in Path("clip").iterdir()}
    said = run(*given, "--prompt", "a {}")
    assert said.code == 1 and "holds embeddings of something else" in said.err


def test_what_is_embedded_can_be_in_a_zip_and_a_corpus(embedded, run, clip, photographs, captions):
    with zipfile.ZipFile("photographs.zip", "w") as archive:
        for path in sorted(photographs.iterdir()):
            archive.write(path, f"deep/{path.name}")
    rows = [
        {"image_id": f"id{at // 3}", "filename": f"{at // 3}.png", "caption_id": str(at), "caption": caption,
         "split": "dev" if at < 6 else "test", "category": None}
        for at, caption in enumerate(captions)
    ]  # fmt: skip
    Corpus("mine", pd.DataFrame(rows)).write("mine.parquet")
    given = ("--images", "photographs.zip", "--captions", "mine.parquet", "--device", "cpu")
    said = run("embed", f"transformers:{clip}", *given, "-o", "test")
    assert said.code == 0 and "mine/test, 15 captions of 5 images" in said.out
    np.testing.assert_allclose(np.load("test/images.npy"), np.load("clip/images.npy")[2:], atol=1e-6)
    np.testing.assert_allclose(np.load("test/captions.npy"), np.load("clip/captions.npy")[6:], atol=1e-6)
    note = content("test/embed.json")
    assert (note["dataset"], note["split"]) == ("mine", "test") and note["image_ids"][0] == "id2"


def test_captions_that_name_their_images_need_nothing_else(embedded, run, files, clip, photographs, captions):
    order = np.random.default_rng(0).permutation(21)
    annotations = [{"image_id": 50 - at // 3, "caption": captions[at]} for at in order.tolist()]
    images = [{"id": 50 - at, "file_name": f"{at}.png"} for at in range(7)]
    Path("coco.json").write_text(json.dumps({"images": images, "annotations": annotations}))
    given = ("embed", f"transformers:{clip}", "--images", photographs, "--captions", "coco.json", "--device", "cpu")
    said = run(*given, "-o", "coco")
    assert said.code == 0, said.err
    np.testing.assert_allclose(np.load("coco/images.npy"), np.load("clip/images.npy"), atol=1e-6)
    np.testing.assert_allclose(np.load("coco/captions.npy"), np.load("clip/captions.npy")[order], atol=1e-6)
    assert Path("coco/image_of_caption.txt").read_text().split() == [str(at // 3) for at in order]
    Path("images.txt").write_text("".join(f"{6 - at}.png\n" for at in range(7)))
    said = run(*given, "--image-names", "images.txt", "-o", "other")
    assert said.code == 1 and "coco.json" in said.err and "images.txt" in said.err


class Slow:
    """An encoder that is killed at some image."""

    device = "cpu"

    def __init__(self, dies_at=None, batch_size=2):
        self.dies_at, self.seen, self.facts = dies_at, [], {"weights_sha256": "none", "max_length": 5}
        self.spec = EncoderSpec(encoder="transformers:slow/model", batch_size=batch_size)

    def prepare(self, image):
        return np.asarray(image.resize((4, 4)), dtype=np.float32)

    def images(self, prepared):
        if self.dies_at is not None and len(self.seen) + len(prepared) > self.dies_at:
            raise KeyboardInterrupt
        self.seen += [float(one.sum()) for one in prepared]
        return np.stack([one.mean(axis=(0, 1)) for one in prepared])

    def captions(self, captions):
        return np.array([[len(caption), caption.count("a") + 1, 1] for caption in captions], dtype=np.float32)

    def truncated(self, captions):
        return 0


@pytest.fixture
def subject(captions):
    names = [f"{number}.png" for number in range(7)]
    return CaptionedImages(names, names, captions, np.arange(21) // 3, "captions.txt")


def test_a_killed_run_resumes_at_the_chunk_if_the_photographs_are_the_same(files, photographs, subject, monkeypatch):
    monkeypatch.setattr(module, "IMAGES_PER_CHUNK", 2)
    shutil.copytree(photographs, "copy")
    first, second, whole, other = Slow(dies_at=5), Slow(), Slow(), Slow()
    with pytest.raises(KeyboardInterrupt):
        embed(first, subject, Photographs("copy"), Path("out"))
    assert len(first.seen) == 4 and not Path("out/embed.json").exists()
    with pytest.raises(InputError, match=r"without embed\.json"):
        EmbeddingFolder.open("out")
    shutil.copytree("out", "changed")
    embed(second, subject, Photographs("copy"), Path("out"))
    embed(whole, subject, Photographs("copy"), Path("whole"))
    assert len(second.seen) == 3 and whole.seen == first.seen + second.seen
    for name in ("images.npy", "captions.npy", "embed.json"):
        assert Path("out", name).read_bytes() == Path("whole", name).read_bytes()
    shutil.copy(photographs / "3.png", "copy/0.png")
    embed(other, subject, Photographs("copy"), Path("changed"))
    assert len(other.seen) == 7


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_vector_without_direction_is_refused(files, photographs, subject, value):
    class Bad(Slow):
        def images(self, prepared):
            rows = super().images(prepared)
            rows[3] = value
            return rows

    with pytest.raises(InputError, match=r"vector of image '3\.png' is"):
        embed(Bad(batch_size=7), subject, Photographs(photographs), Path("out"))


def test_a_caption_with_a_line_break_stays_one_caption(files, photographs):
    names = [f"{number}.png" for number in range(7)]
    texts = ["two\nlines", *(f"caption {number}" for number in range(6))]
    embed(Slow(), CaptionedImages(names, names, texts, np.arange(7), "c.json"), Photographs(photographs), Path("out"))
    assert EmbeddingFolder.open("out").texts() == texts


# --- what the command refuses ------------------------------------------------------------------------------


def test_a_corrupt_image_is_named_and_what_is_done_is_kept(run, files, clip, photographs, monkeypatch):
    monkeypatch.setattr(module, "IMAGES_PER_CHUNK", 2)
    shutil.copytree(photographs, "copy")
    whole = Path("copy/5.png").read_bytes()
    Path("copy/5.png").write_bytes(whole[: len(whole) // 2])
    given = ("embed", f"transformers:{clip}", "--images", "copy", *OF_FILES, "-o", "out", "--device", "cpu")
    said = run(*given)
    assert said.code == 1 and "photograph '5.png': cannot be decoded" in said.err and "Traceback" not in said.err
    assert len(list(Path("out").glob(".images.unfinished/*/[!.]*.npz"))) == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--images", "PHOTOGRAPHS", "--captions", "captions.txt"), "--image-names"),
        (("--captions", "captions.txt", "--image-names", "images.txt"), "give --images"),
        (("--images", "PHOTOGRAPHS"), "give --captions"),
        (("--images", "nowhere", *OF_FILES), "nowhere"),
        (("--images", "PHOTOGRAPHS", "--captions", "flickr8", *OF_FILES[2:]), "did you mean 'flickr8k'"),
        (("--images", "PHOTOGRAPHS", *OF_FILES[:3], "six.txt"), "no whole number"),
        (("--images", "PHOTOGRAPHS", *OF_FILES[:3], "other.txt"), "there is no photograph 'x.png'"),
        (("--images", "PHOTOGRAPHS", *OF_FILES[:3], "twice.txt"), "'0.png' is given twice"),
        (("--images", "PHOTOGRAPHS", *OF_FILES, "--prompt", "none"), "places for a caption"),
        (("--images", "PHOTOGRAPHS", *OF_FILES, "--sha256", "AB" * 32), f"not {'ab' * 32}"),
        (("--images", "PHOTOGRAPHS", *OF_FILES, "--revision", "main"), "has no revisions"),
    ],
)
def test_what_does_not_fit_is_one_sentence(run, files, clip, photographs, given, said):
    names = [f"{number}.png\n" for number in range(7)]
    Path("six.txt").write_text("".join(names[:6]))
    Path("other.txt").write_text("".join([*names[:6], "x.png\n"]))
    Path("twice.txt").write_text("".join([*names[:6], "0.png\n"]))
    given = [str(photographs) if one == "PHOTOGRAPHS" else one for one in given]
    found = run("embed", f"transformers:{clip}", *given, "-o", "out", "--device", "cpu")
    assert found.code == 1 and said in found.err
    assert found.err.count("\n") == 1 and not Path("out").exists()


# --- evaluate ----------------------------------------------------------------------------------------------


def test_evaluate_scores_the_cosines_and_says_what_was_scored(embedded, run, captions):
    from fivesentences.evaluation import evaluate
    from fivesentences.semantics import cider_matrix

    said = run("evaluate", "clip", "--metric", "cider", "--json", "out.json")
    assert said.code == 0, said.err
    pairing = np.arange(21) // 3
    similarity = np.load("clip/images.npy") @ np.load("clip/captions.npy").T
    phi = cider_matrix(captions, pairing).astype(np.float32)
    wanted = evaluate(similarity, {"cider": phi}, image_of_caption=pairing)
    found = content()
    for one, other in zip(found["values"], wanted.values, strict=True):
        assert one["value"] == pytest.approx(other["value"], abs=1e-4)
    assert found["scored"]["captions_sha256"] == sha256_of(Path("captions.txt"))
    assert "21 captions of 7 images from captions.txt" in said.out and "their split is not known" in said.out
    assert {"embed.json", "images.npy", "captions.npy"} <= {Path(one["file"]).name for one in found["inputs"]}


def test_a_folder_may_score_caption_queries_alone(embedded, run):
    wanted = run("evaluate", "clip", "--json", "alone.json")
    assert run("evaluate", "clip,t2i=clip", "--json", "out.json").code == wanted.code == 0
    assert content()["values"] == json.loads(Path("alone.json").read_text())["values"]
    change_note({"image_ids": list("abcdefg")}, "other")
    said = run("evaluate", "clip,t2i=other")
    assert said.code == 1 and "clip and other have other images" in said.err


def test_a_phi_of_other_captions_is_refused(embedded, run, captions):
    swapped = [*captions[1:], captions[0]]
    Path("swapped.txt").write_text("".join(f"{caption}\n" for caption in swapped))
    for name in ("captions", "swapped"):
        assert run("phi", "cider", f"{name}.txt", "--per-image", "3", "-o", f"{name}_cider.npy").code == 0
    assert run("evaluate", "clip", "--phi", "captions_cider.npy").code == 0
    said = run("evaluate", "clip", "--phi", "swapped_cider.npy")
    assert said.code == 1 and "phi was made from other captions" in said.err
    said = run("evaluate", "clip", "--captions", "swapped.txt")
    assert said.code == 1 and "not those that clip embeds" in said.err and "first that differs is in line 1" in said.err


def change_note(changes, folder="clip"):
    if not Path(folder).exists():
        shutil.copytree("clip", folder)
    Path(folder, "embed.json").write_text(json.dumps(read_json(f"{folder}/embed.json") | changes))


def test_several_folders_share_a_table_if_they_are_of_the_same_captions(embedded, run):
    change_note({"prompt": "my {}"}, "prompted")
    said = run("evaluate", "clip", "mine=prompted", "--metric", "cider", "--csv", "all.csv")
    assert said.code == 0 and "prompt 'my {}'" in said.out
    assert {"clip", "mine"} == set(pd.read_csv("all.csv")["model"])
    change_note({"image_ids": list("abcdefg")}, "other")
    for split in ("dev", "test"):
        change_note({"split": split}, split)
    for pair, what in ((("clip", "other"), "images"), (("dev", "test"), "splits")):
        said = run("evaluate", *pair)
        assert said.code == 1 and f"{pair[0]} and {pair[1]} have other {what}" in said.err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"split": "dev"}, "the split 'dev', but --dataset flickr8k scores"),
        ({"split": "test", "dataset": "flickr30k"}, "embeddings of flickr30k, but --dataset flickr8k"),
    ],
)
def test_a_protocol_of_another_split_or_dataset_is_refused(embedded, run, change, said):
    change_note(change)
    found = run("evaluate", "clip", "--dataset", "flickr8k")
    assert found.code == 1 and said in found.err


@pytest.mark.slow
@pytest.mark.data
def test_flickr8k_is_embedded_by_its_name_and_scored_as_flickr8k_alone(run, files, clip, mirror, root):
    """All 1,000 photographs of the test split, in the order of the protocol."""
    catalogue = root / "config" / "datasets.yaml"
    given = ("--images", mirror / "flickr8k/Flickr8k_Dataset.zip", "--captions", "flickr8k", "--mirror", mirror)
    said = run("embed", f"transformers:{clip}", *given, "--catalogue", catalogue, "-o", "f8k", "--device", "cpu")
    assert said.code == 0, said.err
    note = content("f8k/embed.json")
    assert (note["dataset"], note["split"]) == ("flickr8k", "test")
    assert (note["captions"], len(note["image_ids"])) == (5000, 1000)
    said = run("captions", "flickr8k", "-o", "c.txt", "--mirror", mirror, "--catalogue", catalogue)
    assert sha256_of(Path("c.txt")) == note["captions_sha256"] == sha256_of(Path("f8k/captions.txt"))
    assert run("evaluate", "f8k", "--dataset", "flickr8k", "--captions", "c.txt", "--no-asp").code == 0
    said = run("evaluate", "f8k", "--dataset", "f30k")
    assert said.code == 1 and "holds embeddings of flickr8k" in said.err

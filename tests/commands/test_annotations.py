"""What is known of COCO's test split without any file of ids, and what is said about it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from fivesentences.commands.annotations import Annotations
from fivesentences.errors import InputError
from fivesentences.evaluation import coco_test_ids
from fivesentences.retrieval import Gallery

LINE = "COCO_val2014:sentid:{},COCO_val2014_{:012d}.jpg,4.5,c2i_original\n"


@pytest.fixture(scope="module")
def gallery():
    return Gallery.of(np.zeros((5000, 25_000), dtype=np.int8))


@pytest.fixture
def given(tmp_path, monkeypatch):
    """Annotations of the files in a folder, where the package eccv_caption is missing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    image_ids, caption_ids = coco_test_ids()
    Path("images.txt").write_text("".join(f"{number}\n" for number in image_ids))
    Path("captions.txt").write_text("".join(f"{number}\n" for number in caption_ids))
    rated = "".join(LINE.format(caption_ids[at], image_ids[at // 5]) for at in range(0, 25_000, 100))
    Path("sits.csv").write_text("caption,image,agg_score,sampling_method\n" + rated)

    def annotations(protocol="coco-5k", **files):
        found = Annotations(protocol, **{name: Path(file) for name, file in files.items()})
        found.check()
        return found

    return annotations


@pytest.mark.slow
@pytest.mark.parametrize(
    "files, missing",
    [
        ({}, "No --image-ids and --caption-ids given: images (the first is 391895) and captions (the first is 770337)"),
        ({"image_ids": "images.txt", "caption_ids": "captions.txt"}, ""),
    ],
)
def test_ids_of_cocos_test_split_are_known_without_the_extra(given, gallery, files, missing):
    arguments, notes = given(cxc="sits.csv", **files).read(gallery)
    assert np.argwhere(arguments["positives"]["CxC"].t2i.toarray().T).tolist() == [
        [at, at // 5] for at in range(0, 25_000, 100)
    ]
    assert len(notes) == bool(missing) and all(note.startswith(missing) for note in notes)
    assert all("a similarity does not show its order" in note for note in notes)


def test_the_first_fifth_needs_no_ids_for_labels(given, gallery):
    image_ids, _ = coco_test_ids()
    images = ", ".join(f'{{"id": {number}}}' for number in image_ids)
    objects = f'{{"image_id": {image_ids[2]}, "category_id": 7}}'
    Path("instances.json").write_text(f'{{"images": [{images}], "annotations": [{objects}]}}')
    first = Gallery.of(np.zeros((1000, 5000), dtype=np.int8))
    for whole in (first, gallery):
        arguments, notes = given("coco-1k-first", instances="instances.json").read(whole)
        assert np.argwhere(arguments["labels"]).tolist() == [[2, 6]]
        assert notes[0].startswith("No --image-ids given: images (the first is 391895) are taken")
    with pytest.raises(InputError, match=r"instances.json.*--image-ids FILE"):
        given(None, instances="instances.json")


@pytest.mark.data
def test_captions_show_that_the_order_is_the_usual_one(given, gallery, mirror):
    from fivesentences.corpus.karpathy import load_karpathy

    texts = list(load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco").captions)
    _, notes = given(cxc="sits.csv").read(gallery, Path("texts.txt"), texts)
    assert notes[0].endswith("Karpathy's order of COCO's test split; texts.txt has its captions in this order.")
    with pytest.raises(InputError, match=r"^texts.txt"):
        given(cxc="sits.csv").read(gallery, Path("texts.txt"), texts[-5:] + texts[:-5])


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"people": True}, "flickr8k"),
        ({"people": True, "dataset": "f30k"}, "flickr8k"),
        ({"data": Path("elsewhere")}, "--data"),
    ],
)
def test_people_judged_flickr8k_alone(given, named):
    with pytest.raises(InputError, match=named):
        Annotations(**given).check()


@pytest.mark.data
@pytest.mark.slow
def test_people_are_read_from_the_archive_of_the_mirror(mirror, tmp_path):
    given = Annotations("flickr8k", people=True, data=tmp_path, mirror=mirror)
    given.check()
    gallery = Gallery.of(np.zeros((1000, 5000), dtype=np.int8))
    arguments, notes = given.read(gallery)
    assert (tmp_path / "flickr8k" / "Flickr8k_text.zip").exists()
    assert len(arguments["judged"]["crowd.5"].queries) == 1000
    assert any("47,109" in note for note in notes)
    # The first two captions of each image: a caption in five is judged.
    some = gallery.first_captions(2)
    arguments, _ = given.read(some)
    assert arguments["judged"]["crowd.5"].shape == (1000, 2000)

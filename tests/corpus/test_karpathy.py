"""Karpathy's dataset files."""

from __future__ import annotations

import copy
import json
import zipfile

import pytest

from fivesentences.corpus import load_karpathy, take_fraction
from fivesentences.errors import InputError


def sentence(number):
    return {"raw": f"A dog . {number}", "imgid": 0, "sentid": number}


CONTENT = {
    "dataset": "coco",
    "images": [
        {
            "filepath": "val2014",
            "filename": "COCO_val2014_000000391895.jpg",
            "cocoid": 391895,
            "split": "restval",
            "sentids": [770337, 771687],
            "sentences": [sentence(770337), sentence(771687)],
        },
        {
            "filename": "36979.jpg",
            "split": "val",
            "sentences": [{"tokens": ["two", "cats"]}, {"raw": " a\tb\u2028c\n"}],
        },
        {"filename": "1.jpg", "split": "test", "sentences": [sentence(k) for k in range(7)]},
    ],
}


def json_file(path, content=CONTENT):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(json.dumps(content))
    return path


def test_ids_filenames_splits_and_captions_are_as_documented(tmp_path):
    corpus = load_karpathy(json_file(tmp_path / "dataset.json"), "coco")
    assert corpus.name == "coco"
    assert corpus.images.drop(columns="category").values.tolist() == [
        ["391895", "val2014/COCO_val2014_000000391895.jpg", "train"],
        ["36979", "36979.jpg", "dev"],
        ["1", "1.jpg", "test"],
    ]
    assert corpus.captions[:4] == ["A dog . 770337", "A dog . 771687", "two cats", "a b c"]
    assert corpus.caption_ids[:4] == ["770337", "771687", "36979#0", "36979#1"]
    assert corpus.split("test").n_captions == 7  # COCO has images with more than five


def of_coco(splits):
    """Images named after their place, with one to three captions in turn, in the order of the file."""
    captions = iter(range(1000))
    return {
        "images": [
            {"filename": f"{place}.jpg", "split": split, "sentences": [sentence(next(captions)) for _ in range(count)]}
            for place, split in enumerate(splits)
            for count in [1 + place % 3]
        ]
    }


def test_released_order_has_restval_last_and_leaves_everything_else_in_place(tmp_path):
    splits = ["test", "restval", "val", "restval", "test", "train", "train", "val"]
    path = json_file(tmp_path / "dataset.json", of_coco(splits))
    assert load_karpathy(path, "coco").images["image_id"].tolist() == list("01234567")
    released = load_karpathy(path, "coco", order="released")
    assert released.images["image_id"].tolist() == list("02456713")
    for split, images in (("train", "5613"), ("dev", "27"), ("test", "04")):
        assert released.split(split).images["image_id"].tolist() == list(images)
    assert released.split("val").images["image_id"].tolist() == ["2", "7"]
    with pytest.raises(InputError, match="restval"):  # a part of train, which is not told from the rest
        released.split("restval")
    assert released.table.sort_values("image_id", kind="stable")["caption_id"].tolist() == [str(k) for k in range(15)]
    assert released.read_as == {"order": "released", "captions_per_image": "all"}


def test_the_first_captions_of_each_image_are_kept_if_so_many_are_asked_for(tmp_path):
    path = json_file(tmp_path / "dataset.json", of_coco(["train", "restval", "test"]))  # with 1, 2 and 3 captions
    corpus = load_karpathy(path, "coco", captions_per_image=2)
    assert corpus.caption_ids == ["0", "1", "2", "3", "4"] and load_karpathy(path, "coco").n_captions == 6
    assert corpus.read_as == {"order": "file", "captions_per_image": 2}
    with pytest.raises(InputError, match=r"captions_per_image.*0"):
        load_karpathy(path, "coco", captions_per_image=0)


def test_a_file_a_folder_and_a_zip_give_the_same_corpus(tmp_path, zipped):
    file = json_file(tmp_path / "folder" / "dataset.json")
    archive = zipped("d.zip", {"coco/dataset.json": CONTENT, "__MACOSX/coco/._dataset.json": {}})
    tables = [load_karpathy(path, "coco").table for path in (file, file.parent, archive)]
    assert tables[0].equals(tables[1]) and tables[0].equals(tables[2])


def test_of_several_files_the_member_or_the_datasets_own_is_read(zipped):
    other = CONTENT | {"images": CONTENT["images"][2:]}
    path = zipped("d.zip", {"dataset_coco.json": CONTENT, "x/dataset_flickr30k.json": other})
    assert load_karpathy(path, "coco").n_images == 3
    assert load_karpathy(path, "flickr30k").n_images == 1
    assert load_karpathy(path, "mine", member="dataset_flickr30k.json").n_images == 1
    with pytest.raises(InputError, match=r"dataset_coco\.json.*x/dataset_flickr30k\.json"):
        load_karpathy(path, "mine")
    with pytest.raises(InputError, match=r"'dataset_flickr8k.json'"):
        load_karpathy(path, "mine", member="dataset_flickr8k.json")
    with pytest.raises(InputError, match="json"):
        load_karpathy(zipped("none.zip", {"readme.txt": {}}), "mine")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda images: images.clear(), "'coco' has no images"),
        (lambda images: images[1].pop("filename"), "images[1]: filename is None"),
        (lambda images: images[1].update(split=""), "images[1]: split is ''"),
        (lambda images: images[1].update(sentences=[]), "images[1] ('36979.jpg'): it has no sentences"),
        (lambda images: images[0]["sentences"].pop(), "has 1 sentences but 2 sentids; one is missing"),
        (lambda images: images[2]["sentences"][3].update(raw=" \n"), "images[2] ('1.jpg'), sentence 3 is empty"),
        (lambda images: images[2]["sentences"][3].pop("raw"), "sentence 3: it has neither"),
        (lambda images: images[2]["sentences"][3].update(sentid=0), "caption_id '0' occurs twice"),
        (lambda images: images.insert(1, "x"), "images[1]: it is str"),
    ],
)
def test_a_damaged_dataset_is_one_sentence(tmp_path, refused, change, sentence):
    content = copy.deepcopy(CONTENT)
    change(content["images"])
    with refused(sentence):
        load_karpathy(json_file(tmp_path / "dataset.json", content), "coco")


@pytest.mark.data
def test_flickr30k_has_29000_1014_1000_images_of_five_captions(mirror):
    corpus = load_karpathy(mirror / "flickr30k" / "flickr30k.zip", "flickr30k")
    assert corpus.images["split"].value_counts().to_dict() == {"train": 29000, "dev": 1014, "test": 1000}
    assert corpus.n_captions == 5 * 31_014


# From COCO's train_ids.txt, one line per image, of CrossmodalGroup/LAPS at 355a43b: lines 1 to 5, and lines 82,780 to
# 82,790, where the images of val2014 begin. Lines 6 to 82,779, all of train2014, are left out here.
RELEASED_TRAIN2014 = [57870, 384029, 222016, 520950, 69675, 565004, 516168, 547503, 475546]
RELEASED_RESTVAL = [522418, 318219, 554625, 397133, 574769, 309022, 5802]


def test_the_training_images_of_coco_have_the_order_of_the_released_ids(tmp_path):
    parts = (("restval", RELEASED_RESTVAL), ("train", RELEASED_TRAIN2014))  # all of val2014 comes first in the file
    content = [
        {
            "filename": f"{image}.jpg",
            "cocoid": image,
            "split": split,
            "sentences": [sentence(6 * image + k) for k in range(6)],
        }
        for split, part in parts
        for image in part
    ]
    file = json_file(tmp_path / "dataset.json", {"images": content})
    train = load_karpathy(file, "coco", order="released", captions_per_image=5).split("train")
    released = [str(image) for image in RELEASED_TRAIN2014 + RELEASED_RESTVAL]
    assert train.images["image_id"].tolist() == released and train.n_captions == 5 * 16
    assert take_fraction(train, 0.25).images["image_id"].tolist() == released[:4]
    assert take_fraction(load_karpathy(file, "coco").split("train"), 0.25).images["image_id"][0] == "522418"


@pytest.mark.data
def test_coco_test_5k_has_5000_images_of_five_captions_in_file_order(mirror):
    corpus = load_karpathy(mirror / "coco" / "coco_test5k.zip", "coco")
    assert (corpus.splits, corpus.n_images, corpus.n_captions) == (["test"], 5000, 25_000)
    with zipfile.ZipFile(mirror / "coco" / "coco_test5k.zip") as file:
        images = json.loads(file.read("coco/dataset_test5k.json"))["images"]
    assert corpus.images["image_id"].tolist() == [str(image["cocoid"]) for image in images]
    assert corpus.caption_ids == [str(number) for image in images for number in image["sentids"]]

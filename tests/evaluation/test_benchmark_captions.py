"""The captions of a benchmark, in the order of its published split."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import read
from fivesentences.errors import InputError
from fivesentences.evaluation.benchmark_captions import benchmark_split
from fivesentences.evaluation.protocols import PROTOCOLS

CATALOGUE = read(Catalogue, Path(__file__).parents[2] / "config" / "datasets.yaml")


def karpathy(folder: Path, images: int, per_image: int) -> Path:
    """Flickr30K's file with so many test images and captions of each, among which are images of other splits."""
    (folder / "flickr30k").mkdir(parents=True)
    content = [
        {
            "filename": f"{number}.jpg",
            "split": ("test", "val", "train")[number % 3],
            "sentences": [{"raw": f"{number} {sentence}"} for sentence in range(per_image)],
        }
        for number in range(3 * images)
    ]
    with zipfile.ZipFile(folder / "flickr30k" / "flickr30k.zip", "w") as archive:
        archive.writestr("dataset_flickr30k.json", json.dumps({"images": content}))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("per_image", [5, 7])  # a few images of MS-COCO have six or seven
def test_the_first_five_captions_of_each_image_in_file_order(tmp_path, per_image):
    folder = karpathy(tmp_path, 1000, per_image)
    found = benchmark_split("f30k", "test", CATALOGUE, [tmp_path / "absent", folder])
    assert found.captions == [f"{3 * image} {sentence}" for image in range(1000) for sentence in range(5)]
    assert benchmark_split("f30k", "dev", CATALOGUE, [folder]).captions[:6] == [*(f"1 {n}" for n in range(5)), "4 0"]


def test_another_number_of_images_and_a_missing_file_are_one_sentence(tmp_path):
    folder = karpathy(tmp_path, 999, 5)
    with pytest.raises(InputError, match="4,995"):
        benchmark_split("f30k", "test", CATALOGUE, [folder])
    with pytest.raises(InputError, match=r"Flickr8k_text\.zip"):
        benchmark_split("flickr8k", "test", CATALOGUE, [folder])


@pytest.mark.data
@pytest.mark.parametrize("protocol", ["flickr8k", "coco-5k"])
def test_captions_are_those_of_the_published_files(mirror, protocol):
    found = benchmark_split(protocol, "test", CATALOGUE, [mirror])
    assert (found.n_images, found.n_captions) == PROTOCOLS[protocol].split
    assert (found.image_of_caption == [row // 5 for row in range(found.n_captions)]).all()
    if protocol != "flickr8k":
        path, member = {"f30k": ("flickr30k/flickr30k.zip", "flickr30k/dataset.json")}.get(
            protocol, ("coco/coco_test5k.zip", "coco/dataset_test5k.json")
        )
        with zipfile.ZipFile(mirror / path) as archive:
            images = json.loads(archive.read(member))["images"]
        sentences = [one for image in images if image["split"] == "test" for one in image["sentences"][:5]]
        assert found.captions == [" ".join((one.get("raw") or " ".join(one["tokens"])).split()) for one in sentences]

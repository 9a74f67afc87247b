"""Small upstream files of the papers' scale, in their original layouts, from drawn scenes: a dress rehearsal.

A folder gets ``mirror`` (what is downloaded, with its ``SHA256SUMS``) and ``data`` (folders that are unpacked): 1 GB in
all, a minute. ``wire.py`` offers them as their hosts do, and runs the scale. ``rehearsal.yaml`` says how that is
smaller than ``config/paper.yaml``.
"""

from __future__ import annotations

import html
import io
import json
import math
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import timm
import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from scipy.io import savemat

from fivesentences.features.detectors.network import BottomUpNetwork, Widths, flavour_named
from fivesentences.reproduction.scenes import DescribedScene, compose, truth_of
from fivesentences.reproduction.scenes.drawing import draw_scene
from fivesentences.reproduction.scenes.world import KINDS
from fivesentences.storage import sha256_of, write_lines

# --- images -----------------------------------------------------------------------------------------------------------

JPEG_QUALITY = 85
FOLDER = {"train": "train2014", "restval": "val2014", "val": "val2014", "test": "val2014"}  # of COCO


class UpstreamImage(NamedTuple):
    """One image as a dataset has it.

    Attributes:
        described: What it shows, and its five captions.
        number: ``imgid``: its place in Karpathy's file.
        split: train, restval, val or test.
        filename: Without its folder.
        folder: ``filepath`` of COCO; empty for Flickr30K.
        coco_id: COCO's number of the image; None for Flickr30K.
    """

    described: DescribedScene
    number: int
    split: str
    filename: str
    folder: str
    coco_id: int | None

    @property
    def captions(self) -> dict[int, str]:
        """Its five captions, as people wrote them, by ``sentid``."""
        return {5 * self.number + place: caption.text for place, caption in enumerate(self.described.captions)}

    @property
    def kinds(self) -> list[int]:
        """Numbers of the kinds of things that are drawn, from 1, each once."""
        return sorted({KINDS.index(thing.kind) + 1 for thing in self.described.scene.things})


def images_of(dataset: str, seed: int, sizes: Mapping[str, int]) -> list[UpstreamImage]:
    """Images named like the dataset's; splits take turns, as in the original file.

    ``1000092795.jpg`` of Flickr30K; ``COCO_val2014_000000000042.jpg``, in ``train2014`` and ``val2014``, of COCO.
    """
    places = [((place + 0.5) / size, split) for split, size in sizes.items() for place in range(size)]
    splits = [split for _, split in sorted(places)]
    images = []
    for number, (one, split) in enumerate(zip(compose(seed, len(splits)), splits, strict=True)):
        filename, folder, coco_id = f"{1_000_092_795 + 7_919 * number}.jpg", "", None
        if dataset == "coco":
            coco_id, folder = 42 + 53 * number, FOLDER[split]
            filename = f"COCO_{folder}_{coco_id:012d}.jpg"
        images.append(UpstreamImage(one, number, split, filename, folder, coco_id))
    return images


def write_photographs(path: Path, folder: str, images: Iterable[UpstreamImage]) -> None:
    """A zip archive of photographs below a folder; the same images give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for image in images:
            add_entry(archive, f"{folder}/{image.filename}", jpeg_of(image.described))


def jpeg_of(described: DescribedScene) -> bytes:
    """A scene as a JPEG."""
    picture = io.BytesIO()
    draw_scene(described.scene).save(picture, "JPEG", quality=JPEG_QUALITY)
    return picture.getvalue()


def add_entry(archive: zipfile.ZipFile, name: str, data: bytes | str) -> None:
    """Add a file without the time of day, so that equal content gives equal archives."""
    entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    entry.create_system, entry.external_attr = 3, 0o644 << 16
    entry.compress_type = archive.compression
    archive.writestr(entry, data)


# --- captions, annotations and judgements: Karpathy's JSON, COCO's, CxC's ---------------------------------------------

BEST = 5.0  # of CxC's ratings; the worst is 0
STEP = 7  # the n-th caption of an image was judged with the image 1 + STEP * n further on, too
MARKS = re.compile(r"[^\w\s]")  # of punctuation, which the releases' tokeniser keeps


def write_karpathy(path: Path, datasets: Mapping[str, Sequence[UpstreamImage]]) -> None:
    """``caption_datasets.zip``: one ``dataset_<name>.json`` for each dataset."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, images in datasets.items():
            content = {"images": [_karpathy_image(image) for image in images], "dataset": name}
            add_entry(archive, f"dataset_{name}.json", json.dumps(content))


def _karpathy_image(image: UpstreamImage) -> dict[str, Any]:
    of_coco = {} if image.coco_id is None else {"filepath": image.folder, "cocoid": image.coco_id}
    return of_coco | {
        "sentids": list(image.captions),
        "filename": image.filename,
        "imgid": image.number,
        "split": image.split,
        "sentences": [
            {"tokens": words_of(caption), "raw": caption, "imgid": image.number, "sentid": sentid}
            for sentid, caption in image.captions.items()
        ],
    }


def words_of(caption: str) -> list[str]:
    """Words in lower case without punctuation, as Karpathy's files have them."""
    return re.findall(r"[a-z0-9']+", caption.lower())


def write_annotations(path: Path, images: Sequence[UpstreamImage]) -> None:
    """``annotations_trainval2014.zip``: instances and captions of both parts of COCO."""
    categories = [{"id": number, "name": kind} for number, kind in enumerate(KINDS, 1)]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in ("train2014", "val2014"):
            part = [image for image in images if image.folder == folder]
            listed = [{"id": one.coco_id, "file_name": one.filename, "width": 224, "height": 168} for one in part]
            things = [(image.coco_id, kind) for image in part for kind in image.kinds]
            instances = [
                {"id": number, "image_id": coco_id, "category_id": kind, "iscrowd": 0}
                for number, (coco_id, kind) in enumerate(things, 1)
            ]
            captions = [
                {"image_id": image.coco_id, "id": sentid, "caption": caption}
                for image in part
                for sentid, caption in image.captions.items()
            ]
            for name, content in (
                ("instances", {"images": listed, "annotations": instances, "categories": categories}),
                ("captions", {"images": listed, "annotations": captions}),
            ):
                add_entry(archive, f"annotations/{name}_{folder}.json", json.dumps(content))


def write_cxc(path: Path, images: Sequence[UpstreamImage]) -> None:
    """``sits_test.csv``: test captions with their own image and with others, rated by what is true of them."""
    test = [image for image in images if image.split == "test"]
    truth = truth_of([image.described for image in test])  # [captions, images]
    lines = ["caption,image,agg_score,sampling_method"]
    for row, image in enumerate(test):
        for number, sentid in enumerate(image.captions):
            for other in {row, (row + 1 + number * STEP) % len(test)}:
                score = BEST * float(truth[5 * row + number, other])
                method = "c2i_original" if other == row else "c2i_intrasim"
                lines.append(f"COCO_val2014:sentid:{sentid},{test[other].filename},{score:.4f},{method}")
    write_lines(path, lines)


def write_vocabulary(path: Path, images: Sequence[UpstreamImage]) -> None:
    """``<name>_precomp_vocab.json``: words and punctuation marks of the captions, numbered as the releases do."""
    texts = [caption for image in images for caption in image.captions.values()]
    words = sorted({word for text in texts for word in (*words_of(text), *MARKS.findall(text))})
    number_of = {word: number for number, word in enumerate(["<pad>", "<start>", "<end>", "<unk>", *words])}
    word_of = {str(number): word for word, number in number_of.items()}
    path.write_text(json.dumps({"word2idx": number_of, "idx2word": word_of, "idx": len(number_of)}), encoding="utf-8")


# --- precomp folders, as SCAN, VSRN, CVSE, SGRAF and DAA read them ----------------------------------------------------

REGIONS, DIM = 36, 2048
SPLITS = {"train": ("train", "restval"), "dev": ("val",), "test": ("test",)}
NOISE = 0.5  # beside a direction of length about 1 per number


def write_precomp(
    folder: Path, images: Sequence[UpstreamImage], dev: int | None = None, test: int | None = None
) -> None:
    """Write ``{train,dev,test}_{ims.npy,caps.txt,ids.txt}``.

    As in the releases, train has one row per image, the other splits repeat each row five times, ids are COCO's or the
    places in Karpathy's file and stand once per caption, and numbers are at least 0.

    Args:
        folder: Such as ``coco_precomp``.
        images: All images of the dataset.
        dev: ``dev`` has so many first images; None: all. That of COCO has 1,000 of 5,000.
        test: ``test`` has so many first test images, and ``testall`` all of them; None: ``test`` has all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts = {split: [image for image in images if image.split in names] for split, names in SPLITS.items()}
    parts["dev"] = parts["dev"][:dev]
    if test is not None:
        parts = parts | {"test": parts["test"][:test], "testall": parts["test"]}
    directions = np.random.default_rng(0).normal(size=(len(KINDS) + 1, DIM)).astype(np.float32)
    for split, part in parts.items():
        features = np.stack([_regions(image, directions) for image in part])
        np.save(folder / f"{split}_ims.npy", features if split == "train" else features.repeat(5, axis=0))
        write_lines(folder / f"{split}_caps.txt", [text for image in part for text in image.captions.values()])
        ids = [image.coco_id or image.number for image in part for _ in range(5 if split != "train" else 1)]
        write_lines(folder / f"{split}_ids.txt", ids)


def _regions(image: UpstreamImage, directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """``[36, 2048]``: the things of the scene take turns, with noise of their own."""
    kinds = image.kinds or [0]
    rng = np.random.default_rng(image.number)
    noise = rng.normal(scale=NOISE, size=(REGIONS, DIM)).astype(np.float32)
    rows = directions[[kinds[number % len(kinds)] for number in range(REGIONS)]] + noise
    return np.asarray(np.maximum(rows, 0), dtype=np.float32)


# --- documents of category retrieval ----------------------------------------------------------------------------------

WIKIPEDIA = ("art", "biology", "geography", "history", "literature", "media", "music", "royalty", "sport", "warfare")
# The ten most frequent of NUS-WIDE among pictures of one concept, and two that are too rare to be taken.
CONCEPTS = ("animal", "clouds", "flowers", "food", "grass", "person", "sky", "toy", "water", "window", "moon", "train")
LOW_LEVEL = {"CH": 64, "CM55": 225, "CORR": 144, "EDH": 73, "WT": 128}  # the original widths
MAT_TEXT = 116  # bytes of text that a .mat begins with
PASCAL = ("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
          "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor")  # fmt: skip


def write_wikipedia(folder: Path, train: int, test: int, seed: int) -> None:
    """``raw_features.mat`` with its lists: 128 SIFT words, 10 topics; every other article has two sections.

    ``wikipedia_dataset.zip``, as the original, has below one folder these files, ``texts/<text>.xml`` and
    ``images/<category>/<image>.jpg``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rng, matrices, sections = np.random.default_rng(seed), {}, list[tuple[str, str, str]]()
    for part, size, suffix in (("trainset", train, "tr"), ("testset", test, "te")):
        category = np.arange(size) % len(WIKIPEDIA)
        matrices[f"I_{suffix}"] = _shares(rng, category, 128)
        matrices[f"T_{suffix}"] = _shares(rng, category, 10)
        # Sections of ten articles follow each other; every other article has a second one.
        articles = [number - len(WIKIPEDIA) * (number // len(WIKIPEDIA) % 2) for number in range(size)]
        first = len(sections)
        sections += [
            (f"{part}{article:04d}-{number + 1}", f"{first + number:032x}", WIKIPEDIA[code])
            for number, (article, code) in enumerate(zip(articles, category, strict=True))
        ]
        write_lines(
            folder / f"{part}_txt_img_cat.list",
            [f"{text}\t{image}\t{WIKIPEDIA.index(name) + 1}" for text, image, name in sections[first:]],
        )
    with (folder / "raw_features.mat").open("w+b") as out:
        savemat(out, matrices)
        out.seek(0)  # its text says when it was made, and equal content shall give equal bytes
        out.write(b"MATLAB 5.0 MAT-file".ljust(MAT_TEXT))
    write_lines(folder / "categories.list", WIKIPEDIA)
    inside = "wikipedia_dataset"
    with zipfile.ZipFile(folder / f"{inside}.zip", "w", zipfile.ZIP_STORED) as archive:
        for path in (*sorted(folder.glob("*.list")), folder / "raw_features.mat"):
            add_entry(archive, f"{inside}/{path.name}", path.read_bytes())
        for (text, image, name), one in zip(sections, compose(seed, len(sections)), strict=True):
            words = "\n".join(html.escape(caption.text) for caption in one.captions)
            content = (
                f'<?xml version="1.0" encoding="UTF-8" ?>\n<document name="{name} {text}">\n<text>\n{words}\n'
                f'</text>\n<imageset><image id="{image}"></image></imageset>\n</document>\n'
            )
            add_entry(archive, f"{inside}/texts/{text}.xml", content)
            add_entry(archive, f"{inside}/images/{name}/{image}.jpg", jpeg_of(one))


def _shares(rng: np.random.Generator, category: NDArray[np.intp], dim: int) -> NDArray[np.float64]:
    """``[documents, dim]`` shares that sum to 1, more alike within a category."""
    weights = np.random.default_rng(dim).gamma(0.3, size=(len(WIKIPEDIA), dim))  # the same for train and test
    values = rng.gamma(0.5 + weights[category])
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def write_nus_wide(folder: Path, per_concept: int, seed: int) -> None:
    """ImageList, Groundtruth, NUS_WID_Tags and Low_Level_Features, in the order of training before test."""
    rng = np.random.default_rng(seed)
    counts = [per_concept if number < 10 else 2 for number in range(len(CONCEPTS))]
    only = np.repeat(np.arange(len(CONCEPTS)), counts)
    has = np.eye(len(CONCEPTS), dtype=np.int64)[only]
    has = np.concatenate([has, has[:10] | np.roll(has[:10], 1, axis=1), np.zeros((10, len(CONCEPTS)), np.int64)])
    has = has[rng.permutation(len(has))]
    names = [f"folder\\{number % 100:04d}_{2_124_494_179 + number}.jpg" for number in range(len(has))]
    halves = {"Train": slice(0, len(has) * 3 // 5), "Test": slice(len(has) * 3 // 5, None)}
    low = {name: _descriptors(rng, has, width) for name, width in LOW_LEVEL.items()}
    likely = 0.4 * np.repeat(has, 10, axis=1)  # some tags of the photograph's concepts, and any one
    tags = (rng.random(likely.shape) < likely).astype(np.int64)
    tags[np.arange(len(has)), rng.integers(0, likely.shape[1], len(has))] = 1
    for part in ("ImageList", "Groundtruth/AllLabels", "Groundtruth/TrainTestLabels", "NUS_WID_Tags",
                 "Low_Level_Features"):  # fmt: skip
        (folder / part).mkdir(parents=True, exist_ok=True)
    write_lines(folder / "ImageList/Imagelist.txt", names)
    write_lines(folder / "NUS_WID_Tags/TagList1k.txt", _TAGS)
    for column, concept in enumerate(CONCEPTS):
        write_lines(folder / f"Groundtruth/AllLabels/Labels_{concept}.txt", has[:, column])
    for half, rows in halves.items():
        write_lines(folder / f"ImageList/{half}Imagelist.txt", names[rows])
        _write_table(folder / f"NUS_WID_Tags/{half}_Tags1k.dat", tags[rows])
        for column, concept in enumerate(CONCEPTS):
            write_lines(folder / f"Groundtruth/TrainTestLabels/Labels_{concept}_{half}.txt", has[rows, column])
        for name, values in low.items():
            _write_table(folder / f"Low_Level_Features/{half}_Normalized_{name}.dat", values[rows])


_TAGS = [f"{concept}{number}" for concept in CONCEPTS for number in range(10)]


def _descriptors(rng: np.random.Generator, has: NDArray[np.int64], dim: int) -> NDArray[np.float64]:
    means = rng.random((has.shape[1], dim))
    values = has @ means + 0.3 * rng.random((len(has), dim))
    return np.asarray(np.round(values / values.max(), 6))


def _write_table(path: Path, values: NDArray[np.generic]) -> None:
    """Numbers separated by spaces; lines end in one, as in the original."""
    write_lines(path, [" ".join(map(str, row)) + " " for row in values.tolist()])


def write_pascal_sentences(folder: Path, per_category: int, seed: int) -> None:
    """The captions as JSON, and photographs in one folder per category."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = _by_setting(compose(seed, 12 * per_category * len(PASCAL)), per_category)
    named = [(category, f"2008_{number:06d}.jpg", one) for number, (category, one) in enumerate(drawn)]
    content = {
        name: {"category": category, "captions": [caption.text for caption in one.captions]}
        for category, name, one in named
    }
    (folder / "pascal_sentences.json").write_text(json.dumps(content), encoding="utf-8")
    with zipfile.ZipFile(folder / "photographs.zip", "w", zipfile.ZIP_STORED) as archive:
        for category, name, one in named:
            add_entry(archive, f"pascal_sentences/{category}/{name}", jpeg_of(one))


def _by_setting(described: Sequence[DescribedScene], per_category: int) -> list[tuple[str, DescribedScene]]:
    """So many scenes for each of the twenty categories; each category has scenes of one setting and one kind of day."""
    settings = sorted({(one.scene.setting, len(words_of(one.captions[0].text)) % 2) for one in described})
    found: list[tuple[str, DescribedScene]] = []
    for number, category in enumerate(PASCAL):
        setting = settings[number % len(settings)]
        alike = [one for one in described if (one.scene.setting, len(words_of(one.captions[0].text)) % 2) == setting]
        offset = per_category * (number // len(settings))
        found += [(category, alike[(offset + place) % len(alike)]) for place in range(per_category)]
    return found


# --- weights of networks ----------------------------------------------------------------------------------------------


def write_weights(path: Path, network: str, seed: int) -> None:
    """A safetensors file that timm loads as the weights of one of its networks.

    Matrices and convolutions are scaled so that numbers neither vanish nor explode on their way (He et al. 2015); what
    belongs to batch normalisation leaves its input as it is.

    Args:
        path: The file.
        network: As timm names it, such as ``vgg19``.
        seed: The same gives the same bytes.
    """
    with torch.device("meta"):  # the names and shapes alone: to initialise VGG19 takes longer than to draw it
        shapes = {key: tuple(tensor.shape) for key, tensor in timm.create_model(network).state_dict().items()}
    save_file(drawn_weights(shapes, seed), path)


def drawn_weights(shapes: Mapping[str, tuple[int, ...]], seed: int) -> dict[str, torch.Tensor]:
    """Tensors of these names and shapes, see ``write_weights``."""
    rng, tensors = np.random.default_rng(seed), {}
    for key, shape in shapes.items():
        if len(shape) > 1:
            scale = math.sqrt(2 / math.prod(shape[1:]))
            tensors[key] = torch.from_numpy(rng.standard_normal(shape, dtype=np.float32)).mul_(scale)
        elif key.endswith("num_batches_tracked"):
            tensors[key] = torch.zeros(shape, dtype=torch.int64)
        else:
            ones = key.endswith("running_var") or (key.endswith("weight") and len(shape) == 1)
            tensors[key] = torch.full(shape, float(ones))
    return tensors


# A detector of every layer of the published one, narrow: 250 MB would be too much here.
NARROW = Widths(stem=8, bottleneck=4, out=16, proposals=16, classes=20, attributes=8, embedding=8, attribute_hidden=16)


def detector_weights(flavour: str, seed: int) -> dict[str, torch.Tensor]:
    """The 536 tensors of a narrow bottom-up attention network.

    Each residual block adds a tenth of its own, or 33 of them would make numbers that every class and box saturates at.
    """
    network = BottomUpNetwork(flavour_named(flavour), NARROW)
    anchors = {key: tensor for key, tensor in network.state_dict().items() if "cell_anchors" in key}
    shapes = {key: tuple(tensor.shape) for key, tensor in network.state_dict().items()}
    drawn = drawn_weights(shapes, seed) | anchors
    for key, tensor in drawn.items():
        if key.endswith(("conv3.norm.weight", "anchor_deltas.weight", "bbox_pred.weight")):
            tensor.mul_(0.1)
    return drawn


# --- all of them ------------------------------------------------------------------------------------------------------

MIRROR, UNPACKED = "mirror", "data"
WEIGHTS = {"vgg19": "vgg19.tv_in1k", "resnet152": "resnet152.tv_in1k"}  # names of the catalogue
SUMS = "SHA256SUMS"


@dataclass(frozen=True)
class Sizes:
    """How many of each; the defaults are enough for every rule, batch and fold.

    Attributes:
        flickr30k: Images of each split.
        coco: Images of each split; ``test`` in folds of a fifth.
        wikipedia: Documents for training and for test.
        nus_wide: Photographs of each of its ten most frequent concepts.
        pascal: Photographs of each of its twenty categories.
    """

    flickr30k: Mapping[str, int] = field(default_factory=lambda: {"train": 40, "val": 8, "test": 12})
    coco: Mapping[str, int] = field(default_factory=lambda: {"train": 45, "restval": 15, "val": 10, "test": 20})
    wikipedia: tuple[int, int] = (60, 40)
    nus_wide: int = 40
    pascal: int = 3


def write_upstream(folder: Path, sizes: Sizes | None = None, seed: int = 2014) -> None:
    """Write the files; equal arguments give equal bytes, and files that are there are written again.

    Args:
        folder: Gets ``mirror``, with the files of ``config/datasets.yaml`` and their ``SHA256SUMS``, and ``data``, with
            folders as they are once unpacked: ``f30k_precomp``, ``coco_precomp`` and ``nus_wide``.
        sizes: How many of each.
        seed: Of the scenes and the weights.
    """
    sizes, mirror, unpacked = sizes or Sizes(), Path(folder) / MIRROR, Path(folder) / UNPACKED
    for name in ("flickr30k", "coco", "cxc", "weights"):
        (mirror / name).mkdir(parents=True, exist_ok=True)
    for number, (network, weights) in enumerate(WEIGHTS.items()):
        write_weights(mirror / "weights" / f"{weights}.safetensors", network, seed + number)
    flickr30k, coco = images_of("flickr30k", seed, sizes.flickr30k), images_of("coco", seed + 1, sizes.coco)
    both = {"flickr30k": flickr30k, "coco": coco}
    write_karpathy(mirror / "flickr30k" / "flickr30k.zip", both)
    write_karpathy(mirror / "coco" / "caption_datasets.zip", both)
    write_photographs(mirror / "flickr30k" / "flickr30k-images.zip", "flickr30k-images", flickr30k)
    for part in ("train2014", "val2014"):
        write_photographs(mirror / "coco" / f"{part}.zip", part, [image for image in coco if image.folder == part])
    write_annotations(mirror / "coco" / "annotations_trainval2014.zip", coco)
    write_cxc(mirror / "cxc" / "sits_test.csv", coco)
    write_vocabulary(mirror / "flickr30k" / "f30k_precomp_vocab.json", flickr30k)
    write_vocabulary(mirror / "coco" / "coco_precomp_vocab.json", coco)
    write_wikipedia(mirror / "wikipedia", *sizes.wikipedia, seed=seed + 2)
    write_pascal_sentences(mirror / "pascal_sentences", sizes.pascal, seed=seed + 3)
    write_precomp(unpacked / "f30k_precomp", flickr30k)
    write_precomp(unpacked / "coco_precomp", coco, dev=sizes.coco["val"] // 2, test=sizes.coco["test"] // 5)
    write_nus_wide(unpacked / "nus_wide", sizes.nus_wide, seed=seed + 4)
    files = sorted(path for path in mirror.rglob("*") if path.is_file() and path.name != SUMS)
    write_lines(mirror / SUMS, [f"{sha256_of(path)}  {path.relative_to(mirror).as_posix()}" for path in files])

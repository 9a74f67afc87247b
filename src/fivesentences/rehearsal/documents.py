"""Documents of category retrieval in a rehearsal: Wikipedia's, NUS-WIDE's and Pascal Sentences' original files."""

from __future__ import annotations

import html
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.rehearsal.captions import words_of
from fivesentences.rehearsal.images import add_entry, jpeg_of
from fivesentences.scenes import DescribedScene, compose
from fivesentences.storage import replacing, write_lines

WIKIPEDIA = ("art", "biology", "geography", "history", "literature", "media", "music", "royalty", "sport", "warfare")
# The ten most frequent of NUS-WIDE among pictures of one concept, and two that are too rare to be taken.
CONCEPTS = ("animal", "clouds", "flowers", "food", "grass", "person", "sky", "toy", "water", "window", "moon", "train")
LOW_LEVEL = {"CH": 64, "CM55": 225, "CORR": 144, "EDH": 73, "WT": 128}  # the original widths
MAT_TEXT = 116  # bytes of text that a .mat begins with
PASCAL = ("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable", "dog",
          "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor")  # fmt: skip


def write_wikipedia(folder: Path, train: int, test: int, seed: int) -> None:
    """``raw_features.mat`` with its lists: 128 SIFT words, 10 topics; every other article has two sections.

    ``wikipedia_dataset.zip`` has the lists, and a photograph and a section of an article for each document.
    """
    from scipy.io import savemat

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
    with replacing(folder / "raw_features.mat") as temporary, temporary.open("w+b") as out:
        savemat(out, matrices)
        out.seek(0)  # its text says when it was made, and equal content shall give equal bytes
        out.write(b"MATLAB 5.0 MAT-file".ljust(MAT_TEXT))
    write_lines(folder / "categories.list", WIKIPEDIA)
    _write_wikipedia_archive(folder, sections, seed)


def _write_wikipedia_archive(folder: Path, sections: Sequence[tuple[str, str, str]], seed: int) -> None:
    """The original archive: lists, ``texts/<text>.xml`` and ``images/<category>/<image>.jpg``, below one folder.

    Args:
        folder: Has the lists, and gets the archive.
        sections: Names of the text, the image and the category of each document.
        seed: Of the scenes.
    """
    inside = "wikipedia_dataset"
    scenes = compose(seed, len(sections))
    archive = folder / f"{inside}.zip"
    with replacing(archive) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as opened:
        for path in sorted(folder.glob("*.list")):
            add_entry(opened, f"{inside}/{path.name}", path.read_bytes())
        for (text, image, category), one in zip(sections, scenes, strict=True):
            words = "\n".join(html.escape(caption.text) for caption in one.captions)
            content = (
                f'<?xml version="1.0" encoding="UTF-8" ?>\n<document name="{category} {text}">\n<text>\n{words}\n'
                f'</text>\n<imageset><image id="{image}"></image></imageset>\n</document>\n'
            )
            add_entry(opened, f"{inside}/texts/{text}.xml", content)
            add_entry(opened, f"{inside}/images/{category}/{image}.jpg", jpeg_of(one))


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
    tags = _tag_matrix(rng, has)
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


def _tag_matrix(rng: np.random.Generator, has: NDArray[np.int64]) -> NDArray[np.int64]:
    """``[photographs, tags]`` 0 or 1: some tags of the photograph's concepts, and any one."""
    likely = np.repeat(has, 10, axis=1) * 0.4
    tags = (rng.random(likely.shape) < likely).astype(np.int64)
    tags[np.arange(len(has)), rng.integers(0, likely.shape[1], len(has))] = 1
    return tags


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
    with replacing(folder / "pascal_sentences.json") as temporary:
        temporary.write_text(json.dumps(content), encoding="utf-8")
    archive = folder / "photographs.zip"
    with replacing(archive) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as opened:
        for category, name, one in named:
            add_entry(opened, f"pascal_sentences/{category}/{name}", jpeg_of(one))


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

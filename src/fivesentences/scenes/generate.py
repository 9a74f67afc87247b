"""Writes the corpus of drawn scenes: photographs, captions, tuples, labels, facts and truth, from a seed."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fivesentences.console import track
from fivesentences.corpus.table import Corpus
from fivesentences.errors import InputError
from fivesentences.scenes.drawing import draw_scene
from fivesentences.scenes.truth import truth_matrix
from fivesentences.scenes.wording import Caption, describe
from fivesentences.scenes.world import CATEGORY, KINDS, Fact, Scene, facts_of, labels_of, sample_scene
from fivesentences.storage import replacing

JPEG_QUALITY = 92


@dataclass(frozen=True)
class DescribedScene:
    """One image's scene, before it is drawn: what is true of it and what five people say of it."""

    image_id: str
    scene: Scene
    facts: frozenset[Fact]
    captions: tuple[Caption, ...]


def compose(seed: int, images: int) -> list[DescribedScene]:
    """The scenes and captions of the first ``images`` images of a seed, without drawing them (milliseconds each)."""
    described = []
    for number in range(images):
        scene = sample_scene(seed, number)
        captions = tuple(describe(scene, seed, number))
        described.append(DescribedScene(f"scene-{number:05d}", scene, frozenset(facts_of(scene)), captions))
    return described


def truth_of(described: Sequence[DescribedScene]) -> np.ndarray:
    """How much of every caption is true of every image, float32 ``[captions, images]`` in [0, 1]; see ``truth``."""
    meanings = [[meant for _, meant in caption.claims] for one in described for caption in one.captions]
    return truth_matrix(meanings, [one.facts for one in described])


def generate(folder: Path, *, seed: int, train: int, dev: int, test: int) -> Corpus:
    """Draw and caption ``train + dev + test`` scenes and write the corpus's files into ``folder``.

    Every scene has five captions and is drawn at 224 x 168. The same arguments give the same bytes; image ``n`` of a
    seed is the same whatever the sizes of the splits.

    Written:
        ``photographs.zip``: JPEGs, stored, with fixed dates.
        ``tuples.jsonl.gz``: a line per caption: ``{"caption_id", "tuples"}``, in SPICE's raw order (object),
        (object, attribute), (subject, object, relation), in the caption's own words.
        ``labels.parquet``: a row per image: ``image_id`` and a boolean column for each kind of thing
        (``world.KINDS``), true if one is drawn; trees and houses that are part of the setting do not count.
        ``truth.npy``: float32 ``[captions, images]``, how much of a caption is true of an image, in [0, 1]
        (defined in ``truth``).
        ``facts.jsonl.gz``: a line per image: the scene (setting, sky, things, relations), all its ``facts``, and
        the ``claims`` of each caption: per tuple the facts it asserts.

    Args:
        folder: Where the files go; made if it is not there.
        seed: At least 0.
        train: Images for training, at least 1.
        dev: Images for selection, at least 1.
        test: Images for evaluation, at least 1.

    Returns:
        The corpus, named ``scenes``; an image's category is its setting.

    Raises:
        InputError: If a split would be empty or the seed is negative.
    """
    for name, size in (("train", train), ("dev", dev), ("test", test)):
        if size < 1:
            raise InputError(f"scenes: {name} is {size}; every split needs at least 1 image.")
    if seed < 0:
        raise InputError(f"scenes: seed is {seed}; a seed is 0 or larger.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    splits = ["train"] * train + ["dev"] * dev + ["test"] * test
    described = compose(seed, len(splits))
    _write_photographs(folder / "photographs.zip", described)
    _write_lines(folder / "tuples.jsonl.gz", _tuple_lines(described))
    _write_lines(folder / "facts.jsonl.gz", _fact_lines(described))
    with replacing(folder / "labels.parquet") as temporary:
        _labels(described).to_parquet(temporary, index=False)
    with replacing(folder / "truth.npy") as temporary:
        np.save(temporary, truth_of(described))
    return Corpus(name="scenes", table=_table(described, splits))


def _filename(one: DescribedScene) -> str:
    return f"{one.image_id}.jpg"


def _caption_id(one: DescribedScene, number: int) -> str:
    return f"{_filename(one)}#{number}"


def _table(described: Sequence[DescribedScene], splits: Sequence[str]) -> pd.DataFrame:
    rows = [
        (one.image_id, _filename(one), _caption_id(one, number), caption.text, split, CATEGORY[one.scene.setting])
        for one, split in zip(described, splits, strict=True)
        for number, caption in enumerate(one.captions)
    ]
    return pd.DataFrame(rows, columns=["image_id", "filename", "caption_id", "caption", "split", "category"])


def _labels(described: Sequence[DescribedScene]) -> pd.DataFrame:
    present = [labels_of(one.scene) for one in described]
    columns: dict[str, list[Any]] = {"image_id": [one.image_id for one in described]}
    columns.update({kind: [kind in labels for labels in present] for kind in KINDS})
    return pd.DataFrame(columns)


def _tuple_lines(described: Iterable[DescribedScene]) -> Iterator[dict[str, Any]]:
    for one in described:
        for number, caption in enumerate(one.captions):
            yield {"caption_id": _caption_id(one, number), "tuples": caption.tuples}


def _fact_lines(described: Iterable[DescribedScene]) -> Iterator[dict[str, Any]]:
    for one in described:
        scene = one.scene
        yield {
            "image_id": one.image_id,
            "setting": scene.setting,
            "sky": scene.sky,
            "things": [{k: v for k, v in asdict(thing).items() if k != "look"} for thing in scene.things],
            "relations": [[r.subject, r.verb, r.object] for r in scene.relations],
            "facts": sorted(one.facts),
            "claims": {
                _caption_id(one, number): [meant for _, meant in caption.claims]
                for number, caption in enumerate(one.captions)
            },
        }


def _write_lines(path: Path, lines: Iterable[dict[str, Any]]) -> None:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    with replacing(path) as temporary:
        # Without the time in the header, equal content gives equal bytes.
        temporary.write_bytes(gzip.compress(text.encode(), compresslevel=6, mtime=0))


def _write_photographs(path: Path, described: Sequence[DescribedScene]) -> None:
    with replacing(path) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for one in track(described, "draw scenes", len(described)):
            picture = io.BytesIO()
            draw_scene(one.scene).save(picture, "JPEG", quality=JPEG_QUALITY, subsampling=0)
            entry = zipfile.ZipInfo(_filename(one), date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, picture.getvalue())

"""Writes the corpus of drawn scenes: photographs, captions, tuples, labels, facts and truth, from a seed."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from fivesentences.console import track
from fivesentences.corpus import COLUMNS, Corpus
from fivesentences.corpus.labels import LABELS, write_labels
from fivesentences.errors import InputError
from fivesentences.reproduction.scenes.captions import Caption, describe
from fivesentences.reproduction.scenes.drawing import draw_scene
from fivesentences.reproduction.scenes.facts import facts_of
from fivesentences.reproduction.scenes.sampling import sample_scene
from fivesentences.reproduction.scenes.world import CATEGORY, KINDS, Fact, Scene
from fivesentences.storage import replacing

JPEG_QUALITY = 92


@dataclass(frozen=True)
class DescribedScene:
    """An image's scene before it is drawn: what is true of it and what five people say about it."""

    image_id: str
    scene: Scene
    facts: frozenset[Fact]
    captions: tuple[Caption, ...]

    @property
    def filename(self) -> str:
        """Name of the photograph."""
        return f"{self.image_id}.jpg"

    @property
    def caption_ids(self) -> list[str]:
        """Identifiers of the captions, in order."""
        return [f"{self.filename}#{number}" for number in range(len(self.captions))]


def compose(seed: int, images: int) -> list[DescribedScene]:
    """The scenes and captions of the first ``images`` images of a seed, without drawing them (milliseconds each)."""
    described = []
    for number in range(images):
        scene = sample_scene(seed, number)
        captions = tuple(describe(scene, seed, number))
        described.append(DescribedScene(f"scene-{number:05d}", scene, frozenset(facts_of(scene)), captions))
    return described


def truth_of(described: Sequence[DescribedScene]) -> np.ndarray:
    """How much of every caption is true of every image, float32 ``[captions, images]``; see ``truth_matrix``."""
    claims = [[claim.facts for claim in caption.claims] for one in described for caption in one.captions]
    return truth_matrix(claims, [one.facts for one in described])


def truth_matrix(claims: Sequence[Sequence[tuple[Fact, ...]]], facts_of_image: Sequence[Set[Fact]]) -> np.ndarray:
    """Share of each caption's claims that hold in each scene.

    ``truth[c, i]`` is the share of the claims of caption ``c`` that hold in the scene of image ``i``, and 1 if all that
    the caption says is true. A claim is one of the caption's tuples with its meaning in the words of ``world``. It
    holds if all facts that it asserts are facts of the scene; more general words hold too (an *animal* where there is a
    dog, *near* where one thing stands in front of another). Nothing is required of what the caption leaves out, so a
    vague caption is true of many images, as it would be for a person. A claim about "a dog" holds if it is true of any
    dog in the scene; whether the dog in red and the running dog are the same one is not checked.

    Args:
        claims: Per caption its claims, each the facts that it asserts; every caption has at least one claim.
        facts_of_image: Per image all facts of its scene (``facts.facts_of``).

    Returns:
        float32 ``[captions, images]`` in [0, 1].
    """
    number_of: dict[tuple[Fact, ...], int] = {}
    rows = [[number_of.setdefault(claim, len(number_of)) for claim in of_caption] for of_caption in claims]
    wanted = {fact for claim in number_of for fact in claim}
    row_of = {fact: row for row, fact in enumerate(wanted)}
    is_fact = np.zeros((len(row_of), len(facts_of_image)), dtype=bool)
    for image, facts in enumerate(facts_of_image):
        is_fact[[row_of[fact] for fact in facts & wanted], image] = True
    holds = np.empty((len(number_of), len(facts_of_image)), dtype=np.float64)
    for claim, number in number_of.items():
        holds[number] = is_fact[[row_of[fact] for fact in claim]].all(axis=0)
    lengths = np.array([len(row) for row in rows])
    counts = sparse.csr_matrix(
        (np.ones(lengths.sum()), np.concatenate(rows).astype(np.int64), np.concatenate([[0], np.cumsum(lengths)])),
        shape=(len(rows), len(number_of)),
    )
    # Whole numbers are divided last, so that a caption without a mistake has exactly 1.
    truth: np.ndarray = ((counts @ holds) / lengths[:, None]).astype(np.float32)
    return truth


def generate(folder: Path, *, seed: int, train: int, dev: int, test: int) -> Corpus:
    """Draw and caption ``train + dev + test`` scenes and write the corpus's files into ``folder``.

    Every scene has five captions and is drawn at 224 x 168 pixels. The same arguments give the same bytes; image ``n``
    of a seed is the same whatever the sizes of the splits.

    Files written:
        ``photographs.zip``: JPEGs, stored without compression, with fixed dates.
        ``tuples.jsonl.gz``: one line per caption, ``{"caption_id", "tuples"}``: tuples in the caption's own words, in
        SPICE's raw order (object), (object, attribute), (subject, object, relation).
        ``labels.parquet``: one row per image: ``image_id`` and one boolean column per kind of thing (``world.KINDS``),
        true if one is drawn; trees and houses that are part of the setting do not count.
        ``truth.npy``: float32 ``[captions, images]``, how much of a caption is true of an image, in [0, 1]
        (see ``truth_matrix``).
        ``facts.jsonl.gz``: one line per image: the scene (setting, sky, things, relations), all its ``facts``, and the
        ``claims`` of each caption: for each tuple the facts that it asserts.

    Args:
        folder: Where the files go; created if it does not exist.
        seed: At least 0.
        train: Number of images for training, at least 1.
        dev: Number of images for selection, at least 1.
        test: Number of images for evaluation, at least 1.

    Returns:
        The corpus, named ``scenes``; the category of an image is its setting.

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
    with replacing(folder / "truth.npy") as temporary:
        np.save(temporary, truth_of(described))
    beside = [folder / name for name in ("photographs.zip", "tuples.jsonl.gz", "truth.npy")]
    write_labels(_labels(described), folder / LABELS, beside)
    return Corpus(name="scenes", table=_table(described, splits))


def _table(described: Sequence[DescribedScene], splits: Sequence[str]) -> pd.DataFrame:
    rows = [
        (one.image_id, one.filename, caption_id, caption.text, split, CATEGORY[one.scene.setting])
        for one, split in zip(described, splits, strict=True)
        for caption_id, caption in zip(one.caption_ids, one.captions, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _labels(described: Sequence[DescribedScene]) -> pd.DataFrame:
    present = [{thing.kind for thing in one.scene.things} for one in described]
    columns: dict[str, list[Any]] = {"image_id": [one.image_id for one in described]}
    return pd.DataFrame(columns | {kind: [kind in kinds for kinds in present] for kind in KINDS})


def _tuple_lines(described: Iterable[DescribedScene]) -> Iterator[dict[str, Any]]:
    for one in described:
        for caption_id, caption in zip(one.caption_ids, one.captions, strict=True):
            yield {"caption_id": caption_id, "tuples": caption.tuples}


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
                caption_id: [claim.facts for claim in caption.claims]
                for caption_id, caption in zip(one.caption_ids, one.captions, strict=True)
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
            entry = zipfile.ZipInfo(one.filename, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, picture.getvalue())

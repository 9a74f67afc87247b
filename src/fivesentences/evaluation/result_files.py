"""Values of every query, which `evaluate` writes for itself: what was scored, and how models are read again."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.arrays import Unheld
from fivesentences.config.metrics import parse_metric
from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.documents import parse_json
from fivesentences.errors import InputError
from fivesentences.metrics import Evaluation, MetricValue
from fivesentences.metrics.result import sums_of
from fivesentences.metrics.values import KEYS, QueryValues
from fivesentences.retrieval import Gallery
from fivesentences.semantics.phi_file import pairing_sha256

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = "fivesentences.queries 1"
_METADATA = b"fivesentences.queries"
AGAIN = "run 'fivesentences evaluate --per-query FILE.parquet' again"
# What must agree, so that two models may stand in one table, and what it is called: of an evaluation, and of a subject.
GALLERY = {
    "protocol": "protocols", "images": "galleries", "captions": "galleries", "file_images": "numbers of images",
    "file_captions": "numbers of captions",
}  # fmt: skip
SUBJECT = {
    "split": "splits", "captions_sha256": "captions", "image_of_caption_sha256": "images of the captions",
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """The numbers of one model.

    Attributes:
        name: Its name in tables.
        words: Where they come from.
        evaluation: The numbers, with the values of every query.
        subject: Captions, images and phi that were scored, as ``subject_of`` says it.
        image_of_caption: ``[captions]`` image index of each caption.
    """

    name: str
    words: str
    evaluation: Evaluation
    subject: Mapping[str, Any]
    image_of_caption: NDArray[np.int64]

    def check_like(self, other: Result) -> None:
        """Refuse to compare numbers of other images and captions.

        Raises:
            InputError: If they were; it says what differs.
        """
        abouts, subjects = (self.evaluation.about, other.evaluation.about), (self.subject, other.subject)
        phis = [subject.get("phis", {}) for subject in subjects]
        pairs = [(*(about.get(key) for about in abouts), what) for key, what in GALLERY.items()]
        pairs += [(*(subject.get(key) for subject in subjects), what) for key, what in SUBJECT.items()]
        pairs += [(*(of[phi] for of in phis), f"phi called {phi}") for phi in phis[0].keys() & phis[1].keys()]
        for *two, what in pairs:
            if None not in two and two[0] != two[1]:
                shown = ", ".join(str(one) if len(str(one)) < 40 else f"{str(one)[:12]}..." for one in two)
                raise InputError(
                    f"{self.words} and {other.words} were scored with other {what} ({shown}), so that their numbers do "
                    "not compare",
                    cure="evaluate the models on the same images, captions and phi",
                )


def subject_of(gallery: Gallery, about: Mapping[str, Any], scored: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was scored, for the file of values of queries.

    Args:
        gallery: Images, captions and phi matrices; its similarity is not read.
        about: ``about`` of the evaluation.
        scored: Facts about the captions: dataset, split, captions_file, captions_sha256.
    """
    return {
        "format": FORMAT,
        "about": {key: value for key, value in about.items() if key != "similarity"},
        "image_of_caption": gallery.image_of_caption.tolist(),
        "image_of_caption_sha256": pairing_sha256(gallery.image_of_caption),
        "phis": {name: _digest(phi) for name, phi in gallery.phis.items() if not isinstance(phi, Unheld)},
        **scored,
    }


def _digest(phi: NDArray[Any]) -> str:
    """Return the SHA-256 of a phi's values as float32, whatever file they came from."""
    total = hashlib.sha256(repr(phi.shape).encode())
    for start in range(0, len(phi), 1024):
        total.update(np.ascontiguousarray(phi[start : start + 1024], dtype=np.float32).tobytes())
    return total.hexdigest()


def with_subject(table: pa.Table, subject: Mapping[str, Any]) -> pa.Table:
    """Return the table with what was scored in its schema."""
    return table.replace_schema_metadata({**(table.schema.metadata or {}), _METADATA: json.dumps(subject).encode()})


def read_queries(path: Path, name: str = "") -> list[Result]:
    """Read models from the values of every query that ``evaluate --per-query FILE.parquet`` wrote.

    Args:
        path: The file.
        name: Name of its only model; default that of its file without the ending.

    Raises:
        InputError: If the file is missing or damaged, is not such a file, or holds several models for one name.
    """
    stored = read_parquet(path, AGAIN)
    metadata = (stored.schema.metadata or {}).get(_METADATA)
    if metadata is None:
        raise InputError("it does not say which images and captions were scored", where=path, cure=AGAIN)
    subject = parse_json(metadata, f"{path}, label", AGAIN)
    frame = frame_of(stored, path, AGAIN)
    about, pairing = (subject.get(key) if isinstance(subject, dict) else None for key in ("about", "image_of_caption"))
    kinds = {"query": "i", "value": "f", "m": "i"}
    if not (
        isinstance(about, dict)
        and all(isinstance(about.get(key), str) for key in ("protocol", "protocol_words", "averaged", "tie_rule"))
        and all(type(about.get(key)) in (int, float) for key in ("galleries", *GALLERY) if key != "protocol")
        and isinstance(pairing, list)
        and subject.get("format") == FORMAT
        and len(pairing) == about["file_captions"]
        and all(type(number) is int and 0 <= number < about["file_images"] for number in pairing)
        and {"file", *KEYS, *kinds} <= set(frame.columns)
        and all(frame[name].dtype.kind == kind for name, kind in kinds.items())
        and len(frame)
    ):
        raise InputError("these are not the values of queries that this version reads", where=path, cure=AGAIN)
    phis = subject.get("phis")  # of what is said of the captions, text is taken
    known: dict[str, Any] = {key: value for key, value in subject.items() if isinstance(value, str)}
    known["phis"] = {str(key): str(value) for key, value in phis.items()} if isinstance(phis, dict) else {}
    owner = np.array(pairing, dtype=np.int64)
    models = list(frame.groupby("file", sort=False))
    if name and len(models) > 1:
        what = f"it holds {len(models)} models, which one name does not tell apart; leave it out."
        raise InputError(what, where=path)
    short = [Path(str(file).partition(",")[0]).stem for file, _ in models]
    names = short if len(set(short)) == len(models) else [str(file) for file, _ in models]
    return [
        Result(name or called, str(path), _evaluation(path, of_model, about, len(pairing)), known, owner)
        for called, (_, of_model) in zip(names, models, strict=True)
    ]


def _evaluation(path: Path, frame: pd.DataFrame, about: dict[str, Any], n_captions: int) -> Evaluation:
    queries: list[QueryValues] = []
    scored: dict[str, NDArray[np.int64]] = {}
    values_of: list[MetricValue] = []
    for key, of_metric in frame.groupby(KEYS, sort=False):
        named: Any = dict(zip(KEYS, key, strict=True))
        index, values = of_metric["query"].to_numpy(np.int64), of_metric["value"].to_numpy(np.float64)
        same = scored.setdefault(str(named["direction"]), index)
        largest = n_captions if named["direction"] == "t2i" else about["file_images"]
        parse_metric(str(named["metric"]))
        if not np.array_equal(same, index) or index.min() < 0 or index.max() >= largest:
            raise InputError(f"the queries of {named['metric']} are not those of the others", where=path, cure=AGAIN)
        queries.append(named | {"values": values})
        finite = values[~np.isnan(values)]
        values_of.append(named | {"value": float(finite.mean()) if len(finite) else math.nan})
    if set(scored) != {"i2t", "t2i"}:
        raise InputError("it does not hold both directions", where=path, cure=AGAIN)
    return Evaluation(values_of + sums_of(values_of), about | {"similarity": str(path)}, queries, scored)

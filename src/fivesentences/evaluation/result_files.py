"""Results of models from files: values of queries of `evaluate`, and clip_benchmark's CSV of recall."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.config.metrics import parse_metric
from fivesentences.corpus.parquet import frame_of, read_parquet
from fivesentences.documents import check_file, parse_json, read_bytes, text_of
from fivesentences.errors import InputError, did_you_mean
from fivesentences.metrics import Evaluation, MetricValue
from fivesentences.metrics.result import sums_of
from fivesentences.metrics.values import KEYS, QueryValues, key_of
from fivesentences.retrieval import Gallery
from fivesentences.semantics.phi_file import pairing_sha256

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = "fivesentences.queries 1"
_METADATA = b"fivesentences.queries"
LARGEST_CSV = 100_000_000  # bytes; clip_benchmark's own has a thousandth of it
AGAIN = "run 'fivesentences evaluate --per-query FILE.parquet' again"
# What must agree, so that two models may stand in one table, and what it is called: of an evaluation, and of a subject.
GALLERY = {
    "protocol": "protocols", "images": "galleries", "captions": "galleries", "file_images": "numbers of images",
    "file_captions": "numbers of captions",
}  # fmt: skip
SUBJECT = {
    "split": "splits", "captions_sha256": "captions", "image_of_caption_sha256": "images of the captions",
}  # fmt: skip
# What clip_benchmark calls data sets (perhaps behind "wds/"), and what they are called here.
BENCHMARK_NAMES = {"flickr8k": "flickr8k", "flickr30k": "flickr30k", "mscoco_captions": "coco"}
_RECALLS = {"text_retrieval_recall@": "i2t", "image_retrieval_recall@": "t2i"}  # by what is retrieved


@dataclass(frozen=True)
class Result:
    """The numbers of one model.

    Attributes:
        name: Its name in tables.
        file: Where they come from.
        evaluation: The numbers; with the values of every query where they are known.
        subject: What was scored, as ``subject_of`` says it; empty where a file does not say it.
        image_of_caption: ``[captions]``, where the values of every query are known.
        notes: Sentences about it.
    """

    name: str
    file: str
    evaluation: Evaluation
    subject: Mapping[str, Any] = field(default_factory=dict)
    image_of_caption: NDArray[np.int64] | None = None
    notes: Sequence[str] = ()

    @property
    def has_queries(self) -> bool:
        """True if it can be tested against another one."""
        return bool(self.evaluation.queries) and self.image_of_caption is not None

    def check_like(self, other: Result) -> None:
        """Refuse to compare numbers of other images and captions.

        Raises:
            InputError: What differs.
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
                    f"{self.file} and {other.file} were scored with other {what} ({shown}), so that their numbers do "
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
        "phis": {name: _digest(np.asarray(phi)) for name, phi in gallery.phis.items()},
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


def read_queries(path: Path) -> list[Result]:
    """Read models from the values of every query that ``evaluate --per-query FILE.parquet`` wrote.

    Raises:
        InputError: If the file is missing or damaged, or is no such file.
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
        and all(isinstance(about.get(key), str) for key in ("protocol", "protocol_words", "tie_rule"))
        and all(type(about.get(key)) in (int, float) for key in GALLERY if key != "protocol")
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
    return [
        Result(str(name), str(path), _evaluation(path, of_model, about, len(pairing)), known, owner)
        for name, of_model in frame.groupby("file", sort=False)
    ]


def _evaluation(path: Path, frame: pd.DataFrame, about: Mapping[str, Any], n_captions: int) -> Evaluation:
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
    return Evaluation(values_of + sums_of(values_of), dict(about), queries, scored)


def is_benchmark(path: Path) -> bool:
    """Return True if a .csv has the heading of clip_benchmark's results of retrieval."""
    check_file(path)
    with path.open("rb") as file:
        heading = file.readline(100_000)
    return any(name.encode() in heading for name in _RECALLS)


def read_benchmark(path: Path, dataset: str) -> list[Result]:
    """Read models from the CSV that ``clip_benchmark build`` writes, which holds recall alone.

    Its ``image_retrieval_recall@k`` is R@k of captions as queries, ``text_retrieval_recall@k`` that of images, both as
    fractions of 1.

    Args:
        path: The file.
        dataset: Data set of the rows to read, such as ``flickr30k``.

    Raises:
        InputError: If the file is missing or damaged, or holds no recall of this data set.
    """
    rows = list(csv.DictReader(io.StringIO(text_of(read_bytes(path, LARGEST_CSV), path))))
    rows = [row for row in rows if any(row[column] for column in row if column and column.startswith(tuple(_RECALLS)))]
    if not rows:
        raise InputError("it holds no recall of retrieval, such as in a column image_retrieval_recall@5.", where=path)
    names = [str(row.get("dataset") or "").removeprefix("wds/") for row in rows]
    if dataset not in names:
        hint = did_you_mean(dataset, names) or f"it holds {', '.join(list(dict.fromkeys(names))[:8])}"
        raise InputError(f"it holds no retrieval on '{dataset}'; {hint.rstrip('.')}.", where=path)
    note = (
        f"{path}: recall of clip_benchmark on '{dataset}', as its file states it. The file does not say which split "
        "and which captions were scored (see its issues 7 and 48), so this is not checked, and nothing is tested."
    )
    found: dict[str, Result] = {}
    for row in (row for row, name in zip(rows, names, strict=True) if name == dataset):
        language = row.get("language") or "en"
        name = row.get("model_fullname") or " ".join(filter(None, (row.get("model"), row.get("pretrained"))))
        name = name if language == "en" else f"{name} ({language})"
        if not name or name in found:
            what = f"two rows of '{name}'" if name else "a row without a model"
            raise InputError(f"it holds {what} on '{dataset}'; keep one.", where=path)
        found[name] = Result(name, str(path), Evaluation(_recalls(path, name, row)), notes=[note])
    return list(found.values())


def _recalls(path: Path, name: str, row: Mapping[str, str]) -> list[MetricValue]:
    """Return the recalls of a row in percent, with their sum if they are those that Rsum adds up."""
    found: dict[tuple[str, int], float] = {}
    for start, side in _RECALLS.items():
        for column in (column for column, cell in row.items() if cell and column and column.startswith(start)):
            cutoff = column.removeprefix(start)
            try:
                fraction = float(row[column])
            except (TypeError, ValueError):
                fraction = math.nan
            if not cutoff.isdigit() or not 0 <= fraction <= 1:
                what = f"{column} of '{name}' is {str(row[column])[:40]!r}; a recall is a number from 0 to 1."
                raise InputError(what, where=path)
            parse_metric(f"R@{int(cutoff)}")
            found[side, int(cutoff)] = 100 * fraction
    values: list[MetricValue] = [{**key_of(f"R@{k}", side), "value": found[side, k]} for side, k in sorted(found)]
    # A sum over other cut-offs than those of the others would be another number under the same name.
    return values + (sums_of(values) if sorted(found) == [(s, k) for s in ("i2t", "t2i") for k in (1, 5, 10)] else [])

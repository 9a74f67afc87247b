"""Files of `evaluate` beside its tables: values of every query, and rankings in TREC's formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from fivesentences.commands.annotations import Annotations, read_list
from fivesentences.commands.arguments import numbers_of
from fivesentences.console import working
from fivesentences.errors import InputError, need
from fivesentences.evaluation.protocols import ProtocolScorer
from fivesentences.evaluation.result_files import with_subject
from fivesentences.evaluation.trec import trec_ids, write_qrels, write_run
from fivesentences.metrics import Evaluation
from fivesentences.metrics.frame import frames_of_queries
from fivesentences.retrieval import Gallery
from fivesentences.retrieval.arguments import DIRECTIONS, Direction
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.rescoring import Inference
from fivesentences.storage import replacing

SUFFIXES = (".csv", ".parquet")
FIGURES = (".pdf", ".svg", ".png")


@dataclass(frozen=True)
class Exports:
    """Further files to write.

    Attributes:
        per_query: Write every metric of every query, .csv or .parquet.
        trec: Write runs and qrels for ranx, trec_eval and ir-measures into this folder.
        trec_depth: Items of each ranking in these runs, or all.
        trec_grades: Beside the qrels also SIDE.PHI.qrels, graded by each phi: whole grades up to 1,000, for nDCG there.
        figure: Draw recall and NCS over k with intervals and chance, .pdf, .svg or .png.
    """

    per_query: Path | None = None
    trec: Path | None = None
    trec_depth: str = "100"
    trec_grades: bool = False
    figure: Path | None = None

    @property
    def depth(self) -> int | None:
        """Items of each ranking; None for all."""
        return numbers_of(self.trec_depth, "--trec-depth", {"all": None})[0]  # type: ignore[no-any-return]

    def files(self, models: Sequence[str]) -> dict[str, Path | None]:
        """Return what will be written for models of these names, by the words that messages use.

        Raises:
            InputError: If a name has the wrong ending or is that of something else.
        """
        found: dict[str, Path | None] = {"--per-query": self.per_query, "--figure": self.figure}
        if self.figure is not None:
            check_format(self.figure)
        if self.per_query is not None and self.per_query.suffix not in SUFFIXES:
            raise InputError(f"the file name of --per-query must end in {' or '.join(SUFFIXES)}.", where=self.per_query)
        if self.trec is not None:
            self.depth  # noqa: B018  # refuses what is no number
            if self.trec.exists() and not self.trec.is_dir():
                raise InputError("it is not a folder, and --trec writes several files; name a folder.", where=self.trec)
            runs = [f"{prefix}{side}.run" for prefix in _prefixes(models).values() for side in DIRECTIONS]
            found |= {f"{name} of --trec": self.trec / name for name in [*runs, "i2t.qrels", "t2i.qrels"]}
        elif self.trec_grades:
            raise InputError("it grades the qrels of --trec; give --trec FOLDER too.", where="--trec-grades")
        return found

    def writer(
        self, scorer: ProtocolScorer, inference: Inference, models: Sequence[str], annotations: Annotations
    ) -> Callable[[str, Mapping[Direction, Gallery]], None]:
        """Return a function of the name of a model and its gallery by direction, which writes its rankings.

        The qrels are written with the rankings of the first model. Ids of images and captions are those of files, or
        else i0, i1, ... and c0, c1, ...

        Raises:
            InputError: If a file of ids is missing or damaged, or its ids cannot stand in a run.
        """
        folder = self.trec
        assert folder is not None
        sides = (annotations.image_ids, "images"), (annotations.caption_ids, "captions")
        ids = [
            trec_ids(read_list(file, number, "ids", of), number, of[0], str(file))
            for (file, of), number in zip(sides, scorer.whole.shape, strict=True)
        ]

        def write(model: str, galleries: Mapping[Direction, Gallery]) -> None:
            with working(f"write {folder}", len(DIRECTIONS) * len(scorer.parts)) as advance:
                for side in DIRECTIONS:
                    if isinstance(lists := galleries[side].similarity, ItemLists) and side not in lists.items:
                        continue
                    if model == models[0]:
                        write_qrels(folder / f"{side}.qrels", scorer, side, *ids)
                        for phi in scorer.whole.phis if self.trec_grades else ():
                            write_qrels(folder / f"{side}.{_in_file_names(phi)}.qrels", scorer, side, *ids, phi=phi)
                    path = folder / f"{_prefixes(models)[model]}{side}.run"
                    how: dict[str, Any] = {"inference": inference, "depth": self.depth, "tag": model}
                    write_run(path, scorer, galleries[side], side, *ids, **how, progress=advance)

        return write

    @property
    def notes(self) -> list[str]:
        """Sentences on the rankings that were written."""
        depth = "all" if self.depth is None else f"the first {self.depth:,}"
        return [
            f"{self.trec}: runs of {depth} items per query, and qrels, in TREC's formats; equal scores are "
            "lowered one after the other by the smallest step of float32, so that they keep our order. R@k is called "
            "Success@k there, and true R@k is R@k."
        ]

    def write_queries(self, results: Mapping[str, Evaluation], subject: Mapping[str, Any]) -> None:
        """Write one row per query, metric and model: file, query, the keys of a number, value.

        ``query`` is the index in the file of the image (i2t) or caption (t2i). The value is empty where a metric leaves
        a query out; a query that the protocol does not score has no row.

        Args:
            results: Evaluations with the values of every query, by the names in the column ``file``.
            subject: Captions, images and phi that were scored, for the schema of a parquet file.
        """
        assert self.per_query is not None
        frames = (
            pd.DataFrame({"file": name, **frame})
            for name, result in results.items()
            for frame in frames_of_queries(result.queries, result.scored)
        )
        with working(f"write {self.per_query}"), replacing(self.per_query) as temporary:
            if self.per_query.suffix == ".csv":
                with temporary.open("w", encoding="utf-8", newline="") as file:
                    for at, frame in enumerate(frames):
                        frame.to_csv(file, header=at == 0, index=False, lineterminator="\n")
                return
            parts = _tables(frames, subject)
            first = next(parts)
            with pyarrow.parquet.ParquetWriter(temporary, first.schema) as writer:
                for table in (first, *parts):
                    writer.write_table(table)


def check_format(figure: Path) -> None:
    """Check that a figure can be drawn and its format is known, before anything costly is done.

    Raises:
        InputError: If matplotlib is not installed, or the file has another ending.
    """
    need("matplotlib", "plots", "--figure")
    if figure.suffix not in FIGURES:
        raise InputError(f"the file name of --figure must end in {', '.join(FIGURES)}.", where=figure)


def _tables(frames: Iterator[pd.DataFrame], subject: Mapping[str, Any]) -> Iterator[pa.Table]:
    for frame in frames:
        words = {key: str for key in frame.columns if key not in ("query", "m", "value")}
        yield with_subject(pa.Table.from_pandas(frame.astype(words | {"m": int}), preserve_index=False), subject)


def _prefixes(models: Sequence[str]) -> dict[str, str]:
    """Return the beginning of the names of each model's runs, empty if there is one model."""
    prefixes: dict[str, str] = {}
    for model in models:
        prefix = "" if len(models) == 1 else _in_file_names(model) + "."
        while prefix.casefold() in map(str.casefold, prefixes.values()):  # as file systems may compare names
            prefix = f"{prefix[:-1]}_.".lower()
        prefixes[model] = prefix
    return prefixes


def _in_file_names(name: str) -> str:
    """Return a name as every file system takes it."""
    return re.sub(r"[^\w.+=-]+", "_", name).strip(".")

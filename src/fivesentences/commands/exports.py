"""Files of `evaluate` beside its tables: values of every query, rankings in TREC's formats, re-scored matrices."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.annotations import Annotations, read_ids
from fivesentences.console import working
from fivesentences.errors import InputError
from fivesentences.evaluation.protocols import Scorer
from fivesentences.evaluation.result_files import with_subject
from fivesentences.evaluation.trec import SIDES, trec_ids, write_qrels, write_run
from fivesentences.metrics import Evaluation
from fivesentences.metrics.frame import frames_of_queries
from fivesentences.retrieval import Gallery
from fivesentences.storage import check_npy, replacing

SUFFIXES = (".csv", ".parquet")


@dataclass(frozen=True)
class Exports:
    """Options that name further files to write."""

    per_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write every metric of every query, .csv or .parquet")
    ] = None
    trec: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="write runs and qrels for ranx, trec_eval and ir-measures")
    ] = None
    trec_depth: Annotated[str, typer.Option(metavar="N", help="items of each ranking in these runs, or all")] = "100"
    rescored: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the similarity as --inference makes it, .npy")
    ] = None

    @property
    def depth(self) -> int | None:
        """Items of each ranking; None for all."""
        depth: int | None = given.numbers_of(self.trec_depth, "--trec-depth", {"all": None})[0]
        return depth

    def check(self, inference: str | None) -> None:
        """Refuse names of files that cannot be written, before anything is read.

        Raises:
            InputError: If a name has the wrong ending, or is that of something else.
        """
        if self.per_query is not None and self.per_query.suffix not in SUFFIXES:
            raise InputError(f"the file name of --per-query must end in {' or '.join(SUFFIXES)}.", where=self.per_query)
        if self.trec is not None:
            self.depth  # noqa: B018  # refuses what is no number
        if self.trec is not None and self.trec.exists() and not self.trec.is_dir():
            raise InputError("it is not a folder, and --trec writes several files; name a folder.", where=self.trec)
        if self.rescored is not None:
            check_npy(self.rescored, "a similarity matrix")
            if inference is None:
                raise InputError("--rescored writes what --inference makes of the similarity; give --inference too.")

    def files(self, models: Sequence[str], directions: Sequence[Sequence[str]]) -> dict[str, Path | None]:
        """What will be written, by the words that messages use.

        Args:
            models: Names of the models.
            directions: Of each matrix that the inference method makes.
        """
        runs = [f"{prefix}{side}.run" for prefix in _prefixes(models).values() for side in SIDES]
        of_trec = [] if self.trec is None else [*runs, "i2t.qrels", "t2i.qrels"]
        matrices = [] if self.rescored is None else [self.matrix_file(sides) for sides in directions]
        if matrices and len(models) > 1:
            raise InputError(f"--rescored writes the matrix of one model, but there are {len(models)}.")
        return {
            "--per-query": self.per_query,
            **{f"{name} of --trec": self.trec / name for name in of_trec if self.trec is not None},
            **{"--rescored" if path == self.rescored else f"{path.name} of --rescored": path for path in matrices},
        }

    def matrix_file(self, sides: Sequence[str]) -> Path:
        """The file of a re-scored matrix: FILE.i2t.npy where it serves one direction only."""
        assert self.rescored is not None
        return self.rescored if len(sides) > 1 else self.rescored.with_suffix(f".{sides[0]}.npy")

    def write_matrix(self, gallery: Gallery, sides: Sequence[str]) -> None:
        """Write a re-scored similarity, float32, if it was asked for."""
        if self.rescored is not None:
            with replacing(self.matrix_file(sides)) as temporary, temporary.open("wb") as file:
                np.save(file, np.asarray(gallery.similarity, dtype=np.float32))

    def item_names(self, gallery: Gallery, annotations: Annotations) -> tuple[list[str], list[str]]:
        """Ids of images and captions from files; without a file i0, i1, ... and c0, c1, ...

        Raises:
            InputError: If a file is missing or damaged, or its ids cannot stand in a run.
        """
        (n_images, n_captions), files = gallery.shape, (annotations.image_ids, annotations.caption_ids)
        images, captions = read_ids(files[0], n_images, "images"), read_ids(files[1], n_captions, "captions")
        of_images = trec_ids(images, n_images, "i", str(files[0]))
        return of_images, trec_ids(captions, n_captions, "c", str(files[1]))

    def write_runs(
        self,
        scorer: Scorer,
        gallery: Gallery,
        sides: Sequence[str],
        model: str,
        models: Sequence[str],
        ids: tuple[list[str], list[str]],
    ) -> None:
        """Write the rankings of a model, and with those of the first model also the qrels.

        Raises:
            InputError: If a file cannot be written.
        """
        if self.trec is None:
            return
        with working(f"write {self.trec}", len(sides) * len(scorer.parts)) as advance:
            for side in (side for side in SIDES if side in sides):
                if model == models[0]:
                    write_qrels(self.trec / f"{side}.qrels", scorer, side, *ids)
                path = self.trec / f"{_prefixes(models)[model]}{side}.run"
                write_run(path, scorer, gallery, side, *ids, depth=self.depth, tag=model, progress=advance)

    @property
    def notes(self) -> list[str]:
        """Sentences on what was written."""
        if self.trec is None:
            return []
        depth = "all" if self.depth is None else f"the first {self.depth:,}"
        return [
            f"{self.trec}: runs of {depth} items per query, and qrels, in TREC's formats; equal scores are "
            "lowered one after the other by the smallest step of float32, so that they keep our order. R@k is called "
            "Success@k there, and true R@k is R@k."
        ]


def _prefixes(models: Sequence[str]) -> dict[str, str]:
    """The beginning of the names of each model's runs, empty if there is one model."""
    prefixes: dict[str, str] = {}
    for model in models:
        prefix = "" if len(models) == 1 else re.sub(r"[^\w.+=-]+", "_", model).strip(".") + "."
        while prefix in prefixes.values():
            prefix = f"{prefix[:-1]}_.".lower()
        prefixes[model] = prefix
    return prefixes


def write_queries(
    path: Path, results: Mapping[str, Evaluation], progress: Callable[[], object], subject: Mapping[str, Any]
) -> None:
    """Write one row per query, metric and model: file, query, the keys of a number, value.

    ``query`` is the index in the file of the image (i2t) or caption (t2i). The value is empty where a metric leaves a
    query out; a query that the protocol does not score has no row.

    Args:
        path: .csv or .parquet.
        results: Evaluations with the values of every query, by the names in the column ``file``.
        progress: Called after each metric of each model.
        subject: What was scored, which a parquet file keeps in its schema, for ``fivesentences leaderboard``.

    Raises:
        InputError: If the file cannot be written.
    """
    with replacing(path) as temporary:
        writer = None
        try:
            for name, result in results.items():
                for at, frame in enumerate(frames_of_queries(result.queries, result.scored)):
                    frame.insert(0, "file", name)
                    if path.suffix == ".csv":
                        first = at == 0 and name == next(iter(results))
                        frame.to_csv(
                            temporary, mode="w" if first else "a", header=first, index=False, lineterminator="\n"
                        )
                    else:
                        words = {key: str for key in frame.columns if key not in ("query", "m", "value")}
                        table = pa.Table.from_pandas(frame.astype(words | {"m": int}), preserve_index=False)
                        table = with_subject(table, subject)
                        writer = writer or pyarrow.parquet.ParquetWriter(temporary, table.schema)
                        writer.write_table(table)
                    progress()
        finally:
            if writer is not None:
                writer.close()

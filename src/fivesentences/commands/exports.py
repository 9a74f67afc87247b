"""Files of `evaluate` beside its tables: the values of every query, and runs and qrels in TREC's formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fivesentences.commands.annotations import read_ids
from fivesentences.errors import InputError
from fivesentences.storage import replacing

if TYPE_CHECKING:
    from fivesentences.evaluation.protocols import Scorer
    from fivesentences.metrics import Evaluation
    from fivesentences.retrieval import Gallery

SUFFIXES = (".csv", ".parquet")


def checked_query_file(path: Path) -> Path:
    """A file for the values of every query.

    Raises:
        InputError: If its name ends in neither .csv nor .parquet.
    """
    if path.suffix not in SUFFIXES:
        raise InputError(f"the file name of --per-query must end in {' or '.join(SUFFIXES)}.", where=path)
    return path


def write_queries(
    path: Path,
    results: Mapping[str, Evaluation],
    with_model: bool,
    progress: Callable[[], object],
    subject: Mapping[str, Any] | None = None,
) -> None:
    """One row per query, metric and model: file, query, the keys of a number, value.

    ``query`` is the index in the file of the image (i2t) or caption (t2i). The value is empty where a metric leaves a
    query out; a query that the protocol does not score has no row.

    Args:
        path: .csv or .parquet.
        results: Evaluations with the values of every query, by the names in the column ``file``.
        with_model: Whether there is more than one.
        progress: Called after each metric of each model.
        subject: What was scored, which a parquet file keeps in its schema, for ``fivesentences leaderboard``.

    Raises:
        InputError: If the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet

    from fivesentences.evaluation.result_files import with_subject
    from fivesentences.metrics.frame import frames_of_queries

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
                        table = table if subject is None else with_subject(table, subject)
                        writer = writer or pyarrow.parquet.ParquetWriter(temporary, table.schema)
                        writer.write_table(table)
                    progress()
        finally:
            if writer is not None:
                writer.close()


@dataclass
class Runs:
    """Runs and qrels of one or several models in a folder.

    Attributes:
        folder: The folder.
        depth: Items of each ranking; None for all.
    """

    folder: Path
    depth: int | None
    _prefixes: dict[str, str] = field(default_factory=dict)
    _ids: tuple[list[str], list[str]] = ([], [])

    def files(self, models: Sequence[str]) -> dict[str, Path]:
        """What will be written, by the words that messages use.

        One model's runs are ``i2t.run`` and ``t2i.run``; of several, each has its name before that.

        Raises:
            InputError: If the folder is a file.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError("it is not a folder, and --trec writes several files; name a folder.", where=self.folder)
        taken: set[str] = set()
        for model in models:
            prefix = "" if len(models) == 1 else re.sub(r"[^\w.+=-]+", "_", model).strip(".") + "."
            while prefix in taken:
                prefix = f"{prefix[:-1]}_.".lower()
            taken.add(prefix)
            self._prefixes[model] = prefix
        runs = [f"{prefix}{side}.run" for prefix in self._prefixes.values() for side in ("i2t", "t2i")]
        return {f"{name} of --trec": self.folder / name for name in (*runs, "i2t.qrels", "t2i.qrels")}

    def name_items(self, gallery: Gallery, image_ids: Path | None, caption_ids: Path | None) -> None:
        """Take the ids of images and captions from files, one per line; without a file i0, i1, ... and c0, c1, ...

        Raises:
            InputError: If a file is missing or damaged, or its ids cannot stand in a run.
        """
        from fivesentences.evaluation.trec import trec_ids

        n_images, n_captions = gallery.shape
        images, captions = read_ids(image_ids, n_images, "images"), read_ids(caption_ids, n_captions, "captions")
        self._ids = (
            trec_ids(images, n_images, "i", str(image_ids)),
            trec_ids(captions, n_captions, "c", str(caption_ids)),
        )

    def write(self, scorer: Scorer, similarity: Gallery, model: str, progress: Callable[[], object]) -> None:
        """Write the runs of a model, and before the first also the qrels.

        Raises:
            InputError: If a file cannot be written.
        """
        from fivesentences.evaluation.trec import SIDES, write_qrels, write_run

        for side in SIDES:
            if model == next(iter(self._prefixes)):
                write_qrels(self.folder / f"{side}.qrels", scorer, side, *self._ids)
            path = self.folder / f"{self._prefixes[model]}{side}.run"
            write_run(path, scorer, similarity, side, *self._ids, depth=self.depth, tag=model, progress=progress)

    @property
    def words(self) -> str:
        """A sentence on what was written."""
        depth = "all" if self.depth is None else f"the first {self.depth:,}"
        return (
            f"{self.folder}: runs of {depth} items per query, and qrels, in TREC's formats; equal scores are "
            "lowered one after the other by the smallest step of float32, so that they keep our order. R@k is called "
            "Success@k there, and true R@k is R@k."
        )

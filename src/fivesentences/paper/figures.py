"""What a figure is drawn from: the numbers of a study's figure, as one tidy table, and the files it becomes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fivesentences.config import FigureSpec, Scale, Study
from fivesentences.errors import InputError
from fivesentences.paper.names import phi_in_words
from fivesentences.paper.notes import notes_of_data, notes_on_missing
from fivesentences.paper.results import Measure, Results
from fivesentences.paper.rows import expand_rows
from fivesentences.storage import read_json


@dataclass(frozen=True)
class Figure:
    """A figure before it is drawn.

    ``data`` has one line a point: label, role, dataset, model, loss, fraction, direction, style, k, m, mean, spread
    (sample standard deviation; NaN with fewer than two seeds) and seeds.
    """

    study: str
    name: str
    scale: str
    title: str
    caption: str
    data: pd.DataFrame
    notes: tuple[str, ...]


def build_figure(study_name: str, name: str, study: Study, scale: Scale, frame: pd.DataFrame) -> Figure:
    """Collect the numbers of a study's figure from the tidy table of results.

    Raises:
        InputError: If a run or a value is missing (named), or runs were evaluated at different m.
    """
    spec = study.figures[name]
    results = Results(frame)
    rows = expand_rows(spec.rows, study, scale)
    data = _semantic_recall_over_m(spec, study, scale, results)
    notes = notes_of_data(study, scale, rows, results)
    phi = phi_in_words(scale.evaluation_phi)
    notes.append(f"Closeness in meaning: {phi}, {spec.formula} formula, the query's own items removed.")
    notes += [*notes_on_missing(study, scale, rows), *spec.notes]
    return Figure(study_name, name, scale.scale, spec.title, spec.caption, data, tuple(notes))


def write_figure(figure: Figure, stem: Path | str) -> None:
    """Write ``stem`` with the suffixes .png (200 dpi), .pdf, .csv (its numbers) and .json (its texts)."""
    # Matplotlib takes a second to import, which someone who only asks for a table should not wait.
    from fivesentences.paper.canvas import Texts, write_drawing
    from fivesentences.paper.semantic_recall_figure import draw

    texts = Texts(figure.title, figure.caption, figure.notes)
    write_drawing(stem, None if figure.data.empty else lambda canvas: draw(canvas, figure.data), figure.data, texts)


def read_texts(path: Path | str) -> tuple[str, str, list[str]]:
    """Title, caption and notes of a written figure, from its .json.

    Raises:
        InputError: If the file is missing or holds something else.
    """
    texts = read_json(path)
    try:
        return str(texts["title"]), str(texts["caption"]), [str(note) for note in texts["notes"]]
    except (KeyError, TypeError):
        raise InputError(f"{path}: these are not the texts of a figure; draw it again.") from None


def _semantic_recall_over_m(spec: FigureSpec, study: Study, scale: Scale, results: Results) -> pd.DataFrame:
    lines = []
    counts: list[int] = []
    for row in expand_rows(spec.rows, study, scale):
        for direction in ("i2t", "t2i"):
            for style in ("vse_recall", "recall"):
                measure = Measure(f"SR@{spec.k}", direction, spec.formula, "removed", 0, style, scale.evaluation_phi)
                for run in row.runs:
                    found = results.relevant_counts(run.name, measure)
                    counts = counts or found
                    if found != counts:
                        raise InputError(
                            f"the run '{run.name}' was evaluated at m = {found}, others at {counts}; evaluate it again."
                        )
                for m in counts if row.runs else ():
                    at_m = Measure(**{**vars(measure), "m": m})
                    values = pd.Series([results.value(run.name, at_m) for run in row.runs])
                    lines.append(
                        {
                            "label": study.labels.get(row.loss, row.loss),
                            "role": row.role,
                            "dataset": row.dataset,
                            "model": row.model,
                            "loss": row.loss,
                            "fraction": row.fraction,
                            "direction": direction,
                            "style": style,
                            "k": spec.k,
                            "m": m,
                            "mean": float(values.mean()),
                            "spread": float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
                            "seeds": len(values),
                        }
                    )
    names = ["label", "role", "dataset", "model", "loss", "fraction", "direction", "style", "k", "m"]
    return pd.DataFrame(lines, columns=[*names, "mean", "spread", "seeds"])

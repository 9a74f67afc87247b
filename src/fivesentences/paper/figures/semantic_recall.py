"""What a figure is drawn from: the numbers of a study's figure, as one tidy table, and the files it becomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fivesentences.config import Scale
from fivesentences.errors import InputError
from fivesentences.paper.results import Measure, Results
from fivesentences.paper.text.metric_notes import notes_on_inference
from fivesentences.paper.text.names import INFERENCES, phi_in_words, unique
from fivesentences.paper.text.notes import notes_of_data, notes_on_missing
from fivesentences.plan.figures import SemanticRecallFigureSpec
from fivesentences.plan.rows import Row, expand_rows
from fivesentences.plan.studies import Study
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
    """Collect the numbers of a study's figure of semantic recall from the tidy table of results.

    Raises:
        InputError: If a run or a value is missing (named), or runs were evaluated at different m.
    """
    spec = study.figures[name]
    assert isinstance(spec, SemanticRecallFigureSpec)
    results = Results(frame)
    rows = expand_rows(spec.rows, study, scale)
    data = _semantic_recall_over_m(spec, study, scale, rows, results)
    notes = notes_of_data(study, scale, rows, results)
    phi = phi_in_words(scale.evaluation_phi)
    notes.append(f"Closeness in meaning: {phi}, {spec.formula} formula, the query's own items removed.")
    notes += notes_on_inference(unique(row.inference for row in rows if row.left_out is None))
    notes += [*notes_on_missing(study, scale, rows), *spec.notes]
    return Figure(study_name, name, scale.scale, spec.title, spec.caption, data, tuple(notes))


def write_figure(figure: Figure, stem: Path | str) -> None:
    """Write ``stem`` with the suffixes .png (200 dpi), .pdf, .csv (its numbers) and .json (its texts)."""
    # Matplotlib takes a second to import, which someone who only asks for a table should not wait.
    from fivesentences.paper.figures.canvas import Texts, write_drawing
    from fivesentences.paper.figures.semantic_recall_drawing import draw

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


def labels_of_lines(rows: Sequence[Row], study: Study, always: str = "loss") -> list[str]:
    """What the lines of a figure are called: by whatever tells them apart, be it model, loss, fraction or dataset."""
    parts = ("dataset", "model", "loss", "fraction", "inference")
    telling = [part for part in parts if len({getattr(row, part) for row in rows}) > 1] or [always]
    labels = (", ".join(_in_words(row, part, study) for part in telling) for row in rows)
    return [label.replace(", + ", " + ") for label in labels]  # "VSE++ + SAM"


def _in_words(row: Row, part: str, study: Study) -> str:
    name = getattr(row, part)
    return f"{name:.0%}" if part == "fraction" else study.label_of(str(name), INFERENCES.get(name))


def _semantic_recall_over_m(
    spec: SemanticRecallFigureSpec, study: Study, scale: Scale, rows: Sequence[Row], results: Results
) -> pd.DataFrame:
    lines = []
    counts: list[int] = []
    kept = [row for row in rows if row.left_out is None]
    for row, label in zip(kept, labels_of_lines(kept, study), strict=True):
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
                for m in counts:
                    at_m = Measure(**{**vars(measure), "m": m})
                    values = pd.Series([results.value(run.name, at_m, row.inference) for run in row.runs])
                    lines.append(
                        {
                            "label": label,
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

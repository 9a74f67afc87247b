"""From what was measured to the files of a table or figure of any kind: what the workflow's scripts call."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from fivesentences.config import Scale, check
from fivesentences.corpus import Photographs
from fivesentences.errors import InputError
from fivesentences.evaluation import collect, read_evaluations
from fivesentences.evaluation.agreement import read_agreement
from fivesentences.evaluation.meaning import read_meaning
from fivesentences.evaluation.retrievals import read_retrievals
from fivesentences.paper.agreements import NEEDED, Agreements
from fivesentences.paper.figures.semantic_recall import build_figure, write_figure
from fivesentences.paper.results import Results
from fivesentences.paper.tables.agreement import build_agreement_table
from fivesentences.paper.tables.runs import build_table
from fivesentences.paper.tables.writing import write_table
from fivesentences.paper.text.metric_notes import notes_on_inference
from fivesentences.paper.text.names import unique
from fivesentences.paper.text.notes import notes_of_data, notes_on_left_out, notes_on_missing, notes_on_tuples
from fivesentences.plan.figures import HubnessFigureSpec, MetricAgreementFigureSpec
from fivesentences.plan.rows import expand_rows
from fivesentences.plan.runs import RunSpec
from fivesentences.plan.studies import Study

Paths = Sequence[Path | str]
Pictures = Mapping[str, Photographs]


def make_table(
    study_name: str, name: str, study: Study, scale: Scale, numbers: Paths, published: Path | str, stem: Path | str
) -> None:
    """Write a table of a study in every form.

    Args:
        study_name: File name of the study without its suffix.
        name: A table of the study.
        study: The study.
        scale: The scale.
        numbers: Metrics of its runs, or (a table of agreement) what the scale's judges say, all ``.json``.
        published: Folder of the printed tables.
        stem: Where to write, without a suffix.

    Raises:
        InputError: If a number or a printed row is missing.
    """
    if name in study.agreement_tables:
        table = build_agreement_table(study_name, name, study, scale, _agreements(numbers), published)
    else:
        table = build_table(study_name, name, study, scale, collect(numbers, scale.scale), published)
    write_table(table, stem)


def make_figure(
    study_name: str,
    name: str,
    study: Study,
    scale: Scale,
    numbers: Paths,
    stem: Path | str,
    photographs: Mapping[str, Photographs] | None = None,
) -> None:
    """Write a figure of a study as PNG, PDF, CSV and texts.

    Args:
        study_name: File name of the study without its suffix.
        name: A figure of the study.
        study: The study.
        scale: The scale.
        numbers: Metrics of its runs (``.json``); pairs of the scale's judges (``.parquet``, each beside its ``.json``),
            in the order of the scale; what phi says of each dataset, or retrievals that were compared (``.json``).
        stem: Where to write, without a suffix.
        photographs: Of each dataset that has some, by name, for a figure that shows some.

    Raises:
        InputError: If a number or a photograph is missing.
    """
    if name in study.agreement_figures:
        _agreement_figure(name, study, scale, numbers, stem)
    elif name in study.meaning_figures:
        _meaning_figure(name, study, scale, numbers, stem, photographs or {})
    else:
        _FIGURES[study.figures[name].drawing](study_name, name, study, scale, numbers, stem, photographs or {})


# What follows imports its drawing late: Matplotlib takes a second, which someone who asks for a table should not wait.


def _semantic_recall_figure(
    study_name: str, name: str, study: Study, scale: Scale, numbers: Paths, stem: Path | str, _: Pictures
) -> None:
    write_figure(build_figure(study_name, name, study, scale, collect(numbers, scale.scale)), stem)


def _hubness_figure(
    study_name: str, name: str, study: Study, scale: Scale, numbers: Paths, stem: Path | str, _: Pictures
) -> None:
    from fivesentences.paper.figures import hubness as hubness_figure
    from fivesentences.paper.figures.canvas import Texts, write_drawing

    spec = study.figures[name]
    assert isinstance(spec, HubnessFigureSpec)
    rows = expand_rows(spec.rows, study, scale)
    data = hubness_figure.tidy(spec, study, scale, {one["run"]: one for one in read_evaluations(numbers)})
    notes = notes_of_data(study, scale, rows, Results(collect(numbers, scale.scale)))
    if not data.empty:
        methods = unique(row.inference for row in rows if row.left_out is None)
        notes += [*hubness_figure.notes(), *notes_on_inference(methods)]
    draw = functools.partial(hubness_figure.draw, study=study, data=data)
    texts = Texts(spec.title, spec.caption, (*notes, *notes_on_missing(study, scale, rows), *spec.notes))
    write_drawing(stem, None if data.empty else draw, data, texts)


def _metric_agreement_figure(
    study_name: str, name: str, study: Study, scale: Scale, numbers: Paths, stem: Path | str, _: Pictures
) -> None:
    from fivesentences.paper.figures import metric_agreement as metric_agreement_figure
    from fivesentences.paper.figures.canvas import Texts, write_drawing

    spec = study.figures[name]
    assert isinstance(spec, MetricAgreementFigureSpec)
    runs = {one["run"]: check(RunSpec, one["spec"], one["run"]) for one in read_evaluations(numbers)}
    data = metric_agreement_figure.tidy(spec, study, scale, runs, collect(numbers, scale.scale))
    said = metric_agreement_figure.notes(data, spec, study, scale) if not data.empty else []
    draw = functools.partial(metric_agreement_figure.draw, study=study, data=data)
    write_drawing(stem, None if data.empty else draw, data, Texts(spec.title, spec.caption, (*said, *spec.notes)))


def _retrieval_pictures(
    study_name: str, name: str, study: Study, scale: Scale, numbers: Paths, stem: Path | str, photographs: Pictures
) -> None:
    from fivesentences.paper.figures import retrievals as retrieval_pictures
    from fivesentences.paper.figures.canvas import Texts, write_drawing

    spec = study.figures[name]
    rows = expand_rows(study.rows_of(name), study, scale)
    found = next((read_retrievals(path) for path in numbers), None)
    said = retrieval_pictures.notes(found, study.labels) if found is not None else []
    pictures = photographs.get(found["dataset"]) if found is not None else None
    draw = functools.partial(retrieval_pictures.draw, found=found or {}, photographs=pictures)
    data = retrieval_pictures.tidy(found or {"chosen": []})
    texts = Texts(spec.title, spec.caption, (*said, *notes_on_missing(study, scale, rows), *spec.notes))
    write_drawing(stem, None if found is None or data.empty else draw, data, texts)


_FIGURES: dict[str, Callable[[str, str, Study, Scale, Paths, Path | str, Pictures], None]] = {
    "semantic_recall_over_m": _semantic_recall_figure,
    "hubness": _hubness_figure,
    "metric_agreement": _metric_agreement_figure,
    "retrievals": _retrieval_pictures,
}


def _agreement_figure(name: str, study: Study, scale: Scale, numbers: Paths, stem: Path | str) -> None:
    from fivesentences.paper.figures.agreement import bin_pairs, draw, texts_of
    from fivesentences.paper.figures.canvas import write_drawing

    spec = study.agreement_figures[name]
    paths = [Path(path) for path in numbers]
    agreements = Agreements(_agreements([path.with_suffix(".json") for path in paths]))
    pairs = {str(judge.judge): pd.read_parquet(path) for judge, path in zip(scale.judges, paths, strict=True)}
    data = bin_pairs(spec, scale, pairs)
    filled = functools.partial(draw, spec=spec, study=study, scale=scale, data=data, agreements=agreements)
    write_drawing(stem, None if data.empty else filled, data, texts_of(spec, study, scale, agreements))


def _meaning_figure(
    name: str, study: Study, scale: Scale, numbers: Paths, stem: Path | str, photographs: Mapping[str, Photographs]
) -> None:
    from fivesentences.paper.figures import best_captions as meaning_pictures
    from fivesentences.paper.figures import phi_histogram as meaning_histogram
    from fivesentences.paper.figures.canvas import Texts, write_drawing

    spec = study.meaning_figures[name]
    phis = [phi for phi in spec.phis if phi not in scale.leave_out.phis]
    found = [read_meaning(path) for path in numbers]
    for phi, one in itertools.product(phis, found):
        if phi not in one["phis"]:
            raise InputError(f"what phi says of {one['dataset']}/{one['split']} lacks '{phi}'; measure meaning again.")
    drawn = found if phis else []
    if spec.drawing == "foreign_captions":
        data, said = meaning_pictures.tidy(drawn, phis), meaning_pictures.notes(drawn)
        draw = functools.partial(meaning_pictures.draw, found=drawn, phis=phis, photographs=photographs)
    else:
        data, said = meaning_histogram.tidy(drawn, phis), meaning_histogram.notes()
        draw = functools.partial(meaning_histogram.draw, study=study, found=drawn, phis=phis)
    said = [*said, *notes_on_tuples(drawn, phis)] if drawn else []
    notes = (*said, *notes_on_left_out(spec.phis, scale), *spec.notes)
    write_drawing(stem, draw if drawn else None, data, Texts(spec.title, spec.caption, notes))


def _agreements(numbers: Paths) -> pd.DataFrame:
    frames = [read_agreement(path) for path in numbers]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(NEEDED))

"""The page of every run of a scale, with its runs and epochs as CSV beside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from fivesentences.paper.headline import MEASURES
from fivesentences.paper.site.run_curves import HEIGHT, WIDTH, Chart, chart_of
from fivesentences.paper.site.shell import Site
from fivesentences.paper.site.shown_runs import EPOCH_OF, SIDES, Kind, Part, Recorded, ShownRun, anchor_of
from fivesentences.paper.text.names import phi_in_words
from fivesentences.paper.text.numbers import number
from fivesentences.storage import replacing

HERE = "runs/index.html"
# What a line of each table begins with, and the decimals of its numbers.
TITLES: dict[Part, str] = {"matching": "Image–text matching", "categories": "Category retrieval"}
TEXTS: dict[Part, tuple[str, ...]] = {
    "matching": ("model", "loss", "dataset"),
    "categories": ("method", "documents"),
}
DATASETS = ("dataset", "documents")
NUMBERS: dict[Part, tuple[str, ...]] = {"matching": tuple(MEASURES), "categories": tuple(SIDES.values())}
DECIMALS: dict[Part, int] = {"matching": 1, "categories": 3}
CURVES: dict[Part, tuple[str, str]] = {
    "matching": ("training loss", "Rsum on dev"),
    "categories": ("training loss", "mAP of validation"),
}
COUNTED = {
    "training": ("training", "trainings"),
    "ensemble": ("ensemble", "ensembles"),
    "encoder": ("encoder", "encoders"),
    "category retrieval": ("run of category retrieval", "runs of category retrieval"),
}
FIELDS = ("dataset", "model", "loss")  # that a reader chooses by
# Alpine's state: the words and choices of the form, and which lines they show.
FILTER = """{ wanted: '', dataset: '', model: '', loss: '',
  shows(line) {
    const { dataset, model, loss, text } = line.dataset, words = this.wanted.toLowerCase().split(/\\s+/);
    return (!this.dataset || dataset === this.dataset) && (!this.model || model === this.model)
      && (!this.loss || loss === this.loss) && words.every((word) => text.includes(word));
  },
  count() {
    const lines = [...this.$root.querySelectorAll('tr.kind')];
    return `${lines.filter((line) => this.shows(line)).length} of ${lines.length} settings`;
  } }"""
Cell = tuple[str, str]  # what is sorted by, and what is shown


@dataclass(frozen=True)
class SeedLine:
    """One run in the table of a kind."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class KindLine:
    """A kind of run: a line of the table, and what opens below.

    Attributes:
        kind: Its settings and runs.
        id: Of its small charts, with the chart's number behind it.
        texts: Of the line's first cells.
        summary: What is said of it below, where its line is not beside it.
        numbers: Means over the seeds, how many these are, and the time.
        charts: Loss and score; None for what was not recorded.
        about: Sentences, each with links behind it.
        seed_headings: Of the table of seeds.
        seeds: Its lines.
    """

    kind: Kind
    id: str
    texts: tuple[str, ...]
    summary: str
    numbers: tuple[Cell, ...]
    charts: tuple[Chart | None, ...]
    about: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    seed_headings: tuple[str, ...]
    seeds: tuple[SeedLine, ...]

    @property
    def address(self) -> str:
        """Its anchor in a link."""
        return anchor_of(self.kind.name)

    @property
    def marks(self) -> Markup:
        """What the form compares, as attributes."""
        kind = self.kind
        fields = {key: getattr(kind, key) for key in FIELDS}
        fields["text"] = " ".join([self.summary, kind.what, kind.dataset, kind.name]).lower()
        return Markup(" ").join(Markup('data-{}="{}"').format(key, value) for key, value in fields.items())


@dataclass(frozen=True)
class Section:
    """A table of the page.

    Attributes:
        part: What its runs do.
        title: Of the table; it names the dataset if all lines have the same, which then has no column.
        texts: Headings of the first cells.
        numbers: Headings of numbers.
        curves: Headings of curves.
        lines: One per kind of run.
    """

    part: Part
    title: str
    texts: tuple[str, ...]
    numbers: tuple[str, ...]
    curves: tuple[str, str]
    lines: tuple[KindLine, ...]


def write_runs_page(site: Site, kinds: Sequence[Kind], recorded: Recorded, phi: str, folder: Path) -> Path:
    """Write ``folder/runs/index.html``, and beside it ``runs.csv`` and ``curves.csv``.

    Args:
        site: Of the scale.
        kinds: Every run; see ``kinds_of``.
        recorded: Their epochs.
        phi: Which NCS is shown.
        folder: Of the site.
    """
    parts = [part for part in TITLES if any(kind.part == part for kind in kinds)]
    sections = [_section(part, [kind for kind in kinds if kind.part == part]) for part in parts]
    page = site.write(
        folder,
        "runs.html",
        HERE,
        scripts=["alpine"],
        sections=sections,
        lead=_lead(kinds),
        about_numbers=f"NCS is by {phi_in_words(phi)}, released formula, own items removed.",
        missing=_missing(kinds),
        fields=_fields(kinds),
        filter=FILTER,
        box=(WIDTH, HEIGHT),
    )
    _write_csv(runs_table(kinds), page.with_name("runs.csv"))
    _write_csv(curves_table(kinds, recorded), page.with_name("curves.csv"))
    return page


def runs_table(kinds: Sequence[Kind]) -> pd.DataFrame:
    """One row per run: what it is, its numbers, kept epochs, device and version of PyTorch.

    It has no times: made again, it is the same.
    """
    lines = []
    for kind in kinds:
        about: dict[str, Any] = {"what": kind.what, "dataset": kind.dataset, "model": kind.model, "loss": kind.loss}
        about["fraction"] = kind.fraction
        for run in kind.runs:
            kept = {f"epoch {why}".strip(): epoch for why, epoch in run.kept.items()}
            line = {"run": run.name} | about | {"seed": run.seed} | dict(run.values) | kept
            lines.append(line | {"device": run.device, "torch": run.torch})
    return pd.DataFrame(lines)


def curves_table(kinds: Sequence[Kind], recorded: Recorded) -> pd.DataFrame:
    """One row per run and epoch, with everything that was recorded of it."""
    names = {run.name for kind in kinds for run in kind.runs}
    histories = recorded.histories.drop(columns=["device", "torch"], errors="ignore")
    frames = [frame[frame["run"].isin(names)] for frame in (histories, recorded.subspace_histories)]
    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else frames[0]


def duration(seconds: float | None) -> str:
    """``27 s``, ``4.5 min``, ``2.1 h``; empty for None."""
    if seconds is None:
        return ""
    for most, unit, name in ((99.5, 1, "s"), (5970, 60, "min")):
        if seconds < most:
            return f"{seconds / unit:.2g} {name}" if seconds / unit < 9.95 else f"{seconds / unit:.0f} {name}"
    return f"{seconds / 3600:.1f} h"


def _write_csv(table: pd.DataFrame, out: Path) -> None:
    with replacing(out) as temporary:
        table.to_csv(temporary, index=False, lineterminator="\n")


def _section(part: Part, kinds: Sequence[Kind]) -> Section:
    """A table without columns that would be empty, or say the same dataset on every line."""
    datasets = {kind.dataset for kind in kinds}
    timed = any(kind.seconds is not None for kind in kinds)
    of_one = len(datasets) == 1
    return Section(
        part=part,
        title=f"{TITLES[part]} on {datasets.pop()}" if of_one else TITLES[part],
        texts=tuple(name for name in TEXTS[part] if not (of_one and name in DATASETS)),
        numbers=(
            *(["captions"] if part == "matching" else []),
            *("epochs", *NUMBERS[part], "seeds"),
            *(["time per run"] if timed else []),
        ),
        curves=CURVES[part],
        lines=tuple(_line(kind, f"{part[0]}{place}-", of_one, timed) for place, kind in enumerate(kinds)),
    )


def _line(kind: Kind, name: str, of_one_dataset: bool, timed: bool) -> KindLine:
    decimals = DECIMALS[kind.part]
    numbers = (
        [("" if kind.fraction is None else f"{kind.fraction:g}", _captions(kind))] if kind.part == "matching" else []
    )
    numbers.append(cell_of(kind.epochs, 0))
    numbers += [cell_of(kind.mean(measure), decimals) for measure in NUMBERS[kind.part]]
    numbers.append(cell_of(len(kind.runs), 0))
    if timed:
        numbers.append(("" if kind.seconds is None else f"{kind.seconds:g}", duration(kind.seconds)))
    said = dict(zip(TEXTS[kind.part], _texts(kind), strict=True))
    texts = tuple(text for column, text in said.items() if not (of_one_dataset and column in DATASETS))
    epochs = f"{kind.epochs} epoch{'s' * (kind.epochs != 1)}" if kind.epochs else ""
    summary = " · ".join(filter(None, (*texts, _captions(kind), epochs)))
    headings, seeds = _seeds(kind)
    charts = (chart_of(kind, "loss"), chart_of(kind, "score"))
    return KindLine(kind, name, texts, summary, tuple(numbers), charts, tuple(_about(kind)), headings, seeds)


def _texts(kind: Kind) -> tuple[str, ...]:
    if kind.part == "categories":
        return (kind.loss, kind.dataset)
    said = {"training": "", "encoder": " (encoder, not trained here)"}.get(kind.what, f" ({kind.what})")
    return (kind.model + said, kind.loss, kind.dataset)


def _captions(kind: Kind) -> str:
    """Which of the training captions, and in what batches."""
    part = "" if kind.fraction is None else f"{100 * kind.fraction:g}%"
    return ", ".join(filter(None, (part, *kind.beside)))


def _seeds(kind: Kind) -> tuple[tuple[str, ...], tuple[SeedLine, ...]]:
    """The table of a kind's seeds: its headings and lines, without columns that would be empty."""
    measures = list(dict.fromkeys(name for run in kind.runs for name in run.values))
    reasons = list(dict.fromkeys(why for run in kind.runs for why in run.kept))
    facts = [name for name in ("device", "torch") if any(getattr(run, name) for run in kind.runs)]
    kept = [f"epoch of {EPOCH_OF[why]}" if why in EPOCH_OF else "kept epoch" for why in reasons]
    named = {"torch": "PyTorch", "device": "device"}

    def cells(run: ShownRun) -> tuple[Cell, ...]:
        found = [cell_of(run.seed, 0), *(cell_of(run.values.get(name), DECIMALS[kind.part]) for name in measures)]
        found += [cell_of(run.kept.get(why), 0) for why in reasons]
        return (*found, *((getattr(run, name), getattr(run, name)) for name in facts))

    headings = ("seed", *measures, *kept, *(named[name] for name in facts))
    return headings, tuple(SeedLine(run.name, cells(run)) for run in kind.runs)


def _about(kind: Kind) -> list[tuple[str, tuple[tuple[str, str], ...]]]:
    """What is said of a kind before its curves."""
    found: list[tuple[str, tuple[tuple[str, str], ...]]] = []
    if kind.shown_in:
        found.append(("Shown in", tuple((title, _exhibit(name)) for name, title in kind.shown_in)))
    members = list(dict.fromkeys(member for run in kind.runs for member in run.members))
    if members:
        found.append(("The mean of the similarities of", tuple((name, f"#{anchor_of(name)}") for name in members)))
    if kind.seconds is not None:
        shared = ", its share of the job that trained it with others" if kind.of_job else ""
        found.append((f"Training took {duration(kind.seconds)} per run{shared}.", ()))
    return found


def _exhibit(name: str) -> str:
    """The address of a table or figure on the page of its study, from the page of runs."""
    study, _, exhibit = name.partition("/")
    return f"../{study}/index.html#{exhibit}"


def _lead(kinds: Sequence[Kind]) -> str:
    counts = Counter[str]()
    for kind in kinds:
        counts[kind.what] += len(kind.runs)
    said = [f"{count:,} {COUNTED[what][count != 1]}" for what, count in counts.items()]
    return f"{', '.join(said)}, in {len(kinds):,} settings."


def _missing(kinds: Sequence[Kind]) -> list[str]:
    """What results that were shared do not say."""
    trained = [kind for kind in kinds if kind.what in ("training", "category retrieval")]
    found = []
    if trained and all(kind.seconds is None for kind in trained):
        found.append("The time of training is not known: the manifest has none.")
    without = sum(not run.series for kind in trained if kind.what == "training" for run in kind.runs)
    if without:
        found.append(f"No epochs were recorded of {without:,} trainings.")
    return found


def _fields(kinds: Sequence[Kind]) -> list[dict[str, Any]]:
    """The choices of the form; one that has a single value is left out."""
    found = []
    for key in FIELDS:
        options = sorted({getattr(kind, key) for kind in kinds} - {""}, key=str.casefold)
        if len(options) > 1:
            found.append({"key": key, "label": key, "options": options})
    return found


def cell_of(value: float | None, decimals: int) -> Cell:
    """A number as what is sorted by, in full, and what is shown."""
    return ("", "") if value is None else (f"{value:.12g}", number(value, decimals))

"""One table with a row per model, as papers print it, with published rows below."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase
from types import MappingProxyType
from typing import Annotated, Any

import pandas as pd
import typer

from fivesentences.choices import each_once
from fivesentences.commands.score_sheets import (
    ALPHA,
    CHANCE,
    FORMULAS,
    OF_CHANCE,
    ORDER,
    best_of,
    rules,
    sized,
    too_few_resamples,
    units,
)
from fivesentences.config.metrics import Choice, choices_of, metric_of, parse_metric, shown_name
from fivesentences.errors import InputError
from fivesentences.evaluation.comparable import Comparable, ComparableRow, comparable_named
from fivesentences.evaluation.protocols import PROTOCOLS
from fivesentences.metrics import Evaluation
from fivesentences.metrics.sheet import Marked, Sheet
from fivesentences.metrics.values import KEYS, row_key
from fivesentences.semantics.registry import metric_in_words

DEFAULT = "R,Rsum,NCS,Nsum"
DIGITS = {"percent": 1, "rank": 1, "fraction": 3}  # after the point; other units: as everywhere
SIDES = {"i2t": "image to text", "t2i": "text to image", "": ""}
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    """What the table with a row per model shows.

    Attributes:
        families: One table with a row per model and these columns, such as R,Rsum,NCS,MedR or R@1,NCS-GT (without the
            query's own items); also in the terminal and Markdown. --latex always writes this table; default: R,Rsum,
            and with phi NCS,Nsum.
        beside: Set published rows below, such as five-sentences:flickr30k; "fivesentences published" lists them.
    """

    families: Annotated[str | None, typer.Option("--metrics")] = None
    beside: str | None = None

    @property
    def asked(self) -> bool:
        """Whether the terminal and Markdown show this table too."""
        return self.families is not None or self.beside is not None

    @property
    def choices(self) -> list[Choice]:
        """The metrics.

        Raises:
            InputError: If one is unknown.
        """
        return choices_of(DEFAULT if self.families is None else self.families)

    @property
    def published(self) -> Comparable | None:
        """The published rows.

        Raises:
            InputError: If there are none of this name.
        """
        return None if self.beside is None else comparable_named(self.beside)

    def sheet(
        self,
        models: Mapping[str, Evaluation],
        tests: pd.DataFrame | None,
        notes: Sequence[str],
        *,
        spelled: bool = False,
    ) -> Sheet:
        """Return the table.

        Args:
            models: Evaluations by name, of the same images and captions.
            tests: As ``compare_all`` returns them; None if models are not compared.
            notes: Further sentences.
            spelled: True to write out the directions.

        Raises:
            InputError: If no model has a number of a metric that was asked for.
        """
        about, choices = next(iter(models.values())).about, self.choices
        of_models = {name: {row_key(value): value["value"] for value in one.values} for name, one in models.items()}
        given = list(dict.fromkeys(itertools.chain.from_iterable(of_models.values())))
        for choice in choices if self.families is not None else ():
            if not any(choice.has(key[0], key[3]) for key in given):
                cure = f"it needs {choice.needs}" if choice.needs else "leave it out"
                base, _, cutoff = choice.name.partition("@")
                family = [key[0] for key in given if choice._replace(name=base).has(key[0], key[3])]
                if cutoff and (known := {name.partition("@")[2] for name in family}):
                    if all(map(str.isdigit, {*known, cutoff})):
                        cure = f"its cut-offs are set by --ks {','.join(sorted({*known, cutoff}, key=int))}"
                    else:
                        cure = f"its cut-offs are set by --map-cutoffs, such as all,R,{cutoff}"
                elif choice.needs == "phi":
                    cure = "it needs phi: give --captions FILE, or --phi FILE"
                raise InputError(f"no model has '{choice.text}'", where="--metrics", cure=cure)
        chosen = [key for key in given if any(choice.has(key[0], key[3]) for choice in choices)]
        below = [rules(about), units({key[0] for key in chosen})]
        if by_formula := [key for key in chosen if metric_of(key[0]).formulas]:
            named = " and ".join(FORMULAS[name] for name in sorted({key[2] for key in by_formula}, reverse=True))
            titles = " and ".join(sorted({shown_name(key[0]).partition("@")[0] for key in by_formula}))
            below.append(f"{titles}: {named}, with the query's own items unless a heading says otherwise.")
        published = self.published
        of_papers = published.rows() if published else []
        chance = next((one.chance.by_key for one in models.values() if one.chance is not None), {})
        table = rows_of(of_models, of_papers, choices, tests, chance, spelled=spelled)
        below += [OF_CHANCE] if chance else []
        below += table.notes
        if published:
            every = itertools.chain(given, *(row.values for row in of_papers))
            columns = {shown_name(key[0]) for key in every if any(choice.has(key[0], key[3]) for choice in choices)}
            below += published.differences(PROTOCOLS.get(about["protocol"]), columns)
        title = sized(next(iter(models)) if len(models) == 1 else f"{len(models)} models", about)
        return replace(table, title=title, notes=[*below, *notes])


def rows_of(
    models: Mapping[str, Mapping[Key, float]],
    published: Sequence[ComparableRow],
    choices: Sequence[Choice],
    tests: pd.DataFrame | None = None,
    chance: Mapping[Key, float] = MappingProxyType({}),
    *,
    spelled: bool = False,
) -> Sheet:
    """Return a row per model, best numbers in bold and with the letters of the models that they beat.

    Below stand what a random ranking reaches, and published rows.

    Args:
        models: Numbers by the keys of ``MetricValue``, by model.
        published: Published rows.
        choices: The metrics.
        tests: As ``compare_all`` returns them.
        chance: Numbers of a random ranking.
        spelled: True to write out the directions.
    """
    given = dict.fromkeys(itertools.chain(*models.values(), *(row.values for row in published)))
    keys = each_once(key for choice in choices for key in _in_order(key for key in given if choice.has(key[0], key[3])))
    letters = dict(zip(models, letters_of_models(), strict=False)) if tests is not None else {}
    beaten = _beaten(tests, letters)
    best = {}
    for key in keys:
        shown = {name: round(of_model[key], _digits(key)) for name, of_model in models.items() if key in of_model}
        best[key] = best_of(shown, key[0])
    rows: list[list[str]] = []
    for name, values in models.items():
        cells = [_text(values.get(key), key) for key in keys]
        marked = [
            Marked(cell, name in best[key], beaten.get((name, key), "")) for cell, key in zip(cells, keys, strict=True)
        ]
        rows.append([*([letters[name]] if letters else []), name, *([""] if published else []), *marked])
    if chance:
        cells = [_text(chance.get(key), key) for key in keys]
        rows.append([*([""] if letters else []), CHANCE, *([""] if published else []), *cells])
    rows += [[]] if models and published else []  # a rule
    for row in published:
        cells = ["" if row.values.get(key) is None else str(row.values[key]) for key in keys]
        rows.append([*([""] if letters else []), row.label, row.source, *cells])
    notes = ["Bold: the best of these models, and what equals it."] if any(best.values()) else []
    if tests is not None:
        method, resamples, pairs = (tests.attrs[name] for name in ("method", "resamples", "pairs"))
        flips = "sign flips" if method == "permutation" else "draws"
        for_pairs = f"Holm's correction for the {pairs} pairs of models" if pairs > 1 else "one pair, no correction"
        notes.append(
            "Superscript: the number is significantly better than those of the models with these letters (paired "
            f"{method} test, {resamples:,} {flips} of images with their captions, p < {ALPHA:g}, {for_pairs})."
        )
        untested = dict.fromkeys(_heading(key) for key in keys if best[key] and key[0] not in set(tests["metric"]))
        notes += [f"Not tested: {', '.join(untested)}."] if untested else []
        notes += too_few_resamples(tests)
    stub = [*([""] if letters else []), "model", *(["published in"] if published else [])]
    return Sheet(stub, [(_group(key, spelled), _heading(key)) for key in keys], rows, "", notes)


def _in_order(keys: Iterable[Key]) -> list[Key]:
    """Sort keys of a metric: by variant, as they come; in each i2t before t2i, and the smallest cut-off first."""
    found, variants = list(keys), dict[Key, int]()
    for key in found:
        variants.setdefault(_variant(key), len(variants))
    return sorted(
        found, key=lambda key: (variants[_variant(key)], ORDER.index(key[1] or "sum"), parse_metric(key[0]).cutoff or 0)
    )


def _variant(key: Key) -> Key:
    return parse_metric(key[0]).family, *key[2:]


def _group(key: Key, spelled: bool) -> str:
    """Return the heading above a column: the direction, and what else tells its numbers apart."""
    of = dict(zip(KEYS, key, strict=True))
    words = [
        SIDES[of["direction"]] if spelled else of["direction"],
        metric_in_words(of["phi"]),
        "paper's formula" if of["formula"] == "paper" else "",
    ]
    words += ["without own items"] if of["ground_truth"] == "removed" else []
    words += [f"m = {of['m']}"] if of["m"] else []
    words += [of[name] for name in ("style", "weighting", "discount") if of[name] not in ("", "recall", "hard")]
    return ", ".join(filter(None, words))


def _heading(key: Key) -> str:
    return shown_name(str(key[0]))


def _digits(key: Key) -> int:
    metric = metric_of(key[0])
    return DIGITS.get(metric.unit, metric.decimals)


def _text(value: float | None, key: Key) -> str:
    return "" if value is None or value != value else f"{value:.{_digits(key)}f}"


def letters_of_models() -> Iterable[str]:
    """Return a, b, ..., z, aa, ab, ..."""
    return ("".join(some) for n in itertools.count(1) for some in itertools.product(ascii_lowercase, repeat=n))


def _beaten(tests: pd.DataFrame | None, letters: Mapping[str, str]) -> dict[tuple[str, Key], str]:
    """Return which models, by their letters, each number of a model is significantly better than."""
    found: dict[tuple[str, Key], list[str]] = {}
    for row in [] if tests is None else tests.to_dict("records"):
        better = metric_of(row["metric"]).better
        if row["p_holm"] < ALPHA and better != "neither" and row["difference"]:
            wins = (row["difference"] > 0) == (better == "higher")
            winner, loser = (row["model"], row["against"]) if wins else (row["against"], row["model"])
            found.setdefault((winner, row_key(row)), []).append(letters[loser])
    comma = "," if any(len(letter) > 1 for letter in letters.values()) else ""
    return {where: comma.join(sorted(some, key=lambda one: (len(one), one))) for where, some in found.items()}

"""How a leaderboard is shown: one row per model, differences from one of them, and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fivesentences.commands.score_sheets import GROUND_TRUTH
from fivesentences.commands.sheets import Best, Sheet, number

if TYPE_CHECKING:
    import pandas as pd

    from fivesentences.evaluation.result_files import Result

ALPHA = 0.05
SUMS = ("Rsum", "Nsum")


def _columns(found: Sequence[Result]) -> list[tuple[str, str, dict[str, str]]]:
    """Group, heading and key of each column of numbers."""
    from fivesentences.config.metrics import parse_metric

    keys: list[tuple[str, str, dict[str, str]]] = []
    for side in ("i2t", "t2i"):
        names = {value["metric"] for one in found for value in one.evaluation.values if value["direction"] == side}
        recalls = [name for name in names if parse_metric(name).metric.name == "R@k"]
        recalls.sort(key=lambda name: parse_metric(name).cutoff or 0)
        keys += [(side, name, {"metric": name, "direction": side, "phi": "", "ground_truth": ""}) for name in recalls]
    keys.append(("both", "Rsum", {"metric": "Rsum", "direction": "", "phi": "", "ground_truth": ""}))
    phis = dict.fromkeys(value["phi"] for one in found for value in one.evaluation.values if value["phi"])
    for phi in phis:
        for kept in ("kept", "removed"):
            key = {"metric": "Nsum", "direction": "", "phi": phi, "ground_truth": kept}
            keys.append((phi, f"Nsum, GT {kept}", key))
    return keys


def value_of(one: Result, key: Mapping[str, str]) -> float | None:
    """The number of a model that a key names; None if it has none."""
    for value in one.evaluation.values:
        usual = value["formula"] in ("", "released") and not value["discount"]
        if usual and all(value[name] == wanted for name, wanted in key.items()):  # type: ignore[literal-required]
            return value["value"]
    return None


def _test_of(tests: pd.DataFrame | None, name: str, key: Mapping[str, str]) -> dict[str, Any] | None:
    """The test of a model against the reference by a sum; None where there is none."""
    if tests is None:
        return None
    rows = tests[(tests["model"] == name) | (tests["against"] == name)]
    for row in rows.to_dict("records"):
        usual = row["formula"] in ("", "released") and not row["discount"]
        if usual and all(row[column] == key[column] for column in ("metric", "phi", "ground_truth")):
            # compare_all sets the reference second.
            return None if row["against"] == name else {str(column): value for column, value in row.items()}
    return None


def leaderboard_sheet(found: Sequence[Result], tests: pd.DataFrame | None, title: str, notes: Sequence[str]) -> Sheet:
    """One row per model, the best numbers in bold, and the differences from the reference."""
    columns = _columns(found)
    cells: list[list[str]] = [[] for _ in found]
    for _, _, key in columns:
        values = [value_of(one, key) for one in found]
        largest = max((value for value in values if value is not None), default=None)
        for row, value in zip(cells, values, strict=True):
            row.append(Best(number(value)) if value is not None and value == largest else number(value))
    headings = [(group, heading) for group, heading, _ in columns]
    if tests is not None:
        reference = str(tests["against"].iloc[0])
        for group, heading, key in [column for column in columns if column[2]["metric"] in SUMS]:
            headings.append((f"minus {reference}", heading if group == "both" else f"{heading}, {group}"))
            for row, one in zip(cells, found, strict=True):
                test = _test_of(tests, one.name, key)
                star = "*" if test is not None and test["p_holm"] < ALPHA else ""
                row.append(
                    "" if test is None
                    else f"{test['difference']:+.2f}{star} [{test['low']:+.2f}, {test['high']:+.2f}]"
                )  # fmt: skip
    rows = [[str(at), one.name, *row] for at, (one, row) in enumerate(zip(found, cells, strict=True), start=1)]
    return Sheet(["", "model"], headings, rows, title, notes)


def leaderboard_notes(found: Sequence[Result], tests: pd.DataFrame | None) -> list[str]:
    """What the numbers are, what was tested, and which captions were scored."""
    notes = ["In percent; Rsum and Nsum are sums over both directions and cut-offs. Bold: the best."]
    if any(value["phi"] for one in found for value in one.evaluation.values):
        notes.append(f"Nsum: NCS by the released formula; {GROUND_TRUTH}")
    if tests is not None:
        reference, flips = tests["against"].iloc[0], tests.attrs.get("resamples")
        notes.append(
            f"Differences from '{reference}' with 95 % intervals, paired by image, each with its captions; *: p < "
            f"{ALPHA:g} after Holm's correction for the pairs" + (f"; {flips:,} sign flips." if flips else ".")
        )
    silent = [one.name for one in found if not one.has_queries]
    if silent and tests is not None:
        notes.append(f"Not tested, since the values of every query are not known: {', '.join(silent)}.")
    unknown = [one.name for one in found if "captions_sha256" not in one.subject]
    if unknown:
        notes.append(f"Nothing says which captions were scored, so this was not compared: {', '.join(unknown)}.")
    subjects = {
        (one.subject.get("dataset"), one.subject.get("split"), one.subject.get("captions_file"), sha)
        for one in found
        if (sha := one.subject.get("captions_sha256"))
    }
    for dataset, split, file, sha in sorted(subjects, key=str):
        of = "/".join(str(word) for word in (dataset, split) if word) or "a split that is not known"
        notes.append(f"Scored on {of}: captions of {file} (SHA-256 {str(sha)[:12]}).")
    return list(dict.fromkeys([*notes, *(note for one in found for note in one.notes)]))


def leaderboard_tidy(found: Sequence[Result], tests: pd.DataFrame | None) -> pd.DataFrame:
    """One row per model and number, with its difference from the reference where it was tested."""
    import pandas as pd

    rows = []
    for rank, one in enumerate(found, start=1):
        for _, _, key in _columns(found):
            value = value_of(one, key)
            if value is None:
                continue
            test = _test_of(tests, one.name, key) or {}
            rows.append(
                {"rank": rank, "model": one.name, "file": one.file, **key, "value": value,
                 "against": test.get("against", ""),
                 **{name: test.get(name, float("nan")) for name in ("difference", "low", "high", "p", "p_holm")},
                 "tested": one.has_queries, "captions_sha256": one.subject.get("captions_sha256", ""),
                 "split": one.subject.get("split") or ""}
            )  # fmt: skip
    return pd.DataFrame(rows)

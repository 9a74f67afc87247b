"""What a refactoring must leave as it is: the runs of every scale, and every number of some of them.

    uv run python tests/golden/golden.py compare demo     # results/ against tests/golden/demo.parquet
    uv run python tests/golden/golden.py keep demo        # after a change that is meant; the commit says why

Other numbers than before need another version of the code that made them (``fivesentences.versions``): ``keep``
refuses them while every version is the one that a golden file was kept at.

A golden file is a table of ``file``, ``key`` and ``value``, all text: a line of the CSV of a table, figure or claim; a
number of the evaluation, written so that it reads back as the same float; the SHA-256 of a run's epochs, and of its
values per image or query. ``plans.parquet`` has the settings and the job of every run of every scale, which pytest
compares.

Training on another kind of processor gives other last digits. A golden file names the kind that made it; on another one
everything but numbers is compared, and the program says so. It ends with exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from fivesentences.documents import read_yaml
from fivesentences.machine import cpu_kind
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of
from fivesentences.versions import VERSIONS

HERE = Path(__file__).parent
CONFIG = HERE.parents[1] / "config"
REHEARSAL = HERE.parent / "rehearsal" / "rehearsal.yaml"
SCALES = sorted([*(path.stem for path in CONFIG.glob("*.yaml") if path.stem != "datasets"), REHEARSAL.stem])
SHOWN = 20
WIDTH = 160  # characters of a value that are shown
# Files whose lines follow what a model retrieves: other items where it was trained on another kind of processor.
RETRIEVED = {"gallery/gallery.csv", "five_sentences/figure1.csv", "knn_margin/hubness.csv"}
# Columns whose words follow from numbers, which differ there: verdict, outcome.
CLAIMS, VERDICTS = "claims/claims.csv", {6, 10}
DIGEST = re.compile(r"[0-9a-f]{64}")
NUMBER = re.compile(r"[-+−]?\b\d+(?:\.\d+)?(?:e[-+]?\d+)?\b|\bnan\b|\binf\b")
# What code computes, of which tables, figures and claims are drawn.
COMPUTED = ("numbers", "epochs", "values per image", "category retrieval")
COLUMNS = ["file", "key", "value"]
Line = tuple[str, str, str]  # file, key, value


def lines_of_plan(plan: Plan) -> Iterator[Line]:
    """Yield every run, ensemble and method of a scale, with its job, readings and settings."""
    default = {*plan.evaluated_at(plan.scale.scale), *plan.subspaces.runs}
    scored = plan.all_runs | plan.all_ensembles
    jobs = {name: plan.job_of(name).name for name in scored}
    jobs |= {name: plan.subspaces.jobs_of([name])[0] for name in plan.subspaces.all_runs}
    for name, spec in (scored | plan.subspaces.all_runs).items():
        about = {"job": jobs[name], "readings": plan.inferences.get(name, []), "default": name in default}
        about["settings"] = spec.model_dump(mode="json")
        yield plan.scale.scale, name, json.dumps(about, sort_keys=True)


def lines_of_results(plan: Plan) -> Iterator[Line]:
    """Every number that a finished scale has left."""
    scale, results = plan.scale.scale, plan.places.results
    evaluation = results / "evaluation"
    paper = results / "paper" / scale
    # The table of runs repeats the numbers of the evaluation.
    for path in sorted(path for path in paper.rglob("*.csv") if path.parent != paper / "runs"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            yield path.relative_to(paper).as_posix(), f"line {number}", line
    if (whole := evaluation / f"{scale}.parquet").is_file():
        yield from _numbers("numbers", pd.read_parquet(whole))
    if (epochs := evaluation / f"{scale}.histories.parquet").is_file():
        yield from _digests("epochs", pd.read_parquet(epochs).drop(columns=["device", "torch"]), plan.trained_at(scale))
    for path in sorted((evaluation / "jobs").rglob("*.per_image.parquet")):
        yield from _digests("values per image", pd.read_parquet(path), plan.evaluated_at(scale))
    for job in plan.subspaces.jobs_of(plan.subspaces.runs):
        yield from _numbers("category retrieval", pd.read_parquet(plan.places.subspace_numbers(job)))
        for part in ("queries", "histories", "category_margins"):
            table = pd.read_parquet(plan.places.subspace_numbers(job, part))
            yield from _digests(f"category retrieval, {part}", table, plan.subspaces.runs)


def _numbers(file: str, table: pd.DataFrame) -> Iterator[Line]:
    keys = table.drop(columns="value").itertuples(index=False)
    for key, value in zip(keys, table["value"], strict=True):
        yield file, "|".join(map(str, key)), repr(float(value))


def _digests(file: str, table: pd.DataFrame, runs: Iterable[str]) -> Iterator[Line]:
    for run in sorted(set(runs) & set(table["run"])):
        for column, values in table[table["run"] == run].drop(columns="run").items():
            content = "\n".join(map(repr, values.tolist()))
            yield file, f"{run}: {column}", hashlib.sha256(content.encode()).hexdigest()


@cache
def plan_named(scale: str, results: Path = Path("results")) -> Plan:
    """The plan of a scale of ``config/``: tests share it, since the papers' takes seconds."""
    path = REHEARSAL if scale == REHEARSAL.stem else CONFIG / f"{scale}.yaml"
    return plan_of(scale_of(read_yaml(path), path), CONFIG, places=Places(results))


def golden_file(name: str) -> Path:
    """The golden file of a scale, or of all plans."""
    return HERE / f"{name}.parquet"


def keep(lines: Iterable[Line], path: Path) -> int:
    """Write a golden file; the number of its lines."""
    frame = pd.DataFrame(lines, columns=COLUMNS)
    if frame.empty:
        raise SystemExit(f"there is nothing to keep in {path.name}; make the results first")
    write(frame, path)
    return len(frame)


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a golden file that names this kind of processor and the versions of the code."""
    about = {"processor": cpu_kind(), "versions": json.dumps(VERSIONS)}
    table = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(about)
    # Neighbouring keys share their beginnings: so written, a file has half the bytes.
    encoding = {"key": "DELTA_BYTE_ARRAY", "value": "PLAIN"}
    options: dict[str, Any] = {"use_dictionary": ["file"], "column_encoding": encoding}
    pq.write_table(table, path, compression="zstd", compression_level=19, **options)


def differences(lines: Iterable[Line], path: Path, *, numbers: bool = True) -> list[str]:
    """Lines that were kept and are not there now, the other way round, or have another value.

    Args:
        lines: What is there now.
        path: The golden file.
        numbers: Whether numbers are compared; otherwise the text around them, but for ``RETRIEVED``.
    """
    now = {line[:2]: line[2] for line in lines}
    kept = {(file, key): value for file, key, value in pd.read_parquet(path).itertuples(index=False)}
    if not numbers:
        now, kept = _masked(now), _masked(kept)
    found = []
    for at in sorted(now.keys() | kept.keys()):
        before, after = kept.get(at), now.get(at)
        if before != after:
            found.append(f"{at[0]}, {at[1]}: {_shown(before, after)} -> {_shown(after, before)}")
    return found


def _masked(lines: dict[tuple[str, str], str]) -> dict[tuple[str, str], str]:
    """The same without numbers; of keys that name the epoch that a run kept, how many there are."""
    found = {(file, "any line"): "there" for file, _ in lines if file in RETRIEVED}
    others = {at: value for at, value in lines.items() if at[0] not in {*RETRIEVED, "numbers"}}
    found |= {at: _text(_without_verdict(value) if at[0] == CLAIMS else value) for at, value in others.items()}
    counted = Counter(_text(key) for file, key in lines if file == "numbers")
    return found | {("numbers", key): f"{count} times" for key, count in counted.items()}


def _without_verdict(line: str) -> str:
    return "|".join(cell for place, cell in enumerate(next(csv.reader([line]))) if place not in VERDICTS)


def _text(value: str) -> str:
    return NUMBER.sub("#", DIGEST.sub("#", value))


def _shown(value: str | None, other: str | None) -> str:
    """A value from a little before the place where it begins to differ from the other."""
    if value is None:
        return "missing"
    same = next((at for at, (one, two) in enumerate(zip(value, other or "", strict=False)) if one != two), 0)
    begin = max(0, same - WIDTH // 2) if len(value) > WIDTH else 0
    return ("..." if begin else "") + value[begin : begin + WIDTH]


def made_on(path: Path) -> str:
    """The kind of processor that made a golden file."""
    return (pq.read_schema(path).metadata or {}).get(b"processor", b"").decode()


def without_another_version(lines: Iterable[Line], path: Path) -> list[str]:
    """Return how computed numbers differ from a golden file of the same processor that was kept at these versions."""
    about = pq.read_schema(path).metadata or {} if path.is_file() else {}
    if about.get(b"processor", b"").decode() != cpu_kind() or json.loads(about.get(b"versions", b"{}")) != VERSIONS:
        return []
    return [line for line in differences(lines, path) if line.startswith(COMPUTED) and "missing" not in line]


def compared(scale: str, results: Path) -> tuple[list[str], bool]:
    """Return how a finished scale differs from what was kept, and whether numbers were compared."""
    path = golden_file(scale)
    numbers = made_on(path) == cpu_kind()
    return differences(lines_of_results(plan_named(scale, results)), path, numbers=numbers), numbers


def main() -> None:
    """Keep or compare the numbers of a finished scale."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["compare", "keep"])
    parser.add_argument("scale", help="a scale of config/ whose results are there, or 'plans' for the runs of all")
    parser.add_argument("--results", type=Path, default=Path("results"))
    given = parser.parse_args()
    path = golden_file(given.scale)
    plans = given.scale == "plans"
    every_run = (line for scale in SCALES if plans for line in lines_of_plan(plan_named(scale)))
    if given.what == "keep":
        lines = every_run if plans else list(lines_of_results(plan_named(given.scale, given.results)))
        if not plans and (found := without_another_version(lines, path)):
            print(*found[:SHOWN], sep="\n")
            sys.exit(
                "other numbers than those kept: raise the version of what computed them in fivesentences/versions.py"
            )
        print(f"{keep(lines, path):,} lines kept in {path.name}, of {cpu_kind()}")
        return
    found, numbers = (differences(every_run, path), True) if plans else compared(given.scale, given.results)
    for line in found[:SHOWN]:
        print(line)
    what = "exactly" if numbers else f"but not their numbers, which {made_on(path)} made and this is {cpu_kind()}"
    print(f"{given.scale}: {len(pd.read_parquet(path)):,} golden lines compared {what}; {len(found):,} differ")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()

"""Flip bytes of every kind of file that the workflow leaves, cut it, swap it, and run the jobs that read it.

Not part of `uv run pytest`, since it takes many minutes. A job must end with one sentence, or make the same bytes as in
an undisturbed folder; kinds of the commands are those of tests/test_flipped_bytes.py. CSV, HTML and pictures that only
people read are left out. It writes flips.csv and flips.md, from which `docs/tools/values` makes the page:

    uv run python tests/workflow/flip_campaign.py --out results/reliability
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from workflows import PROJECT, Workflow

from fivesentences.errors import InputError

sys.path.append(str(PROJECT / "tests"))
from test_flipped_bytes import READERS, files_of

PLANNED = """
include: "{snakefile}"
import atexit, pickle
from snakemake.iocontainers import Snakemake

def _keep():
    found = []
    for job in workflow.dag.jobs:
        if job.rule.script:
            parts = (job.params, job.wildcards, job.threads, job.resources, job.log, {{}}, job.rule.name, None)
            found.append((job.rule.script, Snakemake(job.input, job.output, *parts)))
    with open({out!r}, "wb") as file:
        pickle.dump(found, file)

atexit.register(_keep)
"""
READ_BY_PEOPLE = {".csv", ".html", ".svg", ".png", ".jpg", ".pdf", ".md", ".tex"}
OF_RUN = "results/training/"  # folders of runs, which no rule declares
TARGETS = ("all", "latex")
OUTCOMES = ("noticed", "other file named", "harmless", "silent", "traceback")
COLUMNS = ("kind", "reader", "file", "damage", "outcome", "said")


def planned(workflow: Workflow) -> list[tuple[str, Any]]:
    """Script of every job of a scale, with what Snakemake gives it."""
    with tempfile.TemporaryDirectory() as temporary:
        snakefile, out = Path(temporary, "Snakefile"), Path(temporary, "jobs")
        text = PLANNED.format(snakefile=PROJECT / "workflow" / "Snakefile", out=str(out))
        snakefile.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", *TARGETS, "-n", "--forceall", "-q", "all", "-s", str(snakefile)]
        command += ["--workflow-profile", "none", "--configfile", str(workflow.scale)]
        subprocess.run(command, cwd=workflow.folder, check=True, stdout=subprocess.DEVNULL)
        return pickle.loads(out.read_bytes())  # of this process's own making


def run(script: str, given: Any, folder: Path) -> tuple[int, str, set[str]]:
    """Run a job in a process of its own: exit status, what it said on the terminal, and files that it opened."""
    said, opened = folder.with_name("said"), folder.with_name("opened")
    child = os.fork()
    if not child:
        status = 1
        try:
            os.chdir(folder)
            with said.open("w") as terminal, opened.open("w") as log:
                os.dup2(terminal.fileno(), 1), os.dup2(terminal.fileno(), 2)
                sys.addaudithook(lambda event, what: event == "open" and print(what[0], file=log))
                runpy.run_path(str(PROJECT / "workflow" / "scripts" / Path(script).name), {"snakemake": given})
                status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:
            import traceback

            with said.open("a") as terminal:
                traceback.print_exc(file=terminal)
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return status, said.read_text(errors="replace"), set(opened.read_text(errors="replace").splitlines())


def runs_of(given: Any) -> list[str]:
    """Folders of the runs that a training job fills."""
    return [one["folder"] for one in given.params.get("runs", [])] if given.rule.startswith("train") else []


def outputs_of(given: Any, folder: Path) -> dict[str, bytes]:
    """What a job has made."""
    found = [folder / name for name in given.output]
    found += [path for name in runs_of(given) for path in sorted((folder / name).glob("*"))]
    found = [one for path in found for one in ([path] if path.is_file() else sorted(path.rglob("*")))]
    names = [path for path in found if path.is_file() and path.name != "manifest.json"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def damages(content: bytes, others: list[bytes], places: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield a file's content with a flipped bit, cut, and of another file of its kind."""
    rng = np.random.default_rng([seed, len(content)])
    for place in rng.integers(0, len(content), places).tolist():
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(0, 8))
        yield f"flipped {place}", bytes(damaged)
    for part in ("half", "end"):
        yield f"cut {part}", content[: len(content) // 2] if part == "half" else content[:-9]
    for other in others:
        if other != content:
            yield "swapped", other
            break


def kind_of(name: str, made: dict[str, str]) -> str:
    """What a file is, without the names of datasets, phis and runs."""
    if name in made:
        return made[name]
    return f"run: {Path(name).name}" if name.startswith(OF_RUN) else f"other: {name}"


def telling(jobs: list[tuple[str, Any]], made: dict[str, str]) -> list[tuple[str, Any]]:
    """Jobs that read a kind of file that no other job of their rule does, those with few runs first."""
    found, known = [], set[tuple[str, str]]()
    for script, given in sorted(jobs, key=lambda job: len(job[1].params.get("runs", []))):
        read = {(given.rule, kind_of(name, made)) for name in given.input}
        if not read <= known:
            found.append((script, given))
            known |= read
    return found


def try_all(calm: Workflow, other: Path, arguments: argparse.Namespace) -> list[tuple[str, ...]]:
    """Damage files of every kind of a finished folder, for each rule that reads the kind."""
    jobs = planned(calm)
    made = {
        name: f"{given.rule}: {key}" for _, given in jobs for key, value in given.output.items()
        for name in ([value] if isinstance(value, str) else value)
    }  # fmt: skip
    jobs = telling(jobs, made)
    copy = calm.copied("damaged")
    readers: dict[tuple[str, str], list[tuple[str, str, Any]]] = defaultdict(list)
    by_kind: dict[str, list[Path]] = defaultdict(list)
    names = sorted(
        str(path.relative_to(calm.folder)) for path in (calm.folder / "results").rglob("*") if path.is_file()
    )
    for folder in (calm.folder, other):
        for name in names:
            if (folder / name).is_file():
                by_kind[kind_of(name, made)].append(folder / name)
    for script, given in jobs:
        if given.rule in arguments.without:
            continue
        for name in runs_of(given):
            shutil.rmtree(copy.folder / name, ignore_errors=True)
        status, said, opened = run(script, given, copy.folder)
        same = outputs_of(given, copy.folder) == outputs_of(given, calm.folder)
        if status or not same:
            print(f"{given.rule} is not as before in an undisturbed folder: {status} {said[-500:]}", flush=True)
            restore(copy, calm)
            continue
        read = {os.path.relpath(copy.folder / one, copy.folder) for one in opened} | set(given.input)
        read |= {
            n for n in names for r in given.input for folder in folders_in(copy.folder / r) if n.startswith(folder)
        }
        for name in sorted((read & set(names)) - outputs_of(given, calm.folder).keys()):
            readers[kind_of(name, made), given.rule].append((name, script, given))
    unread = {kind_of(name, made) for name in names if Path(name).suffix not in READ_BY_PEOPLE}
    for kind in sorted(unread - {kind for kind, _ in readers}):
        print("read by nobody:", kind)
    rows = try_readers(calm.folder.parent, arguments)
    rng = np.random.default_rng(arguments.seed)
    rank = Counter[str]()
    order = []
    for kind, rule in (sorted(readers)[at] for at in rng.permutation(len(readers)).tolist()):
        order.append((rank[kind], len(order), kind, rule))
        rank[kind] += 1
    for number, _, kind, rule in sorted(order):  # every kind once, then once more with another reader
        found = readers[kind, rule]
        if number >= arguments.readers:
            continue
        if arguments.only and not re.search(arguments.only, f"{kind} {rule}"):
            continue
        shortest = min(len(runs_of(given)) for *_, given in found)  # a job that trains all its runs anew takes long
        found = [one for one in found if len(runs_of(one[2])) == shortest]
        for at in rng.permutation(len(found))[: arguments.files].tolist():
            name, script, given = found[at]
            content = (calm.folder / name).read_bytes()
            others = [path.read_bytes() for path in by_kind[kind] if path != calm.folder / name][-8:]
            whole = outputs_of(given, calm.folder)
            for damage, damaged in damages(content, others[::-1], arguments.places, arguments.seed):
                for folder in runs_of(given):
                    shutil.rmtree(copy.folder / folder, ignore_errors=True)
                (copy.folder / name).write_bytes(damaged)
                status, said, _ = run(script, given, copy.folder)
                outcome = outcome_of(status, said, name, whole, given, copy)
                line = next((one for one in said.splitlines() if one.startswith("Error: ")), said[-300:])
                rows.append((kind, rule, name, damage, outcome, line if status else ""))
                if outcome in ("silent", "traceback", "other file named"):
                    print(*rows[-1], sep=" | ", flush=True)
                (copy.folder / name).write_bytes(content)
                restore(copy, calm, [name, *whole])
        written(rows, arguments.out)  # a campaign that is ended early has its counts
        print(kind, rule, len(rows), flush=True)
    return rows


def folders_in(record: Path) -> list[str]:
    """Folders of runs that a record lists."""
    if "jobs" not in record.parts or "training" not in record.parts:
        return []
    runs = json.loads(record.read_text(encoding="utf-8"))["runs"]
    return [f"{OF_RUN}{'subspaces/' if 'subspaces' in record.parts else ''}{name}/" for name in runs]


def restore(copy: Workflow, calm: Workflow, names: list[str] | None = None) -> None:
    """Make files as they were."""
    for path in (calm.folder / "results").rglob("*") if names is None else [calm.folder / name for name in names]:
        target = copy.folder / path.relative_to(calm.folder)
        if path.is_file() and (not target.is_file() or target.read_bytes() != path.read_bytes()):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def outcome_of(status: int, said: str, name: str, whole: dict[str, bytes], given: Any, copy: Workflow) -> str:
    """Whether a damage was noticed, harmless or neither."""
    if status:
        if "Traceback" in said or "Error: " not in said:
            return "traceback"
        return "noticed" if Path(name).name in said else "other file named"
    return "harmless" if outputs_of(given, copy.folder) == whole else "silent"


def try_readers(folder: Path, arguments: argparse.Namespace) -> list[tuple[str, ...]]:
    """Damage what commands leave, and read it."""
    rows: list[tuple[str, ...]] = []
    for make, read in READERS.items():
        if arguments.only and not re.search(arguments.only, make.__name__):
            continue
        here = folder / make.__name__
        here.mkdir()
        path = make(here)
        whole = read(path)
        for file in files_of(path):
            content = file.read_bytes()
            for damage, damaged in damages(content, [], arguments.places, arguments.seed):
                file.write_bytes(damaged)
                try:
                    outcome, said = "harmless" if read(path) == whole else "silent", ""
                except InputError as error:
                    said = str(error)
                    outcome = "noticed" if file.name in said or str(path) in said else "other file named"
                except Exception as error:
                    outcome, said = "traceback", repr(error)
                rows.append((f"{make.__name__}: {file.name}", "a command", file.name, damage, outcome, said))
            file.write_bytes(content)
    return rows


def written(rows: list[tuple[str, ...]], out: Path) -> pd.DataFrame:
    """Write the counts, and return them by kind of file."""
    trials = pd.DataFrame(rows, columns=COLUMNS)
    counts = pd.crosstab(trials["kind"], trials["outcome"]).reindex(columns=list(OUTCOMES), fill_value=0)
    counts.insert(0, "tried", counts.sum(axis=1))
    total = counts.sum()
    out.mkdir(parents=True, exist_ok=True)
    line = {"kinds": len(counts), **{name.replace(" ", "_"): int(number) for name, number in total.items()}}
    pd.DataFrame([line]).to_csv(out / "flips.csv", index=False, lineterminator="\n")
    lines = [f"| kind of file | {' | '.join(counts.columns)} |", f"| --- |{' ---: |' * len(counts.columns)}"]
    lines += [f"| {kind} | {' | '.join(map(str, row))} |" for kind, *row in counts.itertuples()]
    lines.append(f"| all | {' | '.join(map(str, total))} |")
    (out / "flips.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return counts


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=Path, default=PROJECT / "tests" / "workflow" / "tiny.yaml")
    parser.add_argument("--calm", type=Path, help="a finished folder of this scale; default it is made")
    parser.add_argument("--other", type=Path, help="a finished folder of other scenes; default it is made")
    parser.add_argument("--places", type=int, default=4, help="flipped bytes of each file")
    parser.add_argument("--files", type=int, default=2, help="files of each kind, for each rule that reads it")
    parser.add_argument("--readers", type=int, default=9, help="rules that read a kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="kinds and rules that this finds")
    parser.add_argument("--without", nargs="*", default=[], help="rules that are not run")
    parser.add_argument("--out", type=Path, default=Path("results/reliability"))
    arguments = parser.parse_args()
    for module in ("torch", "pandas", "pyarrow.parquet", "scipy.stats", "matplotlib.pyplot", "fivesentences.training"):
        with contextlib.suppress(ImportError):
            __import__(module)
    with tempfile.TemporaryDirectory() as temporary:
        calm = Workflow(Path(temporary, "calm"), arguments.scale.resolve())
        if arguments.calm:
            shutil.copytree(arguments.calm, calm.folder, symlinks=True)
        else:
            calm.finish(*TARGETS)
        other = Workflow(arguments.other or Path(temporary, "other"), Path(temporary, "other.yaml"))
        if not arguments.other:
            scale = arguments.scale.read_text(encoding="utf-8").replace("seed: 7", "seed: 8")
            other.scale.write_text(scale, encoding="utf-8")
            Path(temporary, "studies").symlink_to(arguments.scale.resolve().parent / "studies")
            other.finish(*TARGETS)
        rows = try_all(calm, other.folder, arguments)
    counts = written(rows, arguments.out)
    print(counts.to_string())
    raise SystemExit(int(counts["silent"].sum() + counts["traceback"].sum()))


if __name__ == "__main__":
    main()

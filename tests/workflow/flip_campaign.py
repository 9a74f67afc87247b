"""Flip bytes of every kind of file that the workflow leaves, cut it, swap it, and run the jobs that read it.

Not part of `uv run pytest`, since it takes many minutes. A job must end with one sentence, or make the same bytes as in
an undisturbed folder; kinds of the commands are those of tests/test_flipped_bytes.py. CSV, HTML and pictures that only
people read are left out. It writes flips.csv and flips.md, from which `docs/values` makes the page:

    uv run python tests/workflow/flip_campaign.py --out results/reliability
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pickle
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from workflows import PROJECT, Workflow

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
READ_BY_PEOPLE = {".csv", ".html", ".png", ".jpg", ".pdf", ".md", ".tex"}
OF_RUN = "results/training/"  # folders of runs, which no rule declares
TARGETS = ("all", "latex")
LONG = {"train", "train_subspaces", "evaluate", "evaluate_subspaces", "score_captions", "score_training_captions"}
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


def by_rule(jobs: list[tuple[str, Any]]) -> dict[str, list[tuple[str, Any]]]:
    """Jobs of each rule; of rules that take long, those with the fewest runs."""
    found: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for job in sorted(jobs, key=lambda job: len(job[1].params.get("runs", []))):
        if job[1].rule not in LONG or len(found[job[1].rule]) < 3:
            found[job[1].rule].append(job)
    return found


def try_all(calm: Workflow, other: Path, work: Path, arguments: argparse.Namespace) -> list[tuple[str, ...]]:
    """Damage files of every kind of a finished folder, for each rule that reads the kind."""
    jobs = planned(calm)
    made = {
        name: f"{given.rule}: {key}" for _, given in jobs for key, value in given.output.items()
        for name in ([value] if isinstance(value, str) else value)
    }  # fmt: skip
    jobs = [job for of_rule in by_rule(jobs).values() for job in of_rule]
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
    unread = {name for name in names if Path(name).suffix not in READ_BY_PEOPLE}
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
        written = set(outputs_of(given, calm.folder))
        for name in sorted((read & set(names)) - written):
            readers[kind_of(name, made), given.rule].append((name, script, given))
            unread.discard(name)
    for name in sorted(unread):
        print("read by nobody:", name)
    rows: list[tuple[str, ...]] = []
    rng = np.random.default_rng(arguments.seed)
    for (kind, rule), found in sorted(readers.items()):
        if arguments.only and not re.search(arguments.only, f"{kind} {rule}"):
            continue
        shortest = min(len(runs_of(given)) for *_, given in found)  # a job that trains all its runs anew takes long
        found = [one for one in found if len(runs_of(one[2])) == shortest]
        for number in rng.permutation(len(found))[: arguments.files].tolist():
            name, script, given = found[number]
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
                if outcome in ("silent", "traceback", "unnamed"):
                    print(*rows[-1], sep=" | ", flush=True)
                (copy.folder / name).write_bytes(content)
                restore(copy, calm, [name, *whole])
        print(kind, rule, len(rows), flush=True)
    return rows


def folders_in(record: Path) -> list[str]:
    """Folders of runs that a record lists."""
    if not record.match("results/training/**/jobs/**/*.json") and "/jobs/" not in str(record):
        return []
    found = re.findall(r'"([^"\n]+)": \{', record.read_text()) if str(record).find("results/training") >= 0 else []
    return [f"results/training/{'subspaces/' if '/subspaces/' in str(record) else ''}{name}/" for name in found]


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
        return "noticed" if Path(name).name in said else "unnamed"
    return "harmless" if outputs_of(given, copy.folder) == whole else "silent"


def main() -> None:
    """Run the campaign."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=Path, default=PROJECT / "tests" / "workflow" / "tiny.yaml")
    parser.add_argument("--calm", type=Path, help="a finished folder of this scale; default it is made")
    parser.add_argument("--other", type=Path, help="a finished folder of other scenes; default it is made")
    parser.add_argument("--places", type=int, default=8, help="flipped bytes of each file")
    parser.add_argument("--files", type=int, default=2, help="files of each kind, for each rule that reads it")
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
        other = arguments.other or Path(temporary, "other")
        rows = try_all(calm, other, Path(temporary), arguments)
    arguments.out.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows, columns=COLUMNS)
    frame.to_csv(arguments.out / "trials.csv", index=False)
    print(frame.groupby(["kind", "reader", "outcome"]).size().unstack(fill_value=0).to_string())


if __name__ == "__main__":
    main()

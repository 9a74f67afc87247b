"""What a reader of shared results waits for: `dvc pull`, then `fivesentences redraw`, beside making all of it.

    uv run snakemake                                             # the demo, whose results are shared
    uv run python benchmarks/bench_reader.py --out results/benchmarks

A clone of this checkout takes its results, pushes them to a folder, and is cloned again; the second clone pulls and
redraws. The seconds of all rules together, from the manifest of the results, stand beside it: what was not redone.
It writes reader.csv, from which `docs/fill.py docs/data_versions.md` takes its numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd

PROJECT = Path(__file__).parents[1]
SCALE = "demo"
ME = ("-c", "user.name=Author", "-c", "user.email=author@example.org")


def seconds_of(folder: Path, *command: str) -> float:
    """Run a command in a folder, without a mirror; the seconds it took."""
    environment = {key: value for key, value in os.environ.items() if key != "FIVESENTENCES_MIRROR"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    started = time.monotonic()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return time.monotonic() - started


def main() -> None:
    """Share, pull and redraw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results/benchmarks"))
    out = parser.parse_args().out
    manifest = PROJECT / "results" / "paper" / SCALE / "manifest.json"
    if not manifest.is_file():
        raise SystemExit(f"{manifest}: there is no such file; make the demo first: uv run snakemake")
    with tempfile.TemporaryDirectory() as temporary:
        author, reader, store = (Path(temporary, name) for name in ("author", "reader", "store"))
        seconds_of(PROJECT, "git", "clone", "-q", str(PROJECT), str(author))
        shutil.copytree(manifest.parents[2], author / "results")
        seconds_of(author, "dvc", "remote", "add", "-d", "store", str(store))
        seconds_of(author, "dvc", "commit", "-f")
        seconds_of(author, "git", "add", "-A")
        seconds_of(author, "git", *ME, "commit", "-qm", "Results")
        seconds_of(author, "dvc", "push")
        seconds_of(author, "git", "clone", "-q", str(author), str(reader))
        row = {
            "scale": SCALE,
            "pull": seconds_of(reader, "dvc", "pull"),
            "redraw": seconds_of(reader, "fivesentences", "redraw", f"config/{SCALE}.yaml"),
            "rules": sum(one["seconds"] for one in json.loads(manifest.read_text())["seconds"].values()),
            "megabytes": sum(path.stat().st_size for path in store.rglob("*") if path.is_file()) / 1e6,
        }
    out.mkdir(parents=True, exist_ok=True)
    pd.DataFrame([row]).to_csv(out / "reader.csv", index=False)
    print(pd.Series(row).to_string())


if __name__ == "__main__":
    main()

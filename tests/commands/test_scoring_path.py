"""Scoring gives the same numbers on macOS and Windows, as far as one system can try another: see other_system.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fivesentences.commands.exports import Exports
from fivesentences.semantics import write_phi

OTHER_SYSTEM = Path(__file__).parents[1] / "other_system.py"
# Twice where a file is replaced that a command may have open.
LINES = """
example -o ex
phi cider ex/captions.txt -o cider.npy
phi cider ex/captions.txt -o cider.npy
phi bleu2 marked.txt -o best --top-k 3
phi bleu2 marked.txt -o best --top-k 3
evaluate ex/sims.npy --captions marked.txt --csv default.csv --json default.json --markdown o.md --latex o.tex
evaluate ex/sims.npy B=ex/hardest.npy b=ex/sims.npy --phi judged:it=cider.npy --resamples 99 --trec runs --trec-grades --per-query q.parquet
evaluate q.parquet --resamples 99 --csv queries.csv
evaluate ex/images.npy,ex/texts.npy --captions ex/captions.txt --metric cider --in-blocks --csv blocks.csv
evaluate ex/sims.npy --inference csls --csv csls.csv
evaluate runs/sims.i2t.run,t2i=runs/sims.t2i.run --image-ids images.txt --caption-ids captions.txt --csv lists.csv
captioning made.txt other=other.json refs.json --tokens whitespace --metric cider,bleu4 --csv made.csv --latex made.tex
captions refs.json -o plain.txt --image-of-caption of.txt
pairs ex/sims.npy pairs.csv --csv pairs_scored.csv
metrics
published
"""  # noqa: E501
COMPARED = ("default.csv", "queries.csv", "blocks.csv", "csls.csv", "lists.csv", "made.csv", "pairs_scored.csv")
WRITTEN = (*COMPARED, "default.json", "o.md", "o.tex", "made.tex", "plain.txt", "best/note.json")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Files as editors of Windows write them: a mark at the beginning, and lines that end in CR and LF."""
    texts = (Path(OTHER_SYSTEM).parents[1] / "src/fivesentences/commands/example_files/captions.txt").read_text("utf-8")
    (tmp_path / "marked.txt").write_bytes(b"\xef\xbb\xbf" + texts.replace("\n", "\r\n").encode())
    for name, count in (("images", 200), ("captions", 1000)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{name[0]}{at}\n" for at in range(count)), encoding="utf-8")
    people = {image: [f"a caf\u00e9 {image}", f"the caf\u00e9 no {image}"] for image in range(4)}
    annotations = [{"image_id": image, "id": 9 * image + at, "caption": text}
                   for image, some in people.items() for at, text in enumerate(some)]  # fmt: skip
    images = [{"id": image, "file_name": f"photos\\{image}.jpg"} for image in people]
    results = [{"image_id": image, "caption": f"the caf\u00e9 {image}"} for image in people]
    for name, content in (("refs", {"images": images, "annotations": annotations}), ("other", results)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    (tmp_path / "made.txt").write_bytes("".join(f"a {image}\r\n" for image in people).encode())
    (tmp_path / "pairs.csv").write_bytes(b"image,caption,foil\r\n0,0,7\r\n1,5,9\r\n")
    return tmp_path


def ran(folder: Path, system: str) -> str:
    """Run all lines in a folder, and return what they print; none may fail."""
    (folder / "lines.txt").write_text(LINES.strip("\n"), encoding="utf-8")
    # Text files without a named encoding would be read as ASCII; streams are those of a German or French Windows.
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "cp1252"}
    environment = {**os.environ, **locale, "COLUMNS": "200", "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-X", "warn_default_encoding", str(OTHER_SYSTEM), system, "lines.txt"]
    done = subprocess.run(program, cwd=folder, env=environment, capture_output=True, encoding="cp1252", timeout=300)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stdout.splitlines() if line.startswith("exit code")] == [], done.stderr
    assert "Traceback" not in done.stderr and "\\u25" not in done.stdout  # lines of tables
    assert all((folder / name).stat().st_size for name in WRITTEN)
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("system", ["as it is", "darwin", "win32"])
def test_every_number_is_that_of_this_system(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, system: str
) -> None:
    if system != "as it is" and sys.platform != "linux":
        pytest.skip("other systems are tried on Linux")
    ran(folder, system)
    left = [path.name for path in folder.rglob("*") if "partial" in path.name or path.name.endswith(".lock")]
    assert left == []
    assert not {":", "\\"} & set("".join(path.name for path in (folder / "runs").iterdir()))
    if system != "as it is":
        here = tmp_path_factory.mktemp("here")
        for path in folder.iterdir():
            if path.is_file() and path.name not in WRITTEN:
                (here / path.name).write_bytes(path.read_bytes())
        ran(here, "as it is")
        for name in COMPARED:
            assert (folder / name).read_bytes() == (here / name).read_bytes(), name


def test_paths_may_have_drives_and_backslashes(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    drive = r"C:\models" if sys.platform != "win32" else str(tmp_path)
    similarity = np.random.default_rng(0).normal(size=(4, 8))
    captions = [f"a {word} {at // 2}" for at, word in enumerate(["dog", "cat", "boat", "tree"] * 2)]
    sims, phi, several = (rf"{drive}\{name}" for name in ("sims.npy", "phi.npy", "both.npz"))
    np.save(sims, similarity)
    np.savez(several, one=similarity, two=similarity)
    write_phi("cider", captions, np.arange(8) // 2, phi)
    wanted = run("evaluate", sims, "--phi", f"mine={phi}", "--json", "-")
    assert wanted.code == 0, wanted.err
    values = json.loads(wanted.out)["values"]
    for words in (rf"ours={sims}", rf"{several}:one", rf"{sims},t2i={sims}"):
        said = run("evaluate", words, "--phi", f"mine={phi}", "--json", "-")
        assert said.code == 0 and json.loads(said.out)["values"] == values, words


def test_runs_of_models_that_differ_in_case_alone_have_files_of_their_own() -> None:
    files = Exports(trec=Path("runs")).files(["Ours", "ours", "OURS", "ours_"])
    runs = [path.name.casefold() for name, path in files.items() if name.endswith(".run of --trec") and path]
    assert len(runs) == 8 == len(set(runs))

"""A figure or a table for somebody's own paper, from kept results, which must be those of the manifest."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
SCALE, STUDY = "config/flickr8k_evidence.yaml", "evidence_choice_lite0"


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch):
    monkeypatch.chdir(ROOT)


def test_a_figure_is_written_in_the_width_style_and_formats_that_are_asked_for(run, tmp_path):
    style = tmp_path / "own.mplstyle"
    style.write_text('axes.prop_cycle: cycler("color", ["123456"])\n', encoding="utf-8")
    options = ("--width", "3.4", "--style", str(style), "--format", "pdf,svg", "--out", str(tmp_path / "figures"))
    said = run("report", SCALE, "--only", f"{STUDY}/choice_forest", *options)
    assert said.code == 0, said.err
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["choice_forest.pdf", "choice_forest.svg"]
    drawn = (tmp_path / "figures/choice_forest.svg").read_text(encoding="utf-8")
    assert "#123456" in drawn and 'width="244.8pt"' in drawn


def test_a_table_is_written_alone(run, tmp_path):
    said = run("report", SCALE, "--only", f"{STUDY}/choices", "--format", "tex", "--out", str(tmp_path))
    assert said.code == 0, said.err
    assert [path.name for path in tmp_path.iterdir()] == ["choices.tex"]


@pytest.mark.slow
def test_several_are_written_in_a_style_that_comes_with_matplotlib(run, tmp_path):
    names = f"{STUDY}/choice_forest, {STUDY}/choices"
    said = run("report", SCALE, "--only", names, "--format", "svg,csv", "--out", str(tmp_path))
    assert said.code == 0, said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "choice_forest.csv",
        "choice_forest.svg",
        "choices.csv",
    ]
    said = run(
        "report", SCALE, "--only", f"{STUDY}/choice_forest", "--style", "ggplot", "--format", "svg", "--out", tmp_path
    )
    assert said.code == 0 and "#e24a33" in (tmp_path / "choice_forest.svg").read_text(encoding="utf-8").lower()


def test_results_of_another_folder_are_not_read_but_named(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = run("report", str(ROOT / SCALE), "--only", "noise_curves")
    assert said.code == 1 and str(ROOT) in said.err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--only", "noise_curvs"), "did you mean 'noise_curves'?"),
        (("--only", "noise_curves,xyzzy"), "'xyzzy'"),
        (("--only", "xyzzy"), "noise_curves"),
        (("--only", "choices"), "evidence_choice_lite0/choices"),
        (("--only", "noise_curves", "--style", "ggplott"), "did you mean 'ggplot'?"),
        (("--only", "noise_curves", "--style", "own.mplstyle"), "own.mplstyle"),
        (("--only", "noise_curves", "--format", "pfd"), "'pfd'"),
        (("--only", "noise_costs", "--format", "pdf"), "noise_costs is a table"),
        (("--only", "noise_costs", "--width", "3"), "noise_costs is a table"),
        (("--only", "noise_curves", "--check"), "--check"),
    ],
)
def test_what_cannot_be_written_is_named(run, tmp_path, options, named):
    said = run("report", SCALE, *options, "--out", str(tmp_path))
    assert said.code == 1 and named in said.err and not list(tmp_path.iterdir())


def test_a_width_out_of_range_is_named(run):
    said = run("report", SCALE, "--only", "noise_curves", "--width", "0.5")
    assert said.code == 2 and "0.5" in said.err and "2" in said.err


# --- altered results ------------------------------------------------------------------------------------------------

NAME = Path(SCALE).stem
TIDY = f"results/evaluation/{NAME}/{STUDY}.parquet"
CONTRASTS = f"results/evaluation/contrasts/{NAME}/{STUDY}/choice_differences.json"
TABLE, FIGURE = (f"results/paper/{NAME}/{STUDY}/{file}" for file in ("choices.json", "choice_forest.csv"))
CLAIMS = f"results/paper/{NAME}/claims/claims.json"


@pytest.fixture
def kept(tmp_path, monkeypatch) -> Path:
    """A copy of the results of a scale that the repository keeps, in which the test runs."""
    return copied(NAME, tmp_path, monkeypatch)


def copied(scale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the results of a scale that the repository keeps, and go there."""
    listed = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if re.search(rf"/{scale}\b", name):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def alter(path: Path) -> None:
    """Change a number: Rsum of a parquet, or the last digit before a point in a text."""
    if path.suffix == ".parquet":
        table = pd.read_parquet(path)
        table.loc[table["metric"] == "Rsum", "value"] += 10
        table.to_parquet(path)
        return
    text = path.read_text(encoding="utf-8")
    digit = list(re.finditer(r"\d(?=\.\d)", text))[-1].start()
    path.write_text(f"{text[:digit]}{(int(text[digit]) + 1) % 10}{text[digit + 1 :]}", encoding="utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize(
    ("altered", "named"), [(TIDY, "choices"), (CONTRASTS, "choice_forest"), (CONTRASTS, "choice_differences")]
)
def test_nothing_is_drawn_from_numbers_that_are_not_those_of_the_manifest(run, kept, altered, named, tmp_path):
    scale, options = ROOT / SCALE, ("--only", f"{STUDY}/{named}", "--format", "csv", "--out", kept / "out")
    assert run("report", scale, *options).code == 0
    made = contents(kept / "out")
    alter(kept / altered)
    before = contents(kept)
    for arguments in (options, ()):
        said = run("report", scale, *arguments)
        assert said.code == 1 and altered in said.err and "git checkout" in said.err, said.err
        assert said.err.count("Error") == 1 and contents(kept) == before
    shutil.copy(ROOT / altered, kept / altered)  # as the sentence advises
    assert run("report", scale, *options).code == 0 and contents(kept / "out") == made


@pytest.mark.parametrize("altered", [TIDY, CONTRASTS, TABLE, FIGURE, CLAIMS, f"results/paper/{NAME}/headline.json"])
def test_check_names_every_file_that_was_altered(run, kept, altered):
    assert run("report", ROOT / SCALE, "--check").code == 0
    alter(kept / altered)
    said = run("report", ROOT / SCALE, "--check")
    assert said.code == 1 and altered in said.err and said.err.count(NAME + "/manifest.json") == 1, said.err
    shutil.copy(ROOT / altered, kept / altered)
    assert run("report", ROOT / SCALE, "--check").code == 0


SMALL = "flickr8k"  # which is drawn again in seconds
OF_SMALL = f"results/paper/{SMALL}/five_sentences"


@pytest.fixture
def small(tmp_path, monkeypatch) -> Path:
    """A copy of the results of a scale with few tables and figures, in which the test runs."""
    return copied(SMALL, tmp_path, monkeypatch)


@pytest.mark.slow
def test_what_is_redrawn_stands_in_the_manifest(run, small):
    scale, manifest = ROOT / f"config/{SMALL}.yaml", small / f"results/paper/{SMALL}/manifest.json"
    before = json.loads(manifest.read_text(encoding="utf-8"))
    table, figure = f"{OF_SMALL}/table2.json", small / OF_SMALL / "figure3.narrow.svg"
    alter(small / table)
    figure.unlink()
    assert run("report", scale, "--check").code == 1
    assert run("report", scale).code == 0
    after = json.loads(manifest.read_text(encoding="utf-8"))
    assert after["numbers"] == before["numbers"] and after["site"].keys() == before["site"].keys()
    assert (small / table).read_bytes() == (ROOT / table).read_bytes() and figure.exists()
    assert run("report", scale, "--check").code == 0


@pytest.mark.slow
def test_pages_are_not_made_of_a_table_that_was_altered_and_cannot_be_drawn_again(run, small):
    scale, table = ROOT / f"config/{SMALL}.yaml", f"{OF_SMALL}/table2.json"
    (small / f"results/evaluation/{SMALL}.parquet").unlink()
    (small / table).with_name("table2.html").write_text("", encoding="utf-8")  # as `report` left it
    alter(small / table)
    before = contents(small)
    said = run("report", scale)
    assert said.code == 1 and table in said.err and contents(small) == before, said.err
    shutil.copy(ROOT / table, small / table)
    assert run("report", scale).code == 0


def test_results_without_a_manifest_are_drawn_and_that_is_said(run, kept):
    (kept / f"results/paper/{NAME}/manifest.json").unlink()
    said = run("report", ROOT / SCALE, "--only", f"{STUDY}/choices", "--format", "csv", "--out", "out")
    assert said.code == 0 and "manifest.json" in said.out


def test_a_table_of_captions_that_a_clone_lacks_stays_as_it_was_fetched(run, tmp_path, monkeypatch):
    folder = copied("papers_captions", tmp_path, monkeypatch)
    (table,) = folder.rglob("lengths.csv")
    before = table.read_bytes()
    ran = run("report", str(ROOT / "config/papers_captions.yaml"))
    assert "results/corpus/coco.parquet" in ran.out and table.read_bytes() == before

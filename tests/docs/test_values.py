"""docs/tools/values: numbers and tables in pages come from results."""

from __future__ import annotations

import json
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path

import pytest

loader = SourceFileLoader("values", str(Path(__file__).parents[2] / "docs" / "tools" / "values"))
values = module_from_spec(spec_from_loader("values", loader) or pytest.fail("no module"))
loader.exec_module(values)

TABLE = "### Title\n\nCaption.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n- A note.\n"
CSV = (
    'loss,metric,seeds,mean,low\n"far, close",x,1,2,3\nsam,Rsum,30,71.25,-1.5\nsam,Nsum,30,80.04,0.5\n'
    "knn3,Rsum,,1,\nall,Rsum,3,2,-0.0004\n"
)
KNOWN = r"""
t.md: {whole: text, table: tables, found: {find: 'A (\w+)\.'}}
t.csv:
  sam: {loss: sam, metric: Rsum, show: "{mean:.1f} [{low:+.1f}] of {seeds:.0f}"}
  knn: {mean: 1.0, show: "{loss}"}
  zero: {low: -0.0004, show: "{low:.3f} [{low:.0f}, {low:.4f}]"}
  comma: {loss: "far, close", show: "{mean:.0f}"}
absent.csv: {absent: {a: 1, show: "{b}"}}
"""


def place(name: str, text: str = "old") -> str:
    return f"<!-- v {name} -->{text}<!-- / -->"


@pytest.fixture
def run(tmp_path, capsys):
    """Write or check a page of some text; its text afterwards, and what was printed."""
    (tmp_path / "t.md").write_text(TABLE, encoding="utf-8")
    (tmp_path / "t.csv").write_text(CSV, encoding="utf-8")

    def done(text, *options, known=KNOWN):
        (tmp_path / "values.yaml").write_text(known, encoding="utf-8")
        (page := tmp_path / "page.md").write_text(text, encoding="utf-8")
        values.main([str(page), "--results", str(tmp_path), "--known", str(tmp_path / "values.yaml"), *options])
        return page.read_text(encoding="utf-8"), capsys.readouterr().out

    return done


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("whole", f"\n\n{TABLE.strip()}\n\n"),
        ("table", "\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"),
        ("found", "note"),
        ("sam", "71.2 [−1.5] of 30"),
        ("knn", "knn3"),
        ("zero", "0.000 [0, −0.0004]"),
        ("comma", "2"),
    ],
)
def test_a_value_is_written_again_and_again_and_the_rest_of_the_page_stays(run, name, shown):
    once, _ = run(f"Before {place(name)} between {place(name, '')} after - 1 -2.")
    assert once == f"Before {place(name, shown)} between {place(name, shown)} after - 1 -2."
    text, said = run(once, "--check")
    assert text == once and said.startswith("2 values compared, 0 differ")


def test_pages_kept_values_and_results_are_compared(run, tmp_path):
    made, _ = run(place("knn"))
    with pytest.raises(SystemExit):
        run(made.replace("knn3", "knn4"), "--check")
    (tmp_path / "t.csv").write_text(CSV.replace("knn3", "knn5"), encoding="utf-8")
    with pytest.raises(SystemExit):
        run(made, "--check")
    (tmp_path / "t.csv").unlink()  # as in a clone without these results
    run(made, "--check")
    kept = json.loads((tmp_path / "values.json").read_text(encoding="utf-8"))
    assert kept["knn"] == "knn3" and "absent" not in kept


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("{loss: sam, show: '{mean}'}", "2 lines"),
        ("{los: sam, show: '{mean}'}", "loss, metric"),
        ("{loss: knn3, show: '{mean.__class__.x}'}", "mean.__class__.x"),
        ("{loss: knn3, show: '{low:.1f}'}", "low:.1f"),
        ("{find: 'A (note)'}", "nothing is like"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_name(run, asked, said):
    with pytest.raises(SystemExit, match=f"name of .*t.csv.*{said}"):
        run(place("name"), known=f"t.csv: {{name: {asked}}}")


@pytest.mark.parametrize("name", ["unknown", "absent"])
def test_a_name_without_a_value_is_refused(run, name):
    with pytest.raises(SystemExit, match=name):
        run(place(name))

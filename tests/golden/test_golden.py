"""The runs of every scale are those that were kept, and a comparison notices whatever differs."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from golden import golden

LINES = [("numbers", "a|R@1", "12.5"), ("table1.csv", "line 1", "row,mean"), ("table1.csv", "line 2", "SAM,0.1,−3")]


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    path = tmp_path / "kept.parquet"
    golden.keep(LINES, path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("scale", golden.SCALES)
def test_runs_have_the_names_settings_and_jobs_that_were_kept(scale: str, tmp_path: Path) -> None:
    kept = pd.read_parquet(golden.golden_file("plans"))
    of_scale = tmp_path / "kept.parquet"
    golden.write(kept[kept["file"] == scale], of_scale)
    found = golden.differences(golden.lines_of_plan(golden.plan_named(scale)), of_scale)
    assert not found, "\n".join(found[: golden.SHOWN])


def test_every_scale_that_was_kept_is_compared() -> None:
    assert set(pd.read_parquet(golden.golden_file("plans"))["file"]) <= set(golden.SCALES)


def test_equal_lines_in_another_order_do_not_differ(kept: Path) -> None:
    assert golden.differences(reversed(LINES), kept) == []
    assert golden.made_on(kept) == golden.cpu_kind()


@pytest.mark.parametrize(
    "changed, named",
    [
        ([("numbers", "a|R@1", "12.500000000000002"), *LINES[1:]], "12.5 -> 12.500000000000002"),
        ([*LINES[:2], ("table1.csv", "line 2", "SAM,0.1,−4")], "table1.csv, line 2"),
        (LINES[:2], "missing"),
        ([*LINES, ("table1.csv", "line 3", "kNN,0.2,1")], "kNN,0.2,1"),
    ],
)
def test_the_line_that_differs_is_named(changed: list[golden.Line], named: str, kept: Path) -> None:
    (found,) = golden.differences(changed, kept)
    assert named in found


def test_numbers_of_another_processor_are_not_compared_but_all_else_is(kept: Path) -> None:
    other = [("numbers", "a|R@1", "nan"), LINES[1], ("table1.csv", "line 2", "SAM,-2.5e-08,4")]
    assert golden.differences(other, kept, numbers=False) == []
    assert len(golden.differences([*other[:2], ("table1.csv", "line 2", "CVSE,0.1,4")], kept, numbers=False)) == 1
    assert len(golden.differences([("numbers", "b|R@1", "12.5"), *LINES[1:]], kept, numbers=False)) == 2
    assert len(golden.differences([*other, ("gallery/gallery.csv", "line 1", "a dog")], kept, numbers=False)) == 1


def test_verdicts_of_another_processor_are_not_compared_but_what_is_claimed_is(tmp_path: Path) -> None:
    path, at = tmp_path / "kept.parquet", ("claims/claims.csv", "line 2")
    golden.keep([(*at, 'sam,recall,"SAM, raises",T1,more,164.5,too few seeds,points,3.0,flickr8k,open')], path)
    lines = [
        (*at, f'sam,recall,"SAM, {verb}",T1,more,164.5,holds partly,points,3.0,flickr8k,holds')
        for verb in ("raises", "is")
    ]
    assert [len(golden.differences([line], path, numbers=False)) for line in lines] == [0, 1]
    assert all(golden.differences([line], path) for line in lines)


def test_files_without_results_are_not_kept(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        golden.keep([], tmp_path / "none.parquet")


def test_other_numbers_of_the_same_versions_are_not_kept(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = [("numbers", "a|R@1", "12.6"), *LINES[1:]]
    (found,) = golden.without_another_version(moved, kept)
    assert "12.5 -> 12.6" in found
    assert golden.without_another_version([*LINES, ("numbers", "b|R@1", "3.0")], kept) == []  # a new number
    assert golden.without_another_version([*LINES[:2], ("table1.csv", "line 2", "SAM")], kept) == []  # drawn otherwise
    monkeypatch.setitem(golden.VERSIONS, "evaluation", golden.VERSIONS["evaluation"] + 1)
    assert golden.without_another_version(moved, kept) == []

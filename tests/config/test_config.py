"""Configuration: what is wrong ends in one sentence that names file, key, value and cure."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from fivesentences.config.files import config_file, study_file
from fivesentences.config.reading import check, read
from fivesentences.errors import InputError
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.study.study import Study
from fivesentences.training.spec import RunFile, RunSpec

CONFIG = Path(__file__).parents[2] / "config"


def changed(**keys: Any) -> dict[str, Any]:
    """The demo's scale with other values of keys, those of a block as ``block__key``."""
    content: dict[str, Any] = yaml.safe_load((CONFIG / "demo.yaml").read_text())
    for path, value in keys.items():
        *parents, last = path.split("__")
        block = content
        for parent in parents:
            block = block[parent]
        block[last] = value
    return content


def except_for(**keys: Any) -> dict[str, Any]:
    return changed(training__exceptions=[keys])


def run(**keys: Any) -> dict[str, Any]:
    return {"dataset": "d", "features": {"extractor": "e"}, "model": {"name": "vsepp"}} | keys


def study(**keys: Any) -> dict[str, Any]:
    return {"paper": "p", "losses": {"hardest": {}}} | keys


def table(**keys: Any) -> dict[str, Any]:
    return study(tables=[{"name": "t", "kind": "runs", "title": "t", "caption": "c", "rows": [ROW]} | keys])


def figure(kind: str, **keys: Any) -> dict[str, Any]:
    return study(figures=[{"name": "f", "kind": kind, "title": "t", "caption": "c"} | keys])


ROW = {"role": "r", "loss": "hardest"}
RSUM = [{"metric": "Rsum"}]


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        *(
            (Scale, content, said)
            for content, said in (
                (changed(sseds=[1]), "sseds .*Did you mean 'seeds'"),
                (changed(training__learning_rat=0.1), r"training\.learning_rat .*Did you mean 'learning_rate'"),
                (changed(keep=[{"fraction": 25}]), r"keep\.0\.fraction.*25.*0.25"),
                (changed(datasets={"scenes": {"loader": "scenes", "trian": 3}}), r"datasets\.scenes\.trian .*train"),
                (changed(leave_out={"fractions": [25]}), "fractions.* 25"),
                (except_for(loss="a", epochs=None), r"exceptions\.0\.epochs is None"),
                (except_for(loss="a", threads=2), "threads is not a known key"),
                (except_for(epochs=1), "an exception names a model, a loss"),
                (except_for(loss="a"), "an exception without a setting"),
                (changed(other_seeds=[{"seeds": [1]}]), "other_seeds name a model"),
                (changed(evaluation_phis=["cider+"]), r"evaluation_phis\.0 is 'cider\+'"),
            )
        ),
        (RunSpec, run(loss={"triplet": None}), "triplet.* are null"),
        *(
            (Study, content, said)
            for content, said in (
                (table(rows=[ROW | {"loss": "hardset"}], columns=RSUM), r"t .*'hardset'.*hardest"),
                (figure("hubnes", rows=[ROW]), r"figures.f.*'hubnes'.*'hubness'"),
                (figure("hubness", rows=[ROW | {"inference": "cslss"}]), r"figures.f.rows.0.inference is 'cslss'"),
                (figure("retrievals", rows=[ROW | {"inference": ["csls"]}]), r"figures.f: .*inference"),
                (figure("metric_agreement", columns=RSUM), r"figures.f.columns .*at least 2"),
                (table(columns=RSUM, row=[]), r"tables.t.row is not a known key. Did you mean 'rows'\?"),
                (
                    table(rows=[ROW | {"inference": ["csls", "naive"], "published": "1"}], columns=RSUM),
                    r"published .*inference is a list",
                ),
                (
                    study(
                        tables=table(columns=RSUM)["tables"], figures=figure("hubness", name="t", rows=[ROW])["figures"]
                    ),
                    r"named 't'",
                ),
            )
        ),
    ],
)
def test_a_mistake_is_one_sentence_that_names_file_key_value_and_cure(kind: Any, content: Any, said: str) -> None:
    with pytest.raises(InputError, match=rf"^x\.yaml: (.*\W)?{said}") as error:
        check(kind, content, "x.yaml")
    assert "\n" not in str(error.value)


def test_a_run_of_an_earlier_layout_is_to_be_trained_again() -> None:
    file = {"corpus": "c", "features": "f", "run": run(), "format": 2}
    assert check(RunFile, file, "run.yaml").run == check(RunSpec, run(), "x")
    for old, said in (({}, "of an earlier version"), ({"format": 1}, "of format 1")):
        with pytest.raises(InputError, match=f"run.yaml: this run is {said}, .*format 2"):
            check(RunFile, {key: value for key, value in file.items() if key != "format"} | old, "run.yaml")


def test_a_scale_may_say_only_how_it_differs_from_another(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "demo.yaml").write_text((CONFIG / "demo.yaml").read_text())
    (tmp_path / "below/middle.yaml").write_text(
        "extends: ../demo.yaml\nscale: middle\nkeep: null\ntraining: {epochs: {0.1: 9}, gpu: true}"
    )
    (tmp_path / "mine.yaml").write_text(
        "extends: below/middle.yaml\nscale: mine\nstudies: [knn_margin]\nseeds: {1.0: [3]}"
    )
    mine, base = read(Scale, tmp_path / "mine.yaml"), read(Scale, tmp_path / "demo.yaml")
    assert (mine.scale, mine.studies, mine.keep) == ("mine", ["knn_margin"], None)  # lists are replaced, null removes
    assert mine.training.epochs == base.training.epochs | {0.1: 9} and mine.training.gpu  # mappings are merged
    assert mine.seeds == {1.0: [3]} and base.seeds == [0]
    unchanged = {"title", "datasets", "features", "judges", "other_seeds", "leave_out"}
    assert mine.model_dump(include=unchanged) == base.model_dump(include=unchanged)


def test_a_scale_adds_exceptions_to_those_of_the_scale_that_it_extends(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_text(
        "scale: large\ntitle: L\nstudies: [s]\n"
        "training: {exceptions: [{model: cvse, epochs: 9, options: {alpha: 0.5}}]}"
    )
    (tmp_path / "small.yaml").write_text(
        "extends: large.yaml\nscale: small\ntraining: {exceptions+: [{fraction: 1.0, epochs: 1}]}"
    )
    first, second = read(Scale, tmp_path / "small.yaml").training.exceptions
    assert first == read(Scale, tmp_path / "large.yaml").training.exceptions[0]
    assert (second.fraction, second.epochs) == (1.0, 1)


@pytest.mark.parametrize(
    ("base", "said"),
    [
        ("none.yaml", "but there is no file .*none.yaml"),
        ("mine.yaml", "mine.yaml -> mine.yaml"),
        ("other.yaml", "mine.yaml -> other.yaml -> mine.yaml"),
        ("list.yaml", "holds no mapping"),
        ("[1]", "extends is \\[1\\]; give the path"),
    ],
)
def test_a_scale_that_cannot_extend_another_is_named(tmp_path: Path, base: str, said: str) -> None:
    (tmp_path / "mine.yaml").write_text(f"extends: {base}")
    (tmp_path / "other.yaml").write_text("extends: mine.yaml")
    (tmp_path / "list.yaml").write_text("[1, 2]")
    with pytest.raises(InputError, match=f"(mine|other).yaml: .*{said}"):
        read(Scale, tmp_path / "mine.yaml")


def test_a_phi_of_the_evaluation_may_be_a_mean_and_the_main_one_comes_first() -> None:
    scale = check(Scale, changed(evaluation_phi="spice", evaluation_phis=["tfidf", "spice", "cider-ptb+spice"]), "x")
    assert scale.phis == ["spice", "tfidf", "cider-ptb+spice"]


def test_a_study_beside_the_scale_goes_before_the_projects_and_is_the_same_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies/knn_margin.yaml").write_text("paper: mine")
    (tmp_path / "elsewhere").mkdir()
    for folder in (tmp_path, tmp_path / "elsewhere", CONFIG.parent):
        monkeypatch.chdir(folder)
        assert study_file("knn_margin", tmp_path, "s").resolve() == tmp_path / "studies/knn_margin.yaml"
        assert study_file("daa_supp", tmp_path, "s").resolve() == CONFIG / "studies/daa_supp.yaml"
        assert config_file("datasets.yaml", tmp_path).resolve() == CONFIG / "datasets.yaml"
        with pytest.raises(InputError, match=r"scale s: studies names 'daa_sup'.*nor in.*did you mean 'daa_supp'\?"):
            study_file("daa_sup", tmp_path, "s")
    # In the checkout paths are relative, so that results do not depend on where it is.
    assert study_file("daa_supp", Path("config"), "s") == Path("config/studies/daa_supp.yaml")


def test_the_wheel_holds_what_commands_look_for() -> None:
    """``pyproject.toml`` names every file and folder of config/ that ``config_file`` is asked for."""
    project = tomllib.loads((CONFIG.parent / "pyproject.toml").read_text(encoding="utf-8"))
    forced = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    shipped = "fivesentences/config/shipped"
    looked_for = ("claims", "datasets.yaml", "published", "studies")
    assert forced == {f"config/{name}": f"{shipped}/{name}" for name in looked_for}
    assert all((CONFIG.parent / name).exists() for name in forced)


def test_many_mistakes_are_told_in_a_few_lines() -> None:
    with pytest.raises(InputError) as error:
        check(Scale, changed(seeds=[-1] * 1000), "x.yaml")
    lines = str(error.value).splitlines()
    assert len(lines) == 11 and lines[-1] == "x.yaml: there are 990 further mistakes."

"""Rows of category retrieval become runs, jobs, inputs and outputs of rules."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import ValidationError

from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import check, read
from fivesentences.errors import InputError
from fivesentences.reproduction.categories.runs import PlacedRun
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.reproduction.study.exhibits import Source, SubspaceContrastSpec, SubspaceRowSpec, TableSpec
from fivesentences.reproduction.study.expand import subspace_contrasts, subspace_rows
from fivesentences.reproduction.study.study import Study

CONFIG = Path(__file__).parents[2] / "config"
METHODS: dict[str, Any] = {
    "cca": {"method": "cca"},
    "fixed": {"method": "triplets", "loss": {"toward": "nothing"}},
    "sam": {"method": "triplets", "loss": {"toward": "adaptive"}},
    "grid_0": {"method": "triplets", "loss": {"start": 0}},
    "grid_1": {"method": "triplets", "loss": {"start": 1}},
}
PRINTED = {"validation": 231, "validation_from": "test"}


class OfRows(TableSpec):
    """Stands in for a kind of table or figure."""

    reads: ClassVar[Source] = "subspaces"

    rows: list[SubspaceRowSpec]
    contrasts: list[SubspaceContrastSpec]


class OfContrasts(OfRows):
    reads: ClassVar[Source] = "subspace_contrasts"


class OfHistories(OfRows):
    reads: ClassVar[Source] = "subspace_histories"


class OfProjection(OfRows):
    reads: ClassVar[Source] = "subspace_projection"


class OfNothing(OfRows):
    reads: ClassVar[Source] = "nothing"


class AnyStudy(Study):
    """A study with such tables."""

    tables: Any = ()


def row(**keys: Any) -> SubspaceRowSpec:
    return SubspaceRowSpec(**{"role": "wikipedia"} | keys)


def contrast(**keys: Any) -> SubspaceContrastSpec:
    return SubspaceContrastSpec(**{"role": "wikipedia"} | keys)


def exhibit(kind: type[OfRows], *specs: Any, name: str = "t") -> OfRows:
    rows = [one for one in specs if isinstance(one, SubspaceRowSpec)]
    contrasts = [one for one in specs if isinstance(one, SubspaceContrastSpec)]
    return kind(kind="rows", name=name, title="T", caption="C", rows=rows, contrasts=contrasts)


def study_of(*exhibits: OfRows, labels: dict[str, str] | None = None) -> Study:
    return AnyStudy(paper="P", methods=METHODS, tables=list(exhibits), labels=labels or {})


def wikipedia(**divisions: Any) -> dict[str, Any]:
    """A scale's documents."""
    return {"svcl": {"loader": "wikipedia", "divisions": {"printed": PRINTED} | divisions}}


BOTH = wikipedia(whole_test={"validation": 231, "validation_from": "train"})


def scale_of(**categories: Any) -> Scale:
    block = {"roles": {"wikipedia": "svcl"}, "documents": wikipedia(), "seeds": [0, 1, 2]}
    content = {"scale": "s", "title": "S", "studies": ["study"], "categories": block | categories}
    return check(Scale, content, "s.yaml")


def plan_of(scale: Scale, *exhibits: OfRows) -> Plan:
    return Plan(scale, {"study": study_of(*exhibits)}, read(Catalogue, CONFIG / "datasets.yaml"), config=CONFIG)


def test_a_row_that_a_scale_does_not_make_says_why_and_has_no_runs() -> None:
    specs = [row(role="pascal", method="sam"), row(division="other", method="sam"), row(method=["cca", "sam"])]
    rows = subspace_rows(specs, study_of(), scale_of(methods=["c*"]))
    assert [(one.left_out, len(one.runs)) for one in rows] == [("role", 0), ("division", 0), (None, 3), ("method", 0)]
    assert rows[0].documents is None and rows[3].documents == "svcl"
    without = check(Scale, {"scale": "s", "title": "S", "studies": ["study"]}, "s.yaml")
    assert [one.left_out for one in subspace_rows(specs, study_of(), without)] == ["role"] * 4


def test_sides_of_a_contrast_are_paired_by_the_seeds_that_both_have() -> None:
    scale = scale_of(other_seeds=[{"method": "fixed", "seeds": [2, 0, 5]}])
    specs = [contrast(a="sam", b="fixed", selection=["map", "last"]), contrast(role="pascal", a="sam", b="fixed")]
    first, second, left_out = subspace_contrasts(specs, study_of(), scale)
    assert first.seeds == [0, 2]
    assert first.runs == (
        ["svcl/printed/triplets,toward=adaptive/seed=0", "svcl/printed/triplets,toward=adaptive/seed=2"],
        ["svcl/printed/triplets,toward=nothing/seed=0", "svcl/printed/triplets,toward=nothing/seed=2"],
    )
    assert (second.a.selection, second.b.selection) == ("last", "last")
    assert first.is_made and not left_out.is_made


def test_the_second_side_may_have_another_selection_or_only_the_last() -> None:
    specs = [contrast(a="fixed", b="fixed", selection="loss", against="map"), contrast(a="sam", b="cca")]
    selections = [(one.a.selection, one.b.selection) for one in subspace_contrasts(specs, study_of(), scale_of())]
    assert selections == [("loss", "map"), ("map", "last")]


def test_a_run_reads_back_from_plain_data_with_its_name_whatever_was_stated() -> None:
    study = Study.model_validate({"paper": "P", "methods": read_methods()})
    rows = subspace_rows([row(method=list(study.methods))], study, scale_of())
    assert len({one.runs[0].name for one in rows}) == len(rows)
    for run in (one.runs[0] for one in rows):
        placed = PlacedRun(run, Path("folder"), Path("division.csv"))
        again = PlacedRun.of(json.loads(json.dumps(placed.plain)))
        assert again == placed
        assert again.run.name == run.name


def read_methods() -> dict[str, Any]:
    """Methods of which some state what is the default."""
    stated = {"stated": {"method": "triplets", "loss": {"toward": "adaptive", "margin": 1.0}}}
    tuned = {"tuned": {"method": "triplets", "loss": {"toward": "nothing"}, "margins": [0.2, 1.0]}}
    return METHODS | stated | tuned | {"acmr": {"method": "acmr"}, "ridge": {"method": "cca", "ridge": 0.5}}


def test_documents_are_read_from_the_files_of_their_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIVESENTENCES_MIRROR", raising=False)
    corpus = {"loader": "corpus", "corpus": "drawn", "divisions": {"printed": {"validation": 1, "test": 1}}}
    own = {"loader": "descriptors", "table": "t.csv", "images": "i.npy", "divisions": corpus["divisions"]}
    content = scale_of().model_dump(mode="json", exclude_unset=True)
    content["datasets"] = {"drawn": {"loader": "scenes", "seed": 1, "train": 60, "dev": 8, "test": 8}}
    content["features"] = {"extractor": "grid_descriptors", "layout": "global"}
    documents = content["categories"]["documents"] | {"drawn": corpus, "words": own, "own": own | {"texts": "t.npy"}}
    content["categories"] |= {"documents": documents}
    places = Places(Path("out"), Path("in"))
    plan = Plan(
        check(Scale, content, "s"),
        {"study": study_of(exhibit(OfRows, row(method="sam")))},
        read(Catalogue, CONFIG / "datasets.yaml"),
        places=places,
    )
    assert plan.subspaces.read_for_documents("svcl") == {"archive": Path("in/wikipedia/wikipedia_dataset.zip")}
    Path("in/wikipedia").mkdir(parents=True)
    Path("in/wikipedia/raw_features.mat").touch()  # as a person or a mirror may have it
    assert plan.subspaces.read_for_documents("svcl") == {
        "features": Path("in/wikipedia/raw_features.mat"),
        "train_list": Path("in/wikipedia/trainset_txt_img_cat.list"),
        "test_list": Path("in/wikipedia/testset_txt_img_cat.list"),
        "categories": Path("in/wikipedia/categories.list"),
    }
    assert plan.subspaces.read_for_documents("drawn") == {
        "corpus": places.corpus("drawn"),
        "features": Path("out/features/drawn/grid_descriptors-global.npy"),
    }
    assert plan.subspaces.read_for_documents("words") == {
        "table": Path("t.csv"),
        "images": Path("i.npy"),
    }
    assert plan.subspaces.read_for_documents("own")["texts"] == Path("t.npy")
    # Exactly one of the two rules makes the documents, that with vectors of texts where they are vectors.
    vectors, words = (set(plan.subspaces.documents_with(texts)) for texts in ("vectors", "words"))
    assert (vectors, words) == ({"svcl", "own"}, {"drawn", "words"})


def test_a_job_reads_its_documents_and_a_division_for_each_of_its_seeds() -> None:
    other = row(division="whole_test", method="cca")
    plan = plan_of(scale_of(documents=BOTH), exhibit(OfRows, row(method=["cca", "sam"]), other))
    places = plan.places
    assert plan.subspaces.vectors_of_texts("svcl") == [places.document_vectors("svcl", "text")]
    assert plan.subspaces.divisions_of("svcl/printed/1") == [
        places.division("svcl", "printed", seed) for seed in (0, 1, 2)
    ]
    placed = plan.subspaces.runs_of_job("svcl/printed/1")
    assert {one.run.name for one in placed} == {
        name for name, run in plan.subspaces.runs.items() if run.division == "printed"
    }
    assert all(one.folder == places.subspace_run(one.run.name) for one in placed)
    assert all(one.division == places.division("svcl", "printed", one.run.seed) for one in placed)
    assert places.division("svcl", "printed", 1).as_posix() == "results/corpus/documents/svcl/printed,seed=1.csv"


def test_a_table_or_figure_reads_what_it_names() -> None:
    made, nobody = row(method="sam"), row(role="pascal", method="sam")
    plan = plan_of(
        scale_of(runs_per_job=2),
        exhibit(OfRows, nobody, made, name="rows"),
        exhibit(OfHistories, made, name="histories"),
        exhibit(OfContrasts, contrast(a="sam", b="cca"), contrast(role="pascal", a="sam", b="cca"), name="contrasts"),
        exhibit(OfContrasts, contrast(role="pascal", a="sam", b="cca"), name="no_contrasts"),
        exhibit(OfProjection, nobody, row(method=["cca", "sam"], selection="map"), name="projection"),
        exhibit(OfProjection, nobody, name="no_projection"),
        exhibit(OfNothing, name="nothing"),
    )
    places = plan.places

    def numbers(name: str) -> Any:
        return plan.report.numbers_of("s", f"study/{name}")

    jobs = plan.subspaces.jobs_of(run.name for run in subspace_rows([made], plan.studies["study"], plan.scale)[0].runs)
    assert 1 < len(jobs) <= 3
    assert numbers("rows") == [places.subspace_numbers(job) for job in jobs]
    assert numbers("histories") == [
        *(places.subspace_numbers(job, "histories") for job in jobs),
        *(places.subspace_numbers(job, "category_margins") for job in jobs),
    ]
    assert numbers("contrasts") == [places.subspace_contrasts("s", "study/contrasts")]
    (pair,) = plan.comparisons.paired_subspaces("s", "study/contrasts")
    assert (pair["a_selection"], pair["b_selection"], pair["seeds"]) == ("map", "last", [0, 1, 2])
    assert pair["b"] == [f"svcl/printed/cca/seed={seed}" for seed in (0, 1, 2)]
    (of_run,) = plan.subspaces.jobs_of(["svcl/printed/cca/seed=0"])
    assert numbers("projection") == [
        places.subspace_projection("s", "study/projection"),
        places.subspace_numbers(of_run, "category_margins"),
    ]
    placed, selection = plan.comparisons.run_of_projection("s", "study/projection")
    assert (selection, placed.folder) == ("last", Path("results/training/subspaces/svcl/printed/cca/seed=0"))
    assert numbers("no_contrasts") == numbers("no_projection") == numbers("nothing") == []
    assert plan.comparisons.exhibits_made_from("subspace_contrasts") == ["study/contrasts", "study/no_contrasts"]


def test_a_study_that_names_an_unknown_method_ends_with_its_methods() -> None:
    for spec in (row(method="sma"), contrast(a="cca", b="sma")):
        with pytest.raises(ValidationError, match=r"t .*'sma'.*cca, fixed"):
            study_of(exhibit(OfRows, spec))


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ({"roles": {"wikpedia": "svcl"}}, "categories.roles .*'wikpedia'.*'wikipedia'"),
        ({"methods": ["cca", "smm"]}, "categories.methods .*'smm'"),
        (
            {"other_seeds": [{"method": "gird_*", "seeds": [1]}]},
            r"categories.other_seeds\[0\].method .*'gird_\*'",
        ),
    ],
)
def test_what_a_scale_names_is_in_its_studies(categories: dict[str, Any], message: str) -> None:
    scale = scale_of(documents=BOTH, **categories)
    spec = row(division=["printed", "whole_test"], method=list(METHODS))
    with pytest.raises(InputError, match=message):
        plan_of(scale, exhibit(OfRows, spec))


def test_a_division_that_no_row_names_would_be_drawn_for_nothing() -> None:
    with pytest.raises(InputError, match=r"documents\.svcl\.divisions .*'whole_test'"):
        plan_of(scale_of(documents=BOTH), exhibit(OfRows, row(method="sam")))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roles": {"wikipedia": "other"}}, "roles.wikipedia is 'other'.*svcl"),
        ({"seeds": [1, 1]}, r"\[1, 1\]"),
        ({"other_seeds": [{"method": "sam", "seeds": [3, 3]}]}, r"seeds is \[3, 3\]"),
        ({"methods": ["a b"]}, "categories.methods.0 is 'a b'"),
    ],
)
def test_mistakes_in_the_block_are_told_with_a_cure(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        scale_of(**changes)


def test_documents_of_a_corpus_need_the_corpus_and_one_vector_per_image() -> None:
    content = scale_of().model_dump(mode="json", exclude_unset=True)
    divisions = {"printed": {"validation": 1, "test": 1}}
    content["categories"]["documents"]["svcl"] = {"loader": "corpus", "corpus": "drawn", "divisions": divisions}
    with pytest.raises(InputError, match=r"documents\.svcl\.corpus.*'drawn'"):
        check(Scale, content, "s.yaml")
    content["datasets"] = {"drawn": {"loader": "scenes", "seed": 1, "train": 60, "dev": 8, "test": 8}}
    with pytest.raises(InputError, match="layout: global"):
        check(Scale, content, "s.yaml")
    content["features"] = {"extractor": "grid_descriptors", "layout": "grid"}
    with pytest.raises(InputError, match="layout: global"):
        check(Scale, content, "s.yaml")


def test_a_published_row_is_that_of_one_row_and_nothing_is_contrasted_with_itself() -> None:
    with pytest.raises(ValidationError, match=r"published .*method is a list"):
        row(method=["cca", "sam"], published="1")
    with pytest.raises(ValidationError, match="'sam'"):
        contrast(a=["cca", "sam"], b="sam")

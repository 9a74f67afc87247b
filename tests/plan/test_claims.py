"""Claims find the runs of a scale that test them, by losses and settings."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from fivesentences.config.reading import check
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError
from fivesentences.evaluation.published import read_published
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of
from fivesentences.reproduction.plan.runs_of_claims import MethodCell, RunCell, candidates_of, run_cells
from fivesentences.reproduction.study.claims import Claims, LevelTest, MethodsTest, Printed, RunsTest, Than
from fivesentences.reproduction.study.study import PaperClaims, read_claims
from golden.golden import plan_named

CONFIG = Path(__file__).parents[2] / "config"
COMPLETE = "paper-complete"


@pytest.fixture(scope="module")
def papers() -> list[PaperClaims]:
    return read_claims(CONFIG, {}, "a test")


@pytest.fixture
def evidence() -> Plan:
    """The studies of that scale that have its settings."""
    return questions(*(f"evidence_{name}" for name in ("margins", "length", "seeds", "fractions", "daa")))


def questions(*studies: str) -> Plan:
    path = CONFIG / "flickr8k_evidence.yaml"
    stated = {"studies": list(studies)}
    return plan_of(scale_of(read_yaml(path) | stated, path, stated=stated), CONFIG)


@pytest.fixture
def papers_scale() -> Plan:
    return plan_named("paper")


def cells(plan: Plan, paper: str, claim: str) -> list[RunCell | MethodCell]:
    return list(plan.report.cells_of_claims(plan.scale.complete.scale)[paper, claim])


# --- what stands in config/claims -----------------------------------------------------------------------------------


def test_the_four_papers_have_at_least_forty_claims_with_names_of_their_own(papers):
    assert {paper.name for paper in papers} == {"five_sentences", "sched_sam", "knn_margin", "daa_supp"}
    names = [(paper.name, one.name) for paper in papers for one in paper.claims.claims]
    assert len(names) == len(set(names)) >= 40
    assert all(one.claim.endswith(".") and one.where for paper in papers for one in paper.claims.claims)


def size_in_print(printed: Printed) -> float:
    """The size that follows from the published table: a, a - b, or (a - b) - (c - d)."""

    def cell(row: str, table: str | None = None, metric: str | None = None, direction: str | None = None) -> float:
        found = read_published(CONFIG / "published" / f"{table or printed.table}.csv")[row].values
        key = (printed.direction if direction is None else direction, metric or printed.metric)
        if key == ("", "Rsum") and key not in found:  # where a table prints no sum
            return sum(found[side, f"R@{k}"] for side in ("i2t", "t2i") for k in (1, 5, 10))
        return found[key]

    size = cell(printed.a)
    if printed.b is not None:
        size -= cell(printed.b, printed.b_table, printed.b_metric, printed.b_direction)
    if printed.c is not None:
        size -= cell(printed.c, printed.than_table) - cell(printed.d, printed.than_table)
    return size


def test_every_size_is_that_in_print_and_the_first_has_the_stated_direction(papers):
    claims = [one for paper in papers for one in paper.claims.claims]
    sizes = [(one.name, size) for one in claims for size in one.printed if size.table is not None]
    assert len(sizes) > 60
    for name, size in sizes:
        assert size.size == pytest.approx(size_in_print(size), abs=1e-6), f"{name}: {size.of}"
    for one in claims:
        if one.printed and one.printed[0].b is not None:
            size = one.printed[0].size
            assert {"more": size > 0, "less": size < 0}.get(one.test.expect, True), one.name


def test_what_is_half_said_is_refused():
    measure = {"metric": "Rsum"}
    for given, said in (
        ({"kind": "runs", "a": "x", "measure": measure}, "both sides are the same"),
        ({"kind": "runs", "a": ["x", "y", "z"], "b": ["u", "v"], "measure": measure}, "b has 2 losses and a 3"),
    ):
        with pytest.raises(ValidationError, match=said):
            RunsTest.model_validate(given)
    with pytest.raises(ValidationError, match="one of fraction"):
        Than()
    with pytest.raises(ValidationError, match="c and d stand together"):
        Printed(of="x", size=1, table="t", metric="Rsum", a="1", b="2", c="3")
    with pytest.raises(ValidationError, match="table, metric and a"):
        Printed(of="x", size=1, table="t")


def test_a_loss_or_method_that_the_study_lacks_is_named(papers):
    paper = next(one for one in papers if one.name == "daa_supp")
    test = {"kind": "runs", "a": "missing", "b": "hardest", "measure": {"metric": "Rsum"}}
    claim = {"name": "one", "claim": "A statement that can be checked.", "where": "Table 1", "test": test}
    claims = check(Claims, {"study": "daa_supp", "claims": [claim]}, "a test")
    with pytest.raises(InputError, match=r"claims/daa_supp\.yaml.*'missing'"):
        PaperClaims("daa_supp", claims, paper.study)
    with pytest.raises(InputError, match="'one'"):
        check(Claims, {"study": "daa_supp", "claims": [claim, claim]}, "a test")


# --- which runs test a claim ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_at_the_papers_scale_sam_and_its_controls_differ_in_the_loss_alone(papers_scale):
    runs, compared = papers_scale.all_runs, 0
    for of_claim in papers_scale.report.cells_of_claims(COMPLETE).values():
        for cell in (one for one in of_claim if isinstance(one, RunCell) and len(one.terms) > 1):
            a, b = ([runs[name] for name in term.runs] for term in cell.terms[:2])
            for one, other in zip(a, b, strict=True):
                if one.loss.sam is not None and other.loss.sam is not None:
                    compared += one != other
                    assert one.model_copy(update={"loss": other.loss}) == other, cell
    assert compared > 100


def test_runs_are_found_by_their_loss_whatever_a_study_calls_it(evidence):
    found = cells(evidence, "five_sentences", "sam_recall_10")
    assert all(cell.runs and len(cell.terms) == 2 for cell in found)
    settings = {cell.settings[0].model_copy(update={"seed": 0}).name: cell for cell in found}
    assert len(settings) == len(found)
    thirty = next(one for one in found if len(one.seeds) == 10)
    assert thirty.seeds == tuple(range(10))
    a, b = thirty.terms
    assert (a.factor, b.factor) == (1, -1)
    for ours, theirs in zip(a.runs, b.runs, strict=True):
        ours, theirs = evidence.runs[ours], evidence.runs[theirs]
        assert ours.seed == theirs.seed and ours.loss.sam.negatives == "random"
        assert theirs.loss.sam is None
        assert ours.model_copy(update={"loss": theirs.loss}) == theirs


def test_the_beginning_of_a_run_is_no_test(evidence):
    short = [run for run in evidence.runs.values() if run.training.epochs == 1]
    assert short  # the table of margins looks at them
    names = {run.name for run in short}
    found = [cell for cells in evidence.report.cells_of_claims("flickr8k_evidence").values() for cell in cells]
    assert not names & {run for cell in found for run in cell.runs}


def test_an_effect_less_the_same_elsewhere_pairs_all_four_sides_by_seed(evidence):
    found = cells(evidence, "five_sentences", "gain_shrinks_25")
    assert found
    for cell in found:
        assert [term.factor for term in cell.terms] == [1, -1, -1, 1]
        runs = [[evidence.runs[name] for name in term.runs] for term in cell.terms]
        assert [of_term[0].fraction for of_term in runs] == [0.1, 0.1, 0.25, 0.25]
        assert all(tuple(run.seed for run in of_term) == cell.seeds for of_term in runs)
        assert len({run.model.folder for of_term in runs for run in of_term}) == 1


def test_later_epochs_are_other_settings_of_the_same_data(evidence):
    for cell in cells(evidence, "five_sentences", "sam_converges_faster"):
        epochs = [{evidence.runs[name].training.epochs for name in term.runs} for term in cell.terms]
        assert epochs == [{15}, {15}, {60}, {60}]


def test_runs_with_wrong_pairs_test_claims_on_noise_alone():
    plan = questions("evidence_noise")
    found = plan.report.cells_of_claims("flickr8k_evidence")
    noisy = {name for name, run in plan.runs.items() if run.training.noise}
    assert len(noisy) == 2 * 7 * 5
    for (paper, claim), of_claim in found.items():
        assert (paper, claim) in {("knn_margin", "knn_noise_max"), ("knn_margin", "max_suffers_noise")} or not (
            noisy & {run for cell in of_claim for run in cell.runs}
        )
    assert {plan.runs[name].training.noise for cell in found["knn_margin", "knn_noise_max"] for name in cell.runs} == {
        0.2,
        0.4,
    }
    for cell in found["knn_margin", "max_suffers_noise"]:
        of_terms = [{plan.runs[name].training.noise for name in term.runs} for term in cell.terms]
        assert of_terms in ([{0.2}, {0.2}, {0}, {0}], [{0.4}, {0.4}, {0}, {0}])


def test_a_claim_on_methods_may_be_tested_at_the_last_epoch_too():
    plan = plan_named("wikipedia")
    found = cells(plan, "sched_sam", "pairs_matter")
    assert [cell.selection for cell in found] == [("map", "map"), ("last", "last")] * 2  # two divisions
    assert all(len(cell.seeds) == 15 for cell in found)
    # A method without epochs is tested once.
    closed = cells(plan, "sched_sam", "beats_cca")
    assert {cell.selection for cell in closed} == {("map", "last")}
    assert len({(cell.where, cell.methods) for cell in closed}) == len(closed)


def test_values_per_image_stand_behind_sums_of_the_main_phi_alone(evidence):
    phi = evidence.scale.evaluation_phi
    (first, *_) = cells(evidence, "five_sentences", "sam_recall_10")
    assert first.per_image(phi) == ["Rsum", "Rsum"]
    (asp, *_) = cells(evidence, "daa_supp", "daa_asp_cider")
    assert asp.per_image(phi) == ["ASP_i2t", "ASP_i2t"]
    (other, *_) = cells(evidence, "daa_supp", "daa_asp_i2t")  # by tf-idf
    assert other.per_image(phi) is None and other.per_image("tfidf") == ["ASP_i2t", "ASP_i2t"]


def test_a_metric_or_inference_that_the_scale_lacks_has_no_cells(evidence):
    assert cells(evidence, "daa_supp", "daa_asp_bleu") == []  # it has no such phi
    assert cells(evidence, "knn_margin", "csls_raises_recall") == []  # nothing is read so
    assert len(cells(questions("evidence_inference"), "knn_margin", "csls_raises_recall")) == 3
    assert cells(evidence, "sched_sam", "beats_cca") == []


def test_a_level_has_one_side(evidence, papers):
    test = LevelTest(kind="level", loss="hardest", fraction=0.1, measure={"metric": "Rsum"}, level=1)
    study = next(paper.study for paper in papers if paper.name == "five_sentences")
    candidates = candidates_of(evidence.runs.values(), evidence.scale)
    found = run_cells(test, study, evidence.scale, candidates, evidence.inferences)
    assert found and all(len(cell.terms) == 1 for cell in found)
    nobody = test.model_copy(update={"role": "coco"})
    assert run_cells(nobody, study, evidence.scale, candidates, evidence.inferences) == []


def test_a_test_of_a_method_against_itself_needs_another_direction_or_role():
    for given in ({}, {"b_direction": "t2i", "direction": "t2i"}):
        with pytest.raises(ValidationError, match="b_direction"):
            MethodsTest(kind="methods", a="sam", **given)
    assert MethodsTest(kind="methods", a=["sam", "cca"], b_role="nus_wide").pairs() == [("sam", "sam"), ("cca", "cca")]


# --- the rule ---------------------------------------------------------------------------------------------------------


def test_claims_train_nothing_and_the_rule_reads_what_its_cells_need(evidence):
    bare = Plan(evidence.scale, evidence.studies, evidence.catalogue, config=CONFIG)
    assert list(bare.runs) == list(evidence.runs) and bare.report.cells_of_claims("flickr8k_evidence") == {}
    inputs = evidence.report.numbers_of_claims("flickr8k_evidence")
    of_jobs = {evidence.places.per_image(job) for job in evidence.evaluations}
    assert set(inputs["per_image"]) <= of_jobs and inputs["per_image"]
    assert inputs["tidy"] == [evidence.places.tidy("flickr8k_evidence")]
    assert inputs["queries"] == inputs["judged"] == []
    assert {path.stem for path in evidence.claims_files} == {"five_sentences", "sched_sam", "knn_margin", "daa_supp"}


# --- at the papers' scale -------------------------------------------------------------------------------------------


def test_every_claim_has_cells_at_the_papers_scale(papers_scale):
    found = papers_scale.report.cells_of_claims(COMPLETE)
    bare = [
        f"{paper.name}/{one.name}"
        for paper in papers_scale.claims
        for one in paper.claims.claims
        if isinstance(one.test, RunsTest | LevelTest | MethodsTest) and not found[paper.name, one.name]
    ]
    assert bare == ["knn_margin/knn_noise_max", "knn_margin/max_suffers_noise"]  # no table of theirs has wrong pairs
    assert papers_scale.phi.judged and papers_scale.phi.phis_read("found_positives")  # which test the others

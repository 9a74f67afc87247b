"""Tables of category retrieval show means over seeds beside print, and say what may not be compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fivesentences.config.reading import check
from fivesentences.errors import InputError
from fivesentences.evaluation.published import read_published
from fivesentences.reproduction.categories.evaluation import read_subspace_table
from fivesentences.reproduction.categories.paper.numbers import SubspaceResults
from fivesentences.reproduction.paper import rendering
from fivesentences.reproduction.study.study import Study

SIDES = [{"metric": "mAP", "direction": side} for side in ("i2t", "t2i", "mean")]
ROWS = [
    {"role": "wikipedia", "method": "random"},
    {"role": "wikipedia", "method": "cca", "published": "1"},
    {"role": "wikipedia", "method": "sam", "published": "13", "selection": "map"},
    {"role": "wikipedia", "method": "sam", "selection": "last"},
    {"role": "wikipedia", "method": "kcca", "published": "3"},
    {"role": "pascal", "method": "cca", "published": "1"},
]
THEIRS = {"documents": {"wikipedia": "vgg"}, "features": "VGG-19 features"}


def study_of(rows=ROWS, **table) -> Study:
    texts = {"name": "t", "kind": "subspaces", "title": "T", "caption": "C", "columns": SIDES}
    methods = {name: {"method": name} for name in ("random", "cca", "kcca")}
    content = {
        "paper": "P",
        "methods": methods | {"sam": {"method": "triplets"}},
        "labels": {"wikipedia": "Wikipedia", "sam": "SAM", "cca": "CCA", "random": "random", "kcca": "KCCA"},
        "tables": [texts | {"published": "sched_sam_table1", "published_setting": THEIRS, "rows": rows} | table],
    }
    return check(Study, content, "toy")


@pytest.fixture(scope="session")
def made(make_scale, make_up, categories):
    """Everything that is measured for a table of three seeds; documents ``made`` or others play Wikipedia."""

    def build(rows=ROWS, *, table=(), documents="made", **changes):
        study = study_of(rows, **dict(table))
        given = categories(study, documents, **{"methods": ["random", "cca", "sam"]} | changes)
        scale = make_scale(studies=["toy"], roles={}, features=None, keep=None, categories=given)
        return make_up(scale, toy=study)

    return build


def table_of(made_up):
    return rendering.make(made_up.plan.tables["toy/t"], made_up.contexts["toy/t"], made_up.numbers("toy/t"))


def test_means_and_spreads_are_those_of_the_runs_by_the_epoch_that_a_row_names(made):
    made_up = made()
    tidy = table_of(made_up).tidy().query("row == 'ours'")
    frame = read_subspace_table(made_up.numbers("toy/t"), "metrics")
    lines = tidy.set_index(["method", "selection", "direction"])
    assert len(lines) == 4 * 3 and lines["seeds"].unique() == [3]
    for (method, selection, direction), line in lines.iterrows():
        folder, epoch = {"sam": "triplets"}.get(method, method), selection or "last"  # no epochs: only the last
        chosen = frame[(frame["method"] == folder) & (frame["selection"] == epoch)]
        values = chosen[(chosen["metric"] == "mAP") & (chosen["direction"] == direction)]["value"]
        assert len(values) == 3
        assert line["mean"] == pytest.approx(values.mean()) and line["spread"] == pytest.approx(values.std())
    best = [row.labels for group in table_of(made_up).groups for row in group.rows if row.cells[2].best]
    means = lines["mean"].unstack("direction")["mean"].round(3)
    assert len(best) == (means == means.max()).sum() == 1


def test_a_difference_is_taken_where_the_documents_are_those_of_the_paper(made):
    table = table_of(made(documents="vgg"))
    tidy = table.tidy().query("row == 'ours' and published.notna()")
    assert len(tidy) == 6
    np.testing.assert_allclose(tidy["difference"], tidy["mean"] - tidy["published"])
    rows = [dict(row, division="whole_test") for row in ROWS]  # the paper has another division
    assert table_of(made(rows, documents="vgg")).tidy()["difference"].isna().all()


def test_wrong_names_and_values_are_refused(made):
    with pytest.raises(InputError, match=r"'99'.*'wikipedia'"):
        table_of(made([ROWS[1] | {"published": "99"}]))
    with pytest.raises(InputError, match=r"mAP i2t .*'map'"):
        SubspaceResults(made().numbers("toy/t")).value("nobody", "map", ("mAP", "i2t"))


def test_every_published_row_is_found_by_its_number_and_role():
    folder = Path(__file__).parents[2] / "config" / "published"
    first, second = (read_published(folder / f"sched_sam_table{number}.csv") for number in (1, 2))
    for role, dataset in (("wikipedia", "Wikipedia"), ("pascal", "Pascal Sentences"), ("nus_wide_10k", "NUS-WIDE-10k")):
        found = [first.of_role(str(number), role) for number in range(1, 14)]
        assert [row.dataset for row in found if row is not None] == [dataset] * 13
    assert all(second.of_role(str(number), "nus_wide") is not None for number in range(1, 11))
    assert second.of_role("1", "wikipedia") is None

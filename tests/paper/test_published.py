from __future__ import annotations

import pandas as pd
import pytest

from fivesentences.errors import InputError
from fivesentences.evaluation.published import COLUMNS, read_published


@pytest.fixture(scope="module")
def published(root):
    return root / "config" / "published"


def test_every_published_table_of_the_repository_is_read(published):
    for path in sorted(published.glob("*.csv")):
        found = read_published(path).values()
        assert sum(len(row.values) for row in found) == len(pd.read_csv(path)), path.name


def test_a_published_row_knows_its_role_fraction_and_values(published):
    rows = read_published(published / "five_sentences_table2.csv")
    assert list(rows) == [str(number) for number in range(1, 17)]
    assert (rows["2"].role, rows["2"].fraction, rows["2"].method) == ("flickr30k", 0.1, "CVSE+SAM")
    assert (rows["16"].role, rows["16"].fraction, rows["16"].gallery) == ("coco", 0.05, "MSCOCO 1K test")
    assert (rows["2"].values["i2t", "R@1"], rows["2"].values["", "Nsum"]) == (34.6, 253.6)
    for row in rows.values():
        recalls = [value for (_, metric), value in row.values.items() if metric.startswith("R@")]
        assert sum(recalls) == pytest.approx(row.values["", "Rsum"], abs=1e-9)


def test_names_keep_trailing_zeros_dashes_are_none_and_a_row_over_two_datasets_is_two_rows(published):
    rows = read_published(published / "knn_margin_table4.csv")
    assert "3.1" in rows and "3.10" in rows and rows["3.12"].values["t2i", "Mean r"] is None
    rows = read_published(published / "five_sentences_table4.csv")
    assert (rows["1 Flickr30K"].values["", "Nsum_nonGT"], rows["1 MSCOCO"].values["", "Nsum_nonGT"]) == (257.42, 312.2)
    assert "1 5K test" in read_published(published / "daa_supp_table2.csv")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["p,1,1,D,test,M,,i2t,R@1,abc"], "line 2: 'abc'"),
        (["p,1,1,D,test,M,,i2t,R@1,1.0", "p,1,1,D,test,M,,i2t,R@1,2.0"], "line 3.*i2t R@1 of row 1"),
        (["p,1,1,D,test,M"], "line 2"),
        (None, "'row'"),
    ],
)
def test_mistakes_in_a_published_table_are_named(tmp_path, lines, message):
    path = tmp_path / "t.csv"
    path.write_text("paper,table\n" if lines is None else "\n".join([",".join(COLUMNS), *lines]), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_published(path)

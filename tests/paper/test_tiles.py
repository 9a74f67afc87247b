"""A tile of a front page is coloured by its interval, not by what its author hopes."""

from __future__ import annotations

import re

import pytest

from fivesentences.reproduction.paper.site.findings import kind_of


@pytest.mark.parametrize(
    ("ends", "bad", "expected"),
    [
        (["1.2", "3.4"], False, "good"),
        (["−3.4", "−1.2"], True, "bad"),
        (["−11.0", "18.0"], False, "open"),
        (["-11.0", "18.0"], True, "open"),
        (["0.0", "2.0"], False, "open"),
        ([], False, "open"),
        ([], True, "bad"),
    ],
)
def test_a_tile_is_good_only_where_its_interval_leaves_0_out(ends, bad, expected):
    assert kind_of(ends, bad) == expected


def test_no_kept_page_praises_a_number_whose_interval_contains_0(root):
    pages = sorted(root.glob("results/paper/*/index.html"))
    tiles = [
        tile for page in pages for tile in re.findall(r'<ul class="tiles">(.+?)</ul>', page.read_text("utf-8"), re.S)
    ]
    praised = [one for tile in tiles for one in re.findall(r'<li class="good">(.+?)</li>', tile)]
    assert praised
    for one in praised:
        low, high = re.search(r"interval (\S+) to (\S+)<", one.replace("−", "-")).groups()
        assert float(low) > 0 or float(high) < 0, one

"""docs/features.md: its commands run as they stand there, and its table says what the formats hold."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest

from drawn_features import drawn, read, write
from fivesentences.features.formats.known import FORMATS


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "features.md").read_text(encoding="utf-8")


def test_every_command_of_the_page_runs_in_its_order(page, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    records = drawn(30, ("boxes", "sizes"), regions=(36, 36), ids=str)
    write(records, tmp_path / "trainval_36.tsv", "tsv")
    for part in range(2):
        write(records[part * 15 : part * 15 + 15], tmp_path / f"part{part}.tsv", "tsv").rename(f"genome.tsv.{part}")
    (tmp_path / "train_order.txt").write_text("".join(f"{image}\n" for image in range(20)))
    (tmp_path / "dev_order.txt").write_text("".join(f"{image}\n" for image in range(29, 19, -1)))
    commands = re.findall(r"^    (fivesentences features convert [^F].*)$", page, re.MULTILINE)
    assert len(commands) == 5
    for command in commands:
        assert run(*shlex.split(command)[1:]).code == 0
    assert len(read(tmp_path / "joined.npy")) == 30
    everything = read(tmp_path / "all.npy")
    assert [record.image_id for record in everything] == [*map(str, range(20)), *map(str, range(29, 19, -1))]
    np.testing.assert_array_equal(everything[25].features, records[24].features.astype(np.float16))
    (code,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)
    np.testing.assert_array_equal(names["image"].features, records[0].features)


def test_the_table_of_the_page_says_what_formats_hold(page):
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", page, re.MULTILINE)
    assert [name for name, _ in rows] == list(FORMATS)
    for name, rest in rows:
        known = FORMATS[name]
        _, boxes, sizes, recognised, counts, vectors, types = (cell.strip() for cell in rest.split("|"))
        for facts, said in (({"boxes"}, boxes), ({"sizes"}, sizes), ({"scores", "classes", "attributes"}, recognised)):
            expected = "needed" if facts <= known.needs else "yes" if facts <= known.holds else "no"
            assert said == expected, (name, facts)
        assert (counts, vectors) == tuple("yes" if each else "no" for each in ("counts" in known.holds, known.vectors))
        assert types == ("float32" if known.float32 else "float16, float32")

"""The folder of a page: what it holds, that text is text in it, and what it refuses to replace."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from fivesentences.errors import InputError
from fivesentences.pages.page import MARK, check_folder
from fivesentences.pages.report import look


def read(folder: Path) -> dict:
    first, data = (folder / "data.js").read_text("utf-8").split("\n", 1)
    assert first == MARK
    return json.loads(data.removeprefix("window.LOOK=").rstrip().removesuffix(";"))


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def page(small) -> Path:
    look(np.load("sims.npy"), captions="captions.txt", images="photos").write("look")
    return Path("look")


def test_the_folder_holds_a_page_its_data_and_thumbnails(page):
    assert files(page) == {"index.html", "data.js", *(f"thumbnails/{number:05d}.webp" for number in range(8))}
    text = (page / "index.html").read_text("utf-8")
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", text) and "fetch(" not in text


def test_the_data_are_those_of_the_report(report, tmp_path):
    report.write(tmp_path / "look")
    data = read(tmp_path / "look")
    side, answers = data["sides"]["t2i"], report.answers["second"]["t2i"]
    assert side["queries"] == list(range(1000)) and side["answers"][1]["items"] == answers.items.tolist()
    assert side["answers"][1]["rank"] == answers.rank.tolist()
    np.testing.assert_allclose(side["answers"][1]["ncs"], answers.ncs, atol=0.051)
    assert [row["values"] for row in data["numbers"]] == [
        {side: pytest.approx(values, abs=1e-4) for side, values in row["values"].items()} for row in report.numbers()
    ]
    hubs = {one["model"]: one for one in data["hubs"]["t2i"]}
    counts = np.bincount(answers.items.ravel(), minlength=200)
    assert hubs["second"]["items"][0] == [int(counts.argmax()), int(counts.max())]
    assert hubs["second"]["never"] == int((counts == 0).sum()) and hubs["second"]["expected"] == 25
    both, first, second, neither = data["agreement"][1]["counts"]
    hit = [report.answers[model]["t2i"].rank <= 5 for model in ("first", "second")]
    assert (both, first, second, neither) == tuple(
        int(one.sum()) for one in (hit[0] & hit[1], hit[0] & ~hit[1], ~hit[0] & hit[1], ~hit[0] & ~hit[1])
    )


def test_without_photographs_nothing_is_said_of_them(small):
    look(np.load("sims.npy"), captions="captions.txt").write("look")
    data = read(Path("look"))
    assert data["images"] is None and files(Path("look")) == {"index.html", "data.js"}
    assert {tuple(one[2:4]) for one in data["pictures"]} == {(0, 0)}


def test_text_of_captions_and_names_cannot_leave_its_place(small):
    evil = "</script><img src=x onerror=alert(1)>\u2028"
    captions = Path("captions.txt").read_text().splitlines()
    report = look({evil: np.load("sims.npy")}, captions=[evil, *captions[1:]])
    report.write("look")
    text, data = (Path("look", name).read_text("utf-8") for name in ("index.html", "data.js"))
    assert evil not in text and "</script>" not in data and "\u2028" not in data
    assert read(Path("look"))["captions"][0][2] == evil


def test_an_earlier_page_is_replaced_and_its_thumbnails_go(page):
    look(np.load("sims.npy"), captions="captions.txt").write("look")
    assert files(page) == {"index.html", "data.js"}


@pytest.mark.parametrize("name", ["notes.txt", "thumbnails/mine.jpg", "more/index.html", ".git"])
def test_a_folder_that_holds_something_else_is_refused_and_left_alone(page, name):
    (page / name).parent.mkdir(exist_ok=True)
    (page / name).write_text("mine")
    with pytest.raises(InputError, match=re.escape(f"holds something else already ({Path(name).parts[0]}")):
        look(np.load("sims.npy"), captions="captions.txt").write("look")
    assert (page / name).read_text() == "mine"


def test_a_page_of_somebody_else_is_refused(small):
    Path("site").mkdir()
    Path("site/index.html").write_text("mine")
    with pytest.raises(InputError, match=r"something else already \(index\.html\)"):
        check_folder(Path("site"))
    Path("site/data.js").write_text("mine")
    with pytest.raises(InputError, match=r"something else already \(data\.js\)"):
        check_folder(Path("site"))
    with pytest.raises(InputError, match=r"this is a file"):
        check_folder(Path("captions.txt"))
    check_folder(Path("new"))


def test_what_a_killed_run_left_is_no_obstacle(page):
    (page / ".data.0123456789abcdef.1.partial.js").write_text("half")
    (page / "index.html").unlink()
    check_folder(page)


def test_equal_reports_give_equal_bytes(page):
    before = {name: (page / name).read_bytes() for name in files(page)}
    look(np.load("sims.npy"), captions="captions.txt", images="photos").write("look")
    assert {name: (page / name).read_bytes() for name in files(page)} == before

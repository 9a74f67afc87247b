"""The kept page of the example is what `docs/tools/keep_look` makes."""

from __future__ import annotations

import runpy

import pytest

from fivesentences.documents import parse_json
from fivesentences.reproduction.scenes import compose
from fivesentences.reproduction.scenes.drawing import draw_scene

LIMIT = 2_000_000


def content(folder):
    text = (folder / "data.js").read_text("utf-8").split("\n", 1)[1]
    return parse_json(text.removeprefix("window.LOOK=").rstrip().removesuffix(";"), "data.js")


@pytest.mark.slow
def test_the_kept_page_is_the_one_that_is_made_now(root, tmp_path):
    tool, kept = runpy.run_path(str(root / "docs" / "tools" / "keep_look")), root / "docs" / "look"
    (tmp_path / "example").mkdir()
    tool["report_in"](tmp_path / "example").write(tmp_path / "look")
    assert (kept / "index.html").read_text("utf-8") == (tmp_path / "look" / "index.html").read_text("utf-8")
    ours, theirs = content(kept), content(tmp_path / "look")
    for one in (ours, theirs):  # sizes of WebP depend on Pillow's library
        one["images"].pop("said")
    assert ours == theirs
    assert sum(path.stat().st_size for path in kept.rglob("*") if path.is_file()) <= LIMIT
    assert len(list((kept / "thumbnails").iterdir())) == 200


@pytest.mark.slow
def test_pictures_of_the_example_are_its_scenes(tmp_path):
    import numpy as np

    from fivesentences.commands.example import SHIPPED
    from fivesentences.corpus import Photographs

    shipped, scenes = Photographs(SHIPPED / "scenes.zip"), compose(0, 3201)[-200:]
    assert shipped.names() == [f"{one.image_id}.webp" for one in scenes]
    for one in scenes[::50]:
        drawn = np.asarray(draw_scene(one.scene), dtype=float)
        assert np.abs(np.asarray(shipped.decoded(f"{one.image_id}.webp"), dtype=float) - drawn).mean() < 8

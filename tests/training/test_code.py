"""What the code of a script does changes with what it runs: not with words, nor with what others run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fivesentences.training import code
from fivesentences.training.fingerprint import LISTS, WITHOUT_EFFECT

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "workflow" / "scripts"


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    return Path(shutil.copytree(code.PACKAGE, tmp_path_factory.mktemp("copy") / "fivesentences"))


@pytest.mark.parametrize(
    ("script", "file", "old", "new", "changes"),
    [
        ("extract_features", "corpus/decoding.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", True),
        ("extract_features", "features/grid_descriptors.py", " - 1", " - 2", True),
        ("extract_features", "features/detectors/boxes.py", " - ", " + ", True),
        ("extract_features", "corpus/decoding.py", '"""', '"""A typo. ', False),
        ("extract_features", "features/extract.py", "\nfrom __future__", "\n# Words.\nfrom __future__", False),
        ("extract_features", "paper/rendering.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", False),
        ("extract_features", "errors.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", False),
        ("score_captions", "semantics/cider.py", " - ", " + ", True),  # named in a registry
        ("score_captions", "corpus/table.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", True),  # imported when asked for
        ("plot_figure", "paper/figures/forest.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", True),
        ("make_table", "paper/tables/paired.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", True),
        ("evaluate", "metrics/ncs.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", True),
        ("evaluate", "features/extract.py", "\n\n\n", "\n\n\nMORE = 1\n\n\n", False),
    ],
)
def test_a_script_is_what_it_runs(package, tmp_path, monkeypatch, script, file, old, new, changes):
    monkeypatch.setattr(code, "PACKAGE", package)
    source, memory = (SCRIPTS / f"{script}.py").read_bytes(), tmp_path / "memory.json"

    def digest():
        for cached in (code.code_behind, code._facts, code._imported, code._beside):
            cached.cache_clear()
        return code.code_of_script(source, LISTS | WITHOUT_EFFECT, memory)

    before, text = digest(), (package / file).read_text(encoding="utf-8")
    assert old in text
    try:
        (package / file).write_text(text.replace(old, new, 1), encoding="utf-8")
        assert (digest() != before) == changes
    finally:
        (package / file).write_text(text, encoding="utf-8")
    assert digest() == before
    for cached in (code._KNOWN, code._STORED):
        cached.clear()
    code.remember(memory)
    assert digest() == before

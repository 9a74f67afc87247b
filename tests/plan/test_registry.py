"""The table of models is read as text with the same answers as from the classes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fivesentences.models as models
from fivesentences.plan.models import ModelSettings
from fivesentences.plan.registry import classes_in, layout_in

INIT = Path(models.__file__)

OWN = {
    "__init__.py": """
from fivesentences.models import blocks
from fivesentences.models.flat import Flat, Narrow
from fivesentences.models.deep import Deep as Deeper
MODELS: dict[str, type] = {"flat": Flat, "narrow": Narrow, "deep": Deeper, "elsewhere": blocks.Elsewhere}
""",
    "flat.py": """
from fivesentences.models.matching import Matcher
class Flat(Matcher):
    size = 3
class Grid(Matcher):
    layout = "grid"
class Narrow(Grid):
    layout: ClassVar[Literal["global", "grid"]] = "global"
""",
    "deep.py": """
from fivesentences.models.flat import Grid
class Deep(Grid, nn.Module):
    pass
""",
    "matching.py": """
class Matcher(nn.Module, ABC):
    layout: ClassVar[Literal["global", "grid"]] = "global"
""",
}


def test_the_text_says_what_the_classes_say():
    assert classes_in(INIT) == {name: kind.__name__ for name, kind in models.MODELS.items()}
    for name, kind in models.MODELS.items():
        assert layout_in(INIT, name) == kind.layout == ModelSettings(name=name).layout


@pytest.mark.parametrize(
    ("name", "layout"), [("flat", "global"), ("narrow", "global"), ("deep", "grid"), ("elsewhere", "global")]
)
def test_a_model_of_ones_own_has_the_layout_that_its_class_or_a_base_says(tmp_path, name, layout):
    for file, text in OWN.items():
        (tmp_path / file).write_text(text)
    assert layout_in(tmp_path / "__init__.py", name) == layout


def test_a_registered_class_says_its_layout(monkeypatch):
    monkeypatch.setitem(models.MODELS, "mine", type("Mine", (models.VSEPP,), {}))
    assert ModelSettings(name="mine").layout == "global"


def test_layouts_are_known_without_torch():
    code = (
        "import sys; sys.modules['torch'] = None; from fivesentences.plan.models import ModelSettings; "
        "print(*(ModelSettings(name=name).layout for name in ('vsepp', 'sgr')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "global grid\n"

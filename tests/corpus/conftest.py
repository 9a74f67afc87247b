"""Archives and refusals, for the tests of this folder."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fivesentences.errors import InputError


@pytest.fixture
def zipped(tmp_path: Path) -> Callable[..., Path]:
    """Writes a zip archive from the content of its entries: text, bytes, or what is to become JSON."""

    def zipped(name: str, members: dict[str, object]) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for entry, content in members.items():
                archive.writestr(entry, content if isinstance(content, str | bytes) else json.dumps(content))
        return tmp_path / name

    return zipped


@pytest.fixture
def refused() -> Callable:
    """Expects an ``InputError`` in the block, in one line that contains all the parts."""

    @contextmanager
    def refused(*parts: str) -> Iterator[None]:
        with pytest.raises(InputError) as error:
            yield
        assert all(part in str(error.value) for part in parts), str(error.value)
        assert "\n" not in str(error.value)

    return refused

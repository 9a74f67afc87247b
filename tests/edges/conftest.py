"""A folder with the files of a module's cases, and the function that carries one out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from edge_cases import Case, perform


@pytest.fixture(scope="module")
def prepared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the module's ``write_files`` has put what its cases read."""
    folder = tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2])
    request.module.write_files(folder)
    return folder


@pytest.fixture
def carry_out(prepared: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[[Case], None]:
    """Carries a case out in the prepared folder; see ``edge_cases.perform``."""
    monkeypatch.chdir(prepared)
    return lambda case: perform(case, prepared, run)

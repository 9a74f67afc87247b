"""Where tests find real data and parity fixtures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder that FIVESENTENCES_MIRROR names; a test that needs it is skipped where there is none."""
    folder = os.environ.get("FIVESENTENCES_MIRROR")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real data: set FIVESENTENCES_MIRROR to a folder that mirrors config/datasets.yaml")
    return Path(folder)


@pytest.fixture(scope="session")
def parity_folder() -> Path:
    """Numbers that released code returned: PARITY_FIXTURES, or the copies beside the tests."""
    return Path(os.environ.get("PARITY_FIXTURES") or Path(__file__).parent / "fixtures" / "parity")


@pytest.fixture(scope="session")
def java_jars() -> list[Path]:
    """The class path of SPICE's classes; a test that needs them is skipped where CoreNLP has not been fetched."""
    from fivesentences.semantics.java import jars

    if not jars.cached():
        pytest.skip("needs CoreNLP: `fivesentences jars` fetches it once (385 MB)")
    return jars.class_path()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Where a mirror is set, nothing that needs real data may be skipped: a skip there would hide a failure."""
    report = yield
    if report.skipped and item.get_closest_marker("data") and os.environ.get("FIVESENTENCES_MIRROR"):
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid}: skipped although FIVESENTENCES_MIRROR is set ({report.longrepr[-1]})"
    return report

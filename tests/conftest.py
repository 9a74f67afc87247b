"""Where tests find real data and parity fixtures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

JAVA_CASES = pytest.StashKey[list[str]]()


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
    """Where a mirror is set, nothing that needs real data may be skipped: a skip there would hide a failure.

    Likewise nothing that needs Java where FIVESENTENCES_JAVA is ``required``, as in the project's own gate.
    """
    report = yield
    for marker, variable, demanded in (
        ("data", "FIVESENTENCES_MIRROR", bool(os.environ.get("FIVESENTENCES_MIRROR"))),
        ("java", "FIVESENTENCES_JAVA", os.environ.get("FIVESENTENCES_JAVA") == "required"),
    ):
        if report.skipped and demanded and item.get_closest_marker(marker):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: skipped although {variable} is set ({report.longrepr[-1]})"
    if report.when == "call" and item.get_closest_marker("java"):
        item.config.stash[JAVA_CASES].append(report.outcome)
    return report


def pytest_configure(config: pytest.Config) -> None:
    """Make room for the outcomes of the java cases."""
    config.stash[JAVA_CASES] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say how many cases ran the original Java classes."""
    terminalreporter.write_line(f"java cases that ran: {len(config.stash[JAVA_CASES])}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where Java is required, a session of all tests without a single java case is a failure."""
    none_ran = not session.config.stash[JAVA_CASES] and session.exitstatus == pytest.ExitCode.OK
    if os.environ.get("FIVESENTENCES_JAVA") == "required" and none_ran:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

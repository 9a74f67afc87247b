"""Where tests find real data, parity fixtures, studies, the command line, and matrices in small blocks."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from host import running_host

if TYPE_CHECKING:
    from playwright.sync_api import Browser

    from fivesentences.reproduction.config.scales import Scale
    from fivesentences.reproduction.study.study import Study

ROOT = Path(__file__).parents[1]
# Markers whose cases are counted, and the variable that demands them.
COUNTED = {name: f"FIVESENTENCES_{name.upper()}" for name in ("browser", "java", "latex", "slurm")}
FIRST_TIER = "FIVESENTENCES_FIRST_TIER"  # "required" where README's command runs, in the project's own gate
# Turkish lower-cases I to a dotless i, German writes decimals with a comma.
LOCALES = ("tr_TR", "de_DE")
# Named from where pytest was started; tests run elsewhere, and some ask for these as they are imported.
for folder in ("FIVESENTENCES_MIRROR", "FIVESENTENCES_SITE", "PARITY_FIXTURES"):
    if os.environ.get(folder):
        os.environ[folder] = str(Path(os.environ[folder]).absolute())
# As training sets it, but before any test uses oneDNN: it reads this only once.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
# No test asserts how long something takes: a busy machine may stop an example for longer than Hypothesis allows.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
# Workers of pytest-xdist share the cores: each has one thread, and so have the programs that it starts.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Workers take files one by one: those with the most slow cases first, so that none is left alone with them."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


@pytest.fixture(scope="session", autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Start in an empty folder: results and downloads in the repository's folder change no test."""
    os.chdir(tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT


@pytest.fixture(scope="session")
def studies() -> dict[str, Study]:
    """The studies of the repository."""
    from fivesentences.reproduction.study.study import read_study

    return {path.stem: read_study(path) for path in sorted((ROOT / "config" / "studies").glob("*.yaml"))}


@pytest.fixture(scope="session")
def make_scale() -> Callable[..., Scale]:
    """A tiny scale, some of whose keys may be changed."""
    from fivesentences.reproduction.config.scales import Scale

    # Enough rows for most tests, and few enough to make results up quickly.
    losses = ["hardest", "all", "knn3", "max", "sum", "knn5", "knn10", "sam_paper_random", "sam_released_random"]
    losses += ["sam_released_closest", "averaged_random"]

    def made(**changes: Any) -> Scale:
        content: dict[str, Any] = {
            "scale": "tiny",
            "title": "Tiny",
            "roles": {"flickr30k": "scenes"},
            "datasets": {"scenes": {"loader": "scenes"}},
            "features": {"extractor": "grid_descriptors"},
            "seeds": [0, 1, 2],
            "training": {"epochs": {0.1: 5, 0.25: 4, 1.0: 3}},
            "studies": ["five_sentences", "knn_margin"],
            "keep": [{"model": "vsepp", "loss": losses}],
        }
        return Scale.model_validate(content | changes)

    return made


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
def parity(parity_folder: Path) -> Callable[[str], dict[str, Any]]:
    """The arrays of a file of released numbers, by its name without ``.npz``."""
    import numpy as np

    def read(name: str) -> dict[str, Any]:
        with np.load(parity_folder / f"{name}.npz", allow_pickle=False) as file:
            return {key: file[key] for key in file.files}

    return read


@dataclass(frozen=True)
class Said:
    """What a command ended with."""

    code: int
    out: str
    err: str


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> Callable[..., Said]:
    """Runs the command line: ``run("evaluate", "sims.npy")``."""
    from fivesentences import cli

    def call(*arguments: object) -> Said:
        named = {words for group in cli.COMMANDS.values() for words in group}
        begun = {" ".join(map(str, arguments[:count])) for count in (1, 2)} & named
        request.node.user_properties += [("command", words) for words in begun]
        monkeypatch.setattr("sys.argv", ["fivesentences", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main()
        return Said(int(end.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture
def unrar(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which something unpacks rar, for cases that do not unpack any."""
    program = tmp_path_factory.mktemp("programs") / "bsdtar"
    program.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A web server that downloads may come from; a failed attempt is repeated at once."""
    from fivesentences.corpus import download

    monkeypatch.setattr(download, "SECONDS_BETWEEN_ATTEMPTS", 0.0)
    with running_host() as host:
        yield host


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices are worked in blocks of a few rows or columns, in several threads."""
    for name, size in {
        "retrieval.blocks.ELEMENTS_PER_BLOCK": 1,
        "retrieval.blocks.ROWS_PER_BLOCK": 3,
        "retrieval.blocks.COLUMNS_PER_BLOCK": 4,
        "retrieval.gallery.CELLS_AT_ONCE": 1,
        "metrics.ranking.ELEMENTS_PER_BLOCK": 1,
        "metrics.ranking.QUERIES_PER_BLOCK": 3,
        "metrics.relevance.ELEMENTS_PER_BLOCK": 20,
        "metrics.ranking.ELEMENTS_AT_ONCE": 60,
    }.items():
        monkeypatch.setattr(f"fivesentences.{name}", size)


@pytest.fixture(params=["blocks as usual", "small blocks"])
def block_size(request: pytest.FixtureRequest) -> None:
    """Blocks of either size."""
    if request.param == "small blocks":
        request.getfixturevalue("small_blocks")


@pytest.fixture(scope="session")
def built_locales(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Environments of programs, by locale; tests are skipped where none can be built.

    Besides Turkish and German there is ``both``: Turkish letters, and numbers as in German.
    """
    folder = tmp_path_factory.mktemp("locales")
    for name in LOCALES:
        command = ["localedef", "-i", name, "-f", "UTF-8", str(folder / f"{name}.UTF-8")]
        if shutil.which("localedef") is None or subprocess.run(command, capture_output=True).returncode:
            pytest.skip(
                f"the locale {name} cannot be built: glibc's localedef and the definitions of locales are needed"
            )
    found = {name: {"LOCPATH": str(folder), "LC_ALL": f"{name}.UTF-8"} for name in LOCALES}
    both = {"LC_ALL": "", "LANG": "tr_TR.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"}
    return found | {"both": {"LOCPATH": str(folder), **both}}


@pytest.fixture(scope="session")
def java_jars() -> list[Path]:
    """The class path of SPICE's classes; a test that needs them is skipped where CoreNLP has not been fetched."""
    from fivesentences.semantics.java import jars

    if not jars.cached():
        pytest.skip("needs CoreNLP: `fivesentences jars` fetches it once (385 MB)")
    return jars.class_path()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a case whose marker ``program`` names programs of which none is on PATH."""
    for marker in item.iter_markers("program"):
        if not any(map(shutil.which, marker.args)):
            pytest.skip(f"needs {' or '.join(marker.args)} on PATH")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Where a mirror is set, nothing that needs real data may be skipped: a skip there would hide a failure.

    Likewise nothing that needs a browser, Java, LaTeX or SLURM where FIVESENTENCES_BROWSER, FIVESENTENCES_JAVA,
    FIVESENTENCES_LATEX or FIVESENTENCES_SLURM is ``required``, as in the project's own gate.
    """
    report = yield
    # Not by report.keywords, among which are names of folders too.
    report.user_properties += [("marker", marker) for marker in COUNTED if item.get_closest_marker(marker)]
    for marker, variable, demanded in (
        ("data", "FIVESENTENCES_MIRROR", bool(os.environ.get("FIVESENTENCES_MIRROR"))),
        *((name, variable, os.environ.get(variable) == "required") for name, variable in COUNTED.items()),
    ):
        if report.skipped and demanded and item.get_closest_marker(marker):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid}: skipped although {variable} is set ({report.longrepr[-1]})"
    return report


# Cases by marker, room and command, and skipped ones; workers of pytest-xdist report to the process that reports.
RAN = Counter[tuple[str, str]]()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count a case, in whichever process it ran."""
    if report.skipped:
        RAN["skipped", report.nodeid] += 1
    elif report.when == "call":
        RAN.update([*report.user_properties, ("room", report.nodeid.split("/")[1])])


def lacks_of_the_first_tier() -> list[str]:
    """What README's command must do and did not: skip no case, and touch every room and every command."""
    from fivesentences.cli import COMMANDS

    tested = {path.parent.name for path in (ROOT / "tests").glob("*/test_*.py")}
    rooms = tested & {path.name for path in (ROOT / "src" / "fivesentences").rglob("*") if path.is_dir()}
    ran = {kind: {name for one, name in RAN if one == kind} for kind in ("skipped", "room", "command")}
    commands = {words for group in COMMANDS.values() for words in group}
    lacks = {"skipped": ran["skipped"], "no case of": rooms - ran["room"], "no case runs": commands - ran["command"]}
    return [f"{what} {name}" for what, names in lacks.items() for name in sorted(names)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how many cases there were of each marker that is counted, and what the first tier lacks."""
    for marker in COUNTED:
        if number := RAN["marker", marker]:
            terminalreporter.write_line(f"{marker} cases that ran: {number}")
    if os.environ.get(FIRST_TIER) == "required":
        for lack in lacks_of_the_first_tier():
            terminalreporter.write_line(f"{FIRST_TIER} is set, but: {lack}")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session without a single case of a marker that is required, or one that is no whole first tier."""
    asked = {variable for variable in (FIRST_TIER, *COUNTED.values()) if os.environ.get(variable) == "required"}
    missing = any(variable in asked and not RAN["marker", marker] for marker, variable in COUNTED.items())
    missing |= FIRST_TIER in asked and bool(lacks_of_the_first_tier())
    if missing and session.exitstatus == pytest.ExitCode.OK and not hasattr(session.config, "workerinput"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_configure(config: pytest.Config) -> None:
    """Let all workers order sets alike, and find a cache for Snakemake."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "snakemake").expanduser()
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
    if not os.access(cache, os.W_OK):  # Snakemake cannot start without it
        os.environ["XDG_CACHE_HOME"] = str(ROOT / ".pytest_cache" / "home")
    if not hasattr(config, "workerinput"):
        # Some parameters of tests come out of sets, and workers of pytest-xdist must collect them in one order.
        os.environ.setdefault("PYTHONHASHSEED", "0")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium; a test that needs it is skipped where there is none."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("needs Debian's package chromium on PATH")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield chromium
        chromium.close()

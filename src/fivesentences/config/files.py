"""Where the files of ``config/`` are: the catalogue, the studies and the published tables.

In a checkout they are in ``config/``. An installed package has a copy of them (``pyproject.toml`` puts it there), so
that commands find them in any folder.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fivesentences.errors import InputError, did_you_mean

CATALOGUE = "datasets.yaml"
_SHIPPED = Path(__file__).parent / "shipped"
_CHECKOUT = Path(__file__).resolve().parents[3] / "config"
_BESIDE = ("studies", "claims", "published", CATALOGUE)  # what is looked for beside a scale
_WILDCARD = re.compile(r"\{\s*[.\w]+\s*(,.*)?\}", re.DOTALL)  # as Snakemake has it, which knows no escape


def project_folder() -> Path:
    """The folder of the project's own files: ``config/`` of the checkout, or its copy in an installed package."""
    return nearby(_SHIPPED if _SHIPPED.is_dir() else _CHECKOUT)


def nearby(path: Path | str) -> Path:
    """A path, relative to the working folder if it lies below that: results must not depend on where a checkout is."""
    path, here = Path(path), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


# Scales of earlier versions that are studies of flickr8k_evidence.yaml now, by the file's name without its suffix.
MOVED = {
    "flickr8k_choice": "evidence_choice",
    "flickr8k_choice_cvse": "evidence_cvse",
    "flickr8k_choice_limits": "evidence_choice_limits",
    "flickr8k_choice_lite0": "evidence_choice_lite0",
    "flickr8k_choice_phis": "evidence_choice_phis",
    "flickr8k_choice_schedule": "evidence_schedule",
    "flickr8k_choice_temperatures": "evidence_temperatures",
    "flickr8k_choice_vse_infinity": "evidence_vse_infinity",
    "flickr8k_claims": "evidence_inference, evidence_negatives",
    "flickr8k_daa": "evidence_daa_metrics",
    "flickr8k_models": "evidence_models",
    "flickr8k_noise": "evidence_noise",
    "flickr8k_rivals": "evidence_rivals",
    "flickr8k_rivals_limits": "evidence_rivals_limits",
}


def moved(path: Path) -> str | None:
    """Say which studies a missing scale of an earlier version is now; None for any other file."""
    studies = MOVED.get(path.stem)
    return None if studies is None else f"name flickr8k_evidence.yaml with studies: [{studies}], which it is now"


def config_file(name: str, beside: Path) -> Path:
    """Return a file of the configuration.

    Args:
        name: Such as ``studies/knn_margin.yaml`` or ``datasets.yaml``.
        beside: The folder of the scale.

    Returns:
        The first that there is in the folders of ``_folders``; that of the project if there is none.
    """
    return next((folder / name for folder in _folders(beside) if (folder / name).is_file()), project_folder() / name)


def _folders(beside: Path) -> list[Path]:
    """List the scale's folder, ``config`` here (a copy of the workflow has its own), and the project's."""
    folders = {folder.resolve(): folder for folder in (project_folder(), Path("config"), beside)}
    return list(folders.values())[::-1]


def claims_files(beside: Path) -> dict[str, Path]:
    """The files of ``claims/`` by their names without the suffix, each the first of its name; see ``config_file``."""
    found: dict[str, Path] = {}
    for folder in _folders(beside):
        for file in sorted((folder / "claims").glob("*.yaml")):
            found.setdefault(file.stem, file)
    return dict(sorted(found.items()))


def check_inputs(paths: Iterable[Path | str]) -> None:
    """Check paths that Snakemake is given as inputs of rules.

    Raises:
        InputError: If a path has a word in braces, which Snakemake would replace by a wildcard's value.
    """
    for path in paths:
        if found := _WILDCARD.search(str(path)):
            what = f"its name has {found[0]!r}, which Snakemake takes for a wildcard"
            raise InputError(what, where=str(path), cure="rename it, or name a link to it without these braces")


def check_in_shell(texts: Iterable[Path | str], twice: bool) -> None:
    """Check texts that Snakemake writes into commands for a shell, within quotes as Python's ``repr`` sets them.

    Args:
        texts: Paths, and entries of ``--config``.
        twice: Whether a second shell reads the command within double quotes, as the one that calls sbatch.

    Raises:
        InputError: If a shell would run a part of a text, or change it.
    """
    for text in map(str, texts):
        quoted = text if re.match("['\"].+['\"]", text) else repr(text)
        try:
            kept = shlex.split(quoted) == [text] and not (re.search("[$`]", text) and (twice or quoted[0] == '"'))
        except ValueError:  # a quote without its partner
            kept = False
        if not kept:
            what = "it has signs that a shell would run or change on the way to a job"
            raise InputError(
                what, where=text, cure="use a link, or other words, without $, `, \\, quotes and line breaks"
            )


def base_of(contents: Mapping[Path, Any]) -> str | None:
    """Return the file that a scale of several files extends, relative to the folder of the last one.

    Args:
        contents: Content of each file. What a file extends is relative to its own folder.

    Raises:
        InputError: If two files extend others, or one lies beside studies or tables that would not be found there.
    """
    *before, last = contents
    extending = [file for file, content in contents.items() if isinstance(content, dict) and "extends" in content]
    if len(extending) > 1:
        what = f"it extends another file, and so does {extending[0]}; only one of several --configfile may"
        raise InputError(what, where=extending[1], cure="let it extend that one, and name it alone")
    known = {folder.resolve() for folder in _folders(last.parent)}
    for file in before:
        found = [name for name in _BESIDE if (file.parent / name).exists()]
        if found and file.parent.resolve() not in known:
            what = f"{found[0]} beside it would not be read, since it is not the last --configfile"
            raise InputError(what, where=file, cure=f"move {last.name} into its folder")
    if not extending or not isinstance(base := contents[extending[0]]["extends"], str):
        return None
    return os.path.relpath(extending[0].parent / base, last.parent)


def study_file(study: str, beside: Path, scale: str) -> Path:
    """Return the file of a study that a scale names, looked for as in ``config_file``.

    Args:
        study: Its name.
        beside: The folder of the scale.
        scale: The name of the scale, for the error.

    Raises:
        InputError: If it is nowhere.
    """
    path = config_file(f"studies/{study}.yaml", beside)
    if path.is_file():
        return path
    folders = [folder / "studies" for folder in _folders(beside)]
    known = sorted({file.stem for folder in folders for file in folder.glob("*.yaml")})
    hint = did_you_mean(study, known) or f"there are: {', '.join(known) or 'none'}."
    places = " nor in ".join(map(str, folders))
    raise InputError(f"scale {scale}: studies names '{study}', but there is no {study}.yaml in {places}; {hint}")

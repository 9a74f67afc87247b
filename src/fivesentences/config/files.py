"""Where the files of ``config/`` are: the catalogue, the studies and the published tables.

In a checkout they are in ``config/``. An installed package has a copy of them (``pyproject.toml`` puts it there), so
that commands find them in any folder.
"""

from __future__ import annotations

from pathlib import Path

from fivesentences.errors import InputError, did_you_mean

CATALOGUE = "datasets.yaml"
_SHIPPED = Path(__file__).parent / "shipped"
_CHECKOUT = Path(__file__).resolve().parents[3] / "config"


def project_folder() -> Path:
    """The folder of the project's own files: ``config/`` of the checkout, or its copy in an installed package."""
    return nearby(_SHIPPED if _SHIPPED.is_dir() else _CHECKOUT)


def nearby(path: Path | str) -> Path:
    """A path, relative to the working folder if it lies below that: results must not depend on where a checkout is."""
    path, here = Path(path), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


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

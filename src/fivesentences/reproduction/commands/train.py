"""`fivesentences train`: runs without the workflow, into the folders where it expects them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from fivesentences.choices import repeat_in
from fivesentences.commands.arguments import Device, Quiet, named
from fivesentences.config.datasets import Catalogue
from fivesentences.config.reading import check, extended
from fivesentences.documents import read_yaml
from fivesentences.errors import InputError, need
from fivesentences.reproduction.plan.places import Places
from fivesentences.reproduction.plan.plan import Plan, plan_of, scale_of
from fivesentences.storage import check_writable
from fivesentences.training.spec import RunFile, RunSpec


def train(
    what: Annotated[Path, typer.Argument(metavar="RUN.yaml|SCALE.yaml")],
    *,
    out: Annotated[Path | None, typer.Option("--out", "-o")] = None,
    corpus: Path | None = None,
    features: Path | None = None,
    phi: Annotated[list[str] | None, typer.Option(metavar="NAME=FILE")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="PATTERN")] = None,
    results: Path = Path("results"),
    device: Device = "cpu",
    tensorboard: bool = False,
    list_only: Annotated[bool, typer.Option("--list")] = False,
    quiet: Quiet = False,
) -> None:
    """Train one run, or every run of a scale; what was stopped is resumed.

    A run is one model, one loss and one seed. A scale is a configuration file
    that says for which data and settings the tables of a study are made; its runs
    of category retrieval are among them.

    A finished run is not trained again while its settings, its inputs and the
    code are the same; remove its finished.json to train it again. The workflow
    finds the runs below --results.

    Args:
        what: Settings of a run, its run.yaml, or a scale (config/*.yaml) with all its runs.
        out: Folder of a single run; default: below --results.
        corpus: Corpus of a single run, .parquet.
        features: Features of a single run.
        phi: Phi of training captions that the loss of a single run reads.
        only: Runs of a scale whose name fits, such as '*/cvse*'.
        results: Folder where the workflow keeps its results.
        device: Where models are trained.
        tensorboard: Also write TensorBoard events into the folder of a run.
        list_only: List the runs, train none.
        quiet: No progress bar.

    Examples:

        fivesentences train results/training/SOME/RUN/run.yaml --out again

        fivesentences train config/flickr8k.yaml --only '*/cvse*/fraction=0.1/*' --device cuda
    """
    for package in ("torch", "safetensors") if not list_only else ():
        need(package, "train", "training")
    content = extended(given := read_yaml(what), what)
    places = Places(results)
    if not isinstance(content, dict):
        raise InputError(
            "it is empty" if content is None else "it holds no keys and values",
            where=what,
            cure="give a scale (its first keys are scale, title, roles, datasets) or a run (dataset, features, model)",
        )
    if "scale" in content:
        for option, value in {"--out": out, "--corpus": corpus, "--features": features, "--phi": phi}.items():
            if value:
                raise InputError(f"{option} is for a single run, but {what} is a scale; leave it out.")
        scale = scale_of(given, what)
        plan = plan_of(scale, what.parent, Catalogue(datasets={}), places)
        names = _fitting([*plan.runs, *plan.subspaces.runs], only, what)
        if list_only:
            print("\n".join(names))
            return
        runs, subspaces = _runs_of(plan, names, what)
        tensorboard = tensorboard or scale.training.tensorboard
        at_once = scale.training.runs_at_once
    else:
        if only:
            raise InputError(f"--only picks runs of a scale, but {what} is a single run; leave it out.")
        if "run" in content:
            noted = check(RunFile, content, str(what))
            spec, corpus, features = noted.run, corpus or Path(noted.corpus), features or Path(noted.features)
        else:
            spec = check(RunSpec, content, str(what))
        if list_only:
            print(spec.name)
            return
        folder = out or places.run(spec.name)
        files = _phi_files(places, spec) | _named_phis(phi or [])
        check_writable(folder / "run.yaml", new_folder=True)
        corpus, features = corpus or places.corpus(spec.dataset), features or _features(places, spec)
        runs, subspaces, at_once = [(spec, folder, corpus, features, files)], [], 1
    if runs:
        from fivesentences.training import Run, train_runs  # needs torch

        train_runs([Run(*run) for run in runs], device=device, tensorboard=tensorboard, at_once=at_once)
    for of_job, documents, image, text in subspaces:
        from fivesentences.reproduction.categories.training.run import train_subspaces  # needs torch

        train_subspaces(of_job, documents=documents, image=image, text=text)


def _runs_of(plan: Plan, names: Sequence[str], scale: Path) -> tuple[list[Any], list[Any]]:
    """Return the runs of matching, and those of category retrieval by the jobs of the workflow, with what they read."""
    places, specs = plan.places, [plan.runs[name] for name in names if name in plan.runs]
    read, jobs = plan.report.inputs_of_training(specs), []
    for job in plan.subspaces.jobs_of([name for name in names if name in plan.subspaces.runs]):
        name = plan.subspaces.jobs[job].dataset
        image, text = places.document_vectors(name, "image"), next(iter(plan.subspaces.vectors_of_texts(name)), None)
        of_job = [one for one in plan.subspaces.runs_of_job(job) if one.run.name in names]
        jobs.append((of_job, places.documents(name), image, text))
        read += [*filter(None, jobs[-1][1:]), *(run.division for run in of_job)]
    _check_inputs(read, plan, scale)
    runs = [
        (one, places.run(one.name), places.corpus(one.dataset), plan.features.of_run(one), _phi_files(places, one))
        for one in specs
    ]
    return runs, jobs


def _check_inputs(files: Iterable[Path], plan: Plan, scale: Path) -> None:
    """Look for every file that the runs read, before hours are spent on some of them.

    Prepared CIDEr may be missing: a run then computes it.

    Raises:
        InputError: If one is missing; how the workflow makes it.
    """
    missing = [path for path in dict.fromkeys(files) if path.suffix != ".npz" and not path.is_file()]
    if missing:
        more = f" (and {len(missing) - 1} more are missing)" if len(missing) > 1 else ""
        targets = " ".join(str(Path("results") / path.relative_to(plan.places.results)) for path in missing)
        raise InputError(
            f"{missing[0]}: there is no such file{more}; make it with the workflow: "
            f"uv run snakemake {targets} --configfile {scale}."
        )


def _features(places: Places, spec: RunSpec) -> Path:
    """Return the features that are there, of photographs or of a precomp folder."""
    described = places.features(spec.dataset, spec.features, precomp=True)
    return described if described.is_file() else places.features(spec.dataset, spec.features)


def _phi_files(places: Places, spec: RunSpec) -> dict[str, Path]:
    """Return the files that are there; what is missing is computed or missed by the objective, which says so.

    Where the matrix of a fraction is missing, that of the whole training split serves, unless the run has only some
    captions of each image: references would be others.
    """
    found = {}
    for name, path in places.phi_files(spec).items():
        whole = places.phi(spec.dataset, "train", f"{name}.npy")
        may = spec.captions_per_image is None and path.suffix == ".npy"
        found[name] = path if path.is_file() or not may else whole
    return {name: path for name, path in found.items() if path.is_file()}


def _fitting(names: Sequence[str], patterns: list[str] | None, what: Path) -> list[str]:
    """Return names that fit one of the patterns; all without patterns.

    Raises:
        InputError: If a pattern fits none.
    """
    for pattern in patterns or ():
        if not fnmatch.filter(names, pattern):
            raise InputError(
                f"--only is '{pattern}', which no run of {what} fits; the first of {len(names)} is "
                f"'{next(iter(names), '')}' (--list names all)."
            )
    return [name for name in names if not patterns or any(fnmatch.fnmatchcase(name, one) for one in patterns)]


def _named_phis(given: list[str]) -> dict[str, Path]:
    pairs = [named(one) for one in given]
    for one, (name, file) in zip(given, pairs, strict=True):
        if not name or not file:
            raise InputError(f"--phi is '{one}'; give NAME=FILE, such as spice=spice.npy.")
    if twice := repeat_in([name for name, _ in pairs]):
        first, second = (given[place] for place in twice)
        raise InputError(f"'{pairs[twice[0]][0]}' is given twice ({first}, {second})", where="--phi", cure="keep one")
    return {name: Path(file) for name, file in pairs}

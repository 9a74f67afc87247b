"""`fivesentences train`: runs without the workflow, into the folders where it expects them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.sheets import quietly
from fivesentences.errors import InputError, need
from fivesentences.storage import check_writable

if TYPE_CHECKING:
    from fivesentences.plan.places import Places
    from fivesentences.plan.plan import Plan
    from fivesentences.study.runs import PlacedRun, RunSpec


def train(
    what: Annotated[
        Path,
        typer.Argument(
            metavar="RUN.yaml|SCALE.yaml",
            help="settings of a run, its run.yaml, or a scale (config/*.yaml) with all its runs",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="of a single run; default: below --results")
    ] = None,
    corpus: Annotated[Path | None, typer.Option(metavar="FILE", help="of a single run: its corpus, .parquet")] = None,
    features: Annotated[Path | None, typer.Option(metavar="FILE", help="of a single run: its features")] = None,
    phi: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="of a single run: phi of training captions that the loss reads"),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="of a scale: runs whose name fits, such as '*/cvse*'")
    ] = None,
    results: Annotated[Path, typer.Option(metavar="FOLDER", help="where the workflow keeps its results")] = Path(
        "results"
    ),
    device: Annotated[str, typer.Option(help="cpu, cuda or auto")] = "cpu",
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="also write TensorBoard events into the folder of a run")
    ] = False,
    list_only: Annotated[bool, typer.Option("--list", help="list the runs, train none")] = False,
    quiet: given.Quiet = False,
) -> None:
    """Train one run, or every run of a scale; what was stopped is resumed.

    A run is one model, one loss and one seed. A scale is a configuration file
    that says for which data and settings the tables of a study are made; its runs
    of category retrieval are among them.

    A finished run is not trained again while its settings, its inputs and the
    code are the same; remove its finished.json to train it again. The workflow
    finds the runs below --results.

    Examples:

        fivesentences train results/training/SOME/RUN/run.yaml --out again

        fivesentences train config/flickr8k_gpu.yaml --only '*/cvse*/fraction=0.1/*' --device cuda
    """
    from fivesentences.config.datasets import Catalogue
    from fivesentences.config.reading import check, extended
    from fivesentences.documents import read_yaml
    from fivesentences.plan.places import Places
    from fivesentences.plan.plan import plan_of, scale_of
    from fivesentences.study.runs import RunSpec

    if not list_only:
        need("torch", "train", "training")
        need("safetensors", "train", "training")
    given = read_yaml(what)
    content = extended(given, what)
    places = Places(results)
    if not isinstance(content, dict):
        raise InputError(
            "it is empty" if content is None else "it holds no keys and values",
            where=what,
            cure="give a scale (its first keys are scale, title, roles, datasets) or a run (dataset, features, model)",
        )
    if isinstance(content, dict) and "scale" in content:
        for option, value in {"--out": out, "--corpus": corpus, "--features": features, "--phi": phi}.items():
            if value:
                raise InputError(f"{option} is for a single run, but {what} is a scale; leave it out.")
        scale = scale_of(given, what)
        plan = plan_of(scale, what.parent, Catalogue(datasets={}), places)
        names = _fitting([*plan.runs, *plan.subspaces.runs], only, what)
        if list_only:
            print("\n".join(names))
            return
        specs = {name: plan.runs[name] for name in names if name in plan.runs}
        subspaces = _subspace_jobs([name for name in names if name in plan.subspaces.runs], plan)
        _check_inputs(plan.read_by(specs.values()), plan, what)
        _check_inputs(dict.fromkeys(path for job in subspaces for path in job.read), plan, what)
        with quietly(quiet):
            if specs:
                _train_all(specs, plan, device, tensorboard or scale.training.tensorboard)
            _train_subspaces(subspaces)
        return
    if only:
        raise InputError(f"--only picks runs of a scale, but {what} is a single run; leave it out.")
    if isinstance(content, dict) and "run" in content:
        from fivesentences.study.runs import RunFile

        noted = check(RunFile, content, str(what))
        spec, corpus, features = noted.run, corpus or Path(noted.corpus), features or Path(noted.features)
    else:
        spec = check(RunSpec, content, str(what))
    if list_only:
        print(spec.name)
        return
    phi_files, folder = _named(phi), out or places.run(spec.name)
    check_writable(folder / "run.yaml")
    with quietly(quiet):
        _train_one(spec, folder, corpus, features, phi_files, places, device, tensorboard)


def _train_one(
    spec: RunSpec,
    folder: Path,
    corpus: Path | None,
    features: Path | None,
    phi_files: dict[str, Path],
    places: Places,
    device: str,
    tensorboard: bool,
) -> None:
    from fivesentences.training import Run, train_runs

    corpus = corpus or places.corpus(spec.dataset)
    features = features or _features(places, spec)
    files = _phi_files(places, spec) | phi_files
    train_runs([Run(spec, folder, corpus, features, files)], device=device, tensorboard=tensorboard)


def _train_all(specs: Mapping[str, RunSpec], plan: Plan, device: str, tensorboard: bool) -> None:
    from fivesentences.training import Run, train_runs

    places = plan.places
    runs = [
        Run(spec, places.run(name), places.corpus(spec.dataset), plan.features_of(spec), _phi_files(places, spec))
        for name, spec in specs.items()
    ]
    train_runs(runs, device=device, tensorboard=tensorboard)


@dataclass(frozen=True)
class _SubspaceJob:
    """Some runs of category retrieval on one division of some documents, and what they read."""

    runs: list[PlacedRun]
    documents: Path
    image: Path
    text: Path | None

    @property
    def read(self) -> list[Path]:
        divisions = dict.fromkeys(run.division for run in self.runs)
        return [self.documents, self.image, *([] if self.text is None else [self.text]), *divisions]


def _subspace_jobs(names: Sequence[str], plan: Plan) -> list[_SubspaceJob]:
    """The runs by the jobs of the workflow, whose runs share documents and division."""
    found = []
    for job in plan.subspaces.jobs_of(names):
        documents, places = plan.subspaces.jobs[job].dataset, plan.places
        runs = [one for one in plan.subspaces_of_job(job) if one.run.name in names]
        image, text = places.document_vectors(documents, "image"), next(iter(plan.vectors_of_texts(documents)), None)
        found.append(_SubspaceJob(runs, places.documents(documents), image, text))
    return found


def _train_subspaces(jobs: Sequence[_SubspaceJob]) -> None:
    from fivesentences.training.subspaces.run import train_subspaces

    for job in jobs:
        train_subspaces(job.runs, documents=job.documents, image=job.image, text=job.text)


def _check_inputs(files: Iterable[Path], plan: Plan, scale: Path) -> None:
    """Look for every file that the runs read, before hours are spent on some of them.

    Prepared CIDEr may be missing: a run then computes it.

    Raises:
        InputError: If one is missing; how the workflow makes it.
    """
    missing = [path for path in files if path.suffix != ".npz" and not path.is_file()]
    if missing:
        more = f" (and {len(missing) - 1} more are missing)" if len(missing) > 1 else ""
        targets = " ".join(str(Path("results") / path.relative_to(plan.places.results)) for path in missing)
        raise InputError(
            f"{missing[0]}: there is no such file{more}; make it with the workflow: "
            f"uv run snakemake {targets} --configfile {scale}."
        )


def _features(places: Places, spec: RunSpec) -> Path:
    """Those that are there, of photographs or of a precomp folder."""
    described = places.features(spec.dataset, spec.features, precomp=True)
    return described if described.is_file() else places.features(spec.dataset, spec.features)


def _phi_files(places: Places, spec: RunSpec) -> dict[str, Path]:
    """Those that are there; what is missing is computed or missed by the objective, which says so.

    Where the matrix of a fraction is missing, that of the whole training split serves, unless the run has only some
    captions of each image: references would be others.
    """
    whole = {name: places.phi(spec.dataset, "train", f"{name}.npy") for name in spec.loss.phis}
    may = spec.captions_per_image is None
    files = {
        name: whole[name] if may and path.suffix == ".npy" and not path.is_file() else path
        for name, path in places.phi_files(spec).items()
    }
    return {name: path for name, path in files.items() if path.is_file()}


def _fitting(names: Sequence[str], patterns: list[str] | None, what: Path) -> list[str]:
    """Names that fit one of the patterns; all without patterns.

    Raises:
        InputError: If a pattern fits none.
    """
    if not patterns:
        return list(names)
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            raise InputError(
                f"--only is '{pattern}', which no run of {what} fits; the first of {len(names)} is "
                f"'{next(iter(names), '')}' (--list names all)."
            )
    return [name for name in names if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


def _named(files: list[str] | None) -> dict[str, Path]:
    named = {}
    for file in files or ():
        name, sign, path = file.partition("=")
        if not sign or not name or not path:
            raise InputError(f"--phi is '{file}'; give NAME=FILE, such as spice=spice.npy.")
        named[name] = Path(path)
    return named

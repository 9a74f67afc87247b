"""The manifest of a scale: what its numbers were made of, and what was made of them, so that results can be compared.

It has no dates and no times of files: made again of the same on the same machine, it differs in its seconds alone.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import platform
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from packaging.requirements import Requirement
from pydantic import BaseModel

from fivesentences.documents import read_formatted, read_json
from fivesentences.errors import InputError
from fivesentences.features.files import read_source
from fivesentences.machine import hardware
from fivesentences.reproduction.config.findings import Finding
from fivesentences.reproduction.config.scales import Scale
from fivesentences.reproduction.evaluation.tidy import read_tidy
from fivesentences.reproduction.paper.numbers.results import DIGITS, headline_of, kind_of
from fivesentences.reproduction.paper.numbers.selected import interval_of
from fivesentences.reproduction.paper.text.names import grouped
from fivesentences.reproduction.plan.jobs import COMPLETE
from fivesentences.reproduction.plan.plan import Plan
from fivesentences.seals import check_seal
from fivesentences.semantics.phi_file import note_beside, read_phi_note
from fivesentences.storage import sha256_of, write_json

FORMAT, FORMAT_OF_CHECKSUMS = "fivesentences.manifest 1", "fivesentences.digests 1"
CHECKSUMS = Path("logs/checksums.json")  # of the results of a folder
PARTS = ("numbers", "inputs", "made", "site")  # of a manifest, with the SHA-256 of files
CURE = "make it with the workflow or, from a remote of whoever shares it, fetch it with dvc pull"
BESIDE = ("headline", "settings", "metrics")  # files beside it; the first two are parts of it
KEPT_OF_WEIGHTS = ("library", "weights")  # of where features come from
KEPT_OF_PHI = ("tokenisation", "idf_corpus", "tuples", "shape", "version")  # of what a matrix was made of
TRAINING = ("train", "train_subspaces")  # rules of whose jobs each is listed
Left = Mapping[str, Mapping[str, Path]]  # benchmark file of each job that left one, by rule and name


def write_manifest(plan: Plan, scale: str, left: Left, out: Path) -> None:
    """Write ``manifest.json`` and beside it ``headline.json``, ``settings.json`` and ``metrics.json``.

    Args:
        plan: Plan of the scale.
        scale: Its name, or that of its complete form.
        left: Files in which jobs left their seconds.
        out: The manifest. If it exists already, checksums of files that are not here any more are taken from it: who
            draws figures from numbers that others sent has none of their downloads.

    Raises:
        InputError: If a table of numbers is damaged.
    """
    numbers = plan.report.every_number(scale)
    earlier: Mapping[str, Any] = read_formatted(out, FORMAT, CURE) if out.is_file() else {}
    # What nobody here made (downloads, a user's own files, studies, published numbers), and what was made of it.
    runs = [plan.all_runs[name] for name in plan.trained_at(scale)]
    made = {*map(plan.places.corpus, plan.scale.datasets), *map(plan.features.of_run, runs), *_phi_files(plan)}
    files = {"inputs": plan.files_no_rule_makes(scale), "made": made, "numbers": numbers}
    found = checksums(path for paths in files.values() for path in paths) | digests_of_studies(plan)
    named = {path: str(_in_project(path, plan.config)) for path in found}
    sums = {
        kind: {named[path]: found[path] or earlier.get(kind, {}).get(named[path]) for path in sorted(paths)}
        for kind, paths in files.items()
    }
    # Other jobs may have been made for the target `complete`.
    seconds, trained = _taken(left, without="" if scale != plan.scale.scale else COMPLETE)
    content: dict[str, Any] = {
        "format": FORMAT,
        "scale": scale,
        "git": revision(plan.config),
        "versions": versions(),
        "hardware": hardware(),
        "seeds": seeds_of(plan, scale),
        "settings": settings_of(plan.scales[scale]),
        "inputs": sums["inputs"],
        "made": sums["made"],
        "weights": _weights(plan, scale) or earlier.get("weights", {}),
        "numbers": sums["numbers"],
        "headline": _headline(plan, scale),
        "phi": _phi(plan) or earlier.get("phi", {}),
        "seconds": seconds or earlier.get("seconds", {}),
        "trained": trained or earlier.get("trained", {}),
        "made_apart": earlier.get("made_apart", {}),
    }
    metrics = metrics_of(content["headline"], plan.scales[scale].finding, out.parent)
    for file, held in zip(BESIDE, (content["headline"], content["settings"], metrics), strict=True):
        write_json(out.with_name(f"{file}.json"), held, sealed=False)
    reasons = reasons_of(content)
    content["reasons"] = reasons | {name: why for name, why in earlier.get("reasons", {}).items() if name in reasons}
    write_json(out, content | {"site": _digests_of_site(plan, scale, out, earlier)})


def reasons_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return a sentence for each file that has no SHA-256, or was changed and not committed, by its path."""
    unknown = (name for part in ("inputs", "made", "numbers") for name, digest in content[part].items() if not digest)
    changed = set(content["git"]["changed"] or ())

    def reason(name: str) -> str:
        if name not in changed:
            return "Not here when the manifest was written, so that its SHA-256 is unknown."
        made = name.startswith("results/")
        return f"{'Made again' if made else 'Edited'}, and not committed before the manifest was written."

    return {name: reason(name) for name in sorted({*unknown, *changed})}


def metrics_of(headline: Mapping[str, Any], finding: Finding | None, folder: Path) -> dict[str, float]:
    """Return a few numbers that every scale has, so that ``dvc metrics show`` fits a screen.

    Args:
        headline: See ``headline_of``.
        finding: The finding of the scale, or None.
        folder: Folder of the scale's tables.

    Returns:
        Runs, the lowest and the highest mean Rsum and Nsum of a kind of run, and the first difference that the
        finding's headline rests on, with its interval, if its table is there.
    """
    kinds = list[Mapping[str, Any]]()

    def gather(place: Mapping[str, Any]) -> None:
        if "seeds" in place:
            kinds.append(place)
        else:
            for inner in place.values():
                gather(inner)

    gather(headline)
    found: dict[str, float] = {"runs": sum(kind["seeds"] for kind in kinds)} if kinds else {}
    for name in ("Rsum", "Nsum"):
        if values := [kind[name] for kind in kinds if name in kind]:
            found |= {f"{name} from": min(values), f"{name} to": max(values)}
    if finding is not None and finding.rests_on:
        first = next(iter(finding.rests_on.values()))[0]
        if (folder / f"{finding.table_of(first)}.csv").is_file():  # who makes some tables only may not have it
            value, low, high = interval_of(finding, first, folder)
            found |= {"finding": value, "low": low, "high": high}
    return {name: round(number, DIGITS) for name, number in found.items()}


def _headline(plan: Plan, scale: str) -> dict[str, Any]:
    """Return means of the runs of a scale, and by the name of each study with settings of its own those of its runs."""
    found: dict[str, Any] = {}
    for pool in plan.pools_of(scale):
        if plan.evaluated_in(pool):
            means, study = headline_of(read_tidy(plan.places.tidy(pool))), pool.partition("/")[2]
            found |= {study: means} if study else means
    return found


def _digests_of_site(plan: Plan, scale: str, manifest: Path, earlier: Mapping[str, Any]) -> dict[str, str]:
    """Return SHA-256 of tables, figures, claims and pages, by path; an earlier one of what is not here."""
    paths = [*plan.report.kept_site(scale), *(manifest.with_name(f"{file}.json") for file in BESIDE)]
    named = {str(_in_project(path, plan.config)): path for path in sorted(set(paths))}
    known = earlier.get("site", {})
    # The workflow leaves an empty file for the picture of a figure without data.
    here = {name: sha256_of(path) for name, path in named.items() if path.is_file() and path.stat().st_size}
    return here | {name: known[name] for name, path in named.items() if name in known and not path.exists()}


def record_site(plan: Plan) -> None:
    """Write into the manifest of a scale, if it has one, what its tables, figures and pages are now.

    Raises:
        InputError: If the manifest is damaged.
    """
    path = plan.places.manifest(plan.scale.scale)
    if path.is_file():
        content = read_manifest(path)
        site = _digests_of_site(plan, plan.scale.scale, path, content)
        if site != content.get("site"):
            write_json(path, content | {"site": site})


def altered(paths: Iterable[Path], plan: Plan) -> list[InputError]:
    """Compare files that are to be read with the manifest of a scale.

    Args:
        paths: Numbers, or files of the scale's site; those that are not here, or that the manifest does not name, are
            not compared.
        plan: Plan of the scale.

    Returns:
        One error for each file that differs; none where the scale has no manifest.

    Raises:
        InputError: If the manifest is damaged.
    """
    path = plan.places.manifest(plan.scale.scale)
    manifest = read_manifest(path) if path.is_file() else {}
    known = {name: digest for part in PARTS for name, digest in manifest.get(part, {}).items() if digest}
    named = {str(_in_project(one, plan.config)): one for one in paths}
    return [
        _not_as_made(one, plan)
        for name, one in named.items()
        if name in known and one.is_file() and sha256_of(one) != known[name]
    ]


def _not_as_made(path: Path, plan: Plan) -> InputError:
    """Return the error about a file of results that differs from the manifest."""
    scale = plan.scale.scale
    again = f"make all of {scale} again (uv run snakemake --configfile {plan.config / scale}.yaml)"
    what = f"it is not the file that {plan.places.manifest(scale)} names"
    return InputError(what, where=path, cure=f"restore it (git checkout {path}, or dvc pull), or {again}")


def checksums(paths: Iterable[Path]) -> dict[Path, str | None]:
    """Compute SHA-256 of files, or of the names and contents in folders; None where nothing is.

    Each file is read once, as long as its size and time stay: ``CHECKSUMS`` keeps what was found.
    """
    known: dict[str, list[Any]] = read_json(CHECKSUMS)["files"] if CHECKSUMS.is_file() else {}
    before = dict(known)

    def of(path: Path) -> str | None:
        if path.is_dir():
            parts = (f"{one.relative_to(path)}\0{of(one)}\0" for one in sorted(path.rglob("*")) if one.is_file())
            return hashlib.sha256("".join(parts).encode()).hexdigest()
        if not path.is_file():
            return None
        state = [path.stat().st_size, path.stat().st_mtime_ns]
        if known.get(str(path), [])[:2] != state:
            known[str(path)] = [*state, sha256_of(path)]
        return str(known[str(path)][2])

    found = {path: of(path) for path in paths}
    if known != before:
        write_json(CHECKSUMS, {"format": FORMAT_OF_CHECKSUMS, "files": known})
    return found


def digests_of_studies(plan: Plan) -> dict[Path, str | None]:
    """Return the digest of the file of each study of a plan, and of its claims, without its finding."""
    studies = {one.claims.study: one.study for one in plan.claims} | plan.studies
    return {plan.study_file(name): study.digest() for name, study in studies.items()}


def _of_studies(plan: Plan, known: Mapping[Path, Any]) -> dict[Path, str | None]:
    """Return the digests of studies, by their paths as a manifest has them: the scale may be named by another one."""
    found = {path.resolve(): digest for path, digest in digests_of_studies(plan).items()}
    return {path: found[path.resolve()] for path in known if path.resolve() in found}


def _digest(path: Path) -> str | None:
    return sha256_of(path) if path.is_file() else None


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a manifest.

    Raises:
        InputError: If it is missing or is no manifest.
    """
    if not path.is_file():
        raise InputError("there is no such file", where=path, cure=CURE)
    return read_formatted(path, FORMAT, CURE)


def _in_project(path: Path, config: Path) -> Path:
    """Return a file by its place in the project, since a manifest holds no path of the machine that made it."""
    root = config.parent
    return path.relative_to(root) if root.is_absolute() and path.is_relative_to(root) else path


def _here(path: Path, config: Path) -> Path:
    """Find a file of a manifest: where we are, or in the project."""
    other = config.parent / path
    return other if other.exists() and not path.exists() else path


def differences_from(manifest: Mapping[str, Any], plan: Plan) -> list[str]:
    """Word what differs here from a manifest: settings, and files.

    Downloads, captions, tables and figures, and values per image, query or pair, count only where they are. Claims do
    not: no number is made of them, and verdicts are kept with the claims that they are of.
    """
    ours, theirs = settings_of(plan.scale), _with_defaults(manifest.get("settings", {}), plan.scale)
    differing = [f"the setting {key} is not that of the manifest" for key in ours if ours[key] != theirs.get(key)]
    scale, variants = plan.scale.scale, plan.datasets.variants()
    dispensable = set(plan.report.large_or_worded_values(scale))
    claims = {path.resolve() for path in plan.claims_files}  # the scale may be named by another path than before
    for pool in plan.pools_of(scale):
        if plan.places.tidy(pool).exists():
            dispensable.update(plan.metrics_of(plan.evaluated_in(pool)))
    for part in PARTS:
        known = {_here(Path(path), plan.config): digest for path, digest in manifest.get(part, {}).items()}
        known = {path: digest for path, digest in known.items() if path.resolve() not in claims}
        of_results = part in ("numbers", "site")  # small, and compared whatever their times
        found = {path: _digest(path) for path in known} if of_results else checksums(known) | _of_studies(plan, known)
        for path, digest in found.items():
            if digest is None:
                needed = part == "numbers" and path not in dispensable
                differing += [f"{path} is not here; {CURE}"] if needed else []
            elif known[path] not in (None, digest):
                wrong = f"{path} is not the file that the numbers were made of"
                if (variant := variants.get(str(path), {}).get(known[path] or "")) is not None:
                    wrong += f", which was {variant}: expect other features and other numbers"
                differing.append(str(_not_as_made(path, plan)) if of_results else wrong)
    return differing


def _with_defaults(settings: Any, ours: Any) -> Any:
    """Complete the settings of a manifest: keys that were added since then had their defaults there.

    Args:
        settings: Plain data.
        ours: What it is compared with, which tells which keys there are now.
    """
    if isinstance(ours, BaseModel) and isinstance(settings, Mapping):
        fields, shown = type(ours).model_fields, ours.model_dump(mode="json")  # some are left out at their defaults
        added = {key: fields[key].get_default(call_default_factory=True) for key in shown if key not in settings}
        plain = {key: one.model_dump(mode="json") if isinstance(one, BaseModel) else one for key, one in added.items()}
        return plain | {key: _with_defaults(value, getattr(ours, key, None)) for key, value in settings.items()}
    if isinstance(ours, Mapping) and isinstance(settings, Mapping):
        return {key: _with_defaults(value, ours.get(key)) for key, value in settings.items()}
    if isinstance(ours, list) and isinstance(settings, list) and len(ours) == len(settings):
        return [_with_defaults(value, one) for value, one in zip(settings, ours, strict=True)]
    return settings


def settings_of(scale: Scale) -> dict[str, Any]:
    """Return what numbers of a scale depend on, defaults included: all but its finding, which is read from them."""
    return scale.model_dump(mode="json", exclude={"finding"})


def revision(folder: Path) -> dict[str, Any]:
    """Return the revision of git of a folder, and which of its files were changed; null where there is no git."""

    def said(*arguments: str) -> str | None:
        try:
            command = ["git", "-C", str(folder), *arguments]
            done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout

    head, changed = said("rev-parse", "HEAD"), said("status", "--porcelain", "--untracked-files=no")
    return {
        "revision": None if head is None else head.strip(),
        "changed": None if changed is None else sorted(line[3:] for line in changed.splitlines()),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python, of this package and of what it is installed with."""
    needed = {Requirement(line).name for line in importlib.metadata.requires("fivesentences") or []}
    found = {"python": platform.python_version()}
    for name in ("fivesentences", *needed):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # of an extra that is not installed
    return dict(sorted(found.items()))


def seeds_of(plan: Plan, scale: str) -> dict[str, list[int]]:
    """Return the seeds of each kind of run, by the name of the run without its seed."""
    seeds = {name: plan.all_runs[name].seed for name in plan.trained_at(scale)}
    seeds |= {name: run.seed for name, run in plan.subspaces.runs.items()}
    return {kind: sorted(seeds[name] for name in names) for kind, names in grouped(seeds, kind_of).items()}


def _weights(plan: Plan, scale: str) -> dict[str, Any]:
    """Name the weights that made the features of runs, where features say so."""
    specs = [plan.all_runs[name] for name in plan.trained_at(scale)]
    paths = sorted({plan.places.source_of_features(spec.dataset, spec.features) for spec in specs})
    sources = {str(path): read_source(path) or {} for path in paths}
    return {
        path: {key: source[key] for key in KEPT_OF_WEIGHTS if key in source}
        for path, source in sources.items()
        if "weights" in source
    }


def _phi_files(plan: Plan) -> list[Path]:
    """Return the phi matrices of test splits that runs are evaluated with."""
    datasets = sorted({run.dataset for run in plan.all_runs.values()})
    return [plan.places.phi(dataset, "test", f"{phi}.npy") for dataset in datasets for phi in plan.phi.single_phis]


def _phi(plan: Plan) -> dict[str, dict[str, Any]]:
    """Read the notes beside these matrices, by file."""
    notes = {path: read_phi_note(path) for path in _phi_files(plan) if path.is_file()}
    for path, note in notes.items():
        check_seal(note, path, noted=note_beside(path), cure="recompute phi")
    return {str(path): {key: note[key] for key in KEPT_OF_PHI if key in note} for path, note in notes.items() if note}


def _taken(left: Left, without: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sum up what jobs took: seconds, and the most memory in MB where it was measured.

    Args:
        left: Files in which jobs left their seconds.
        without: Part of the names of jobs that do not count; empty if all count.

    Returns:
        By rule the number of its ``jobs`` that left their seconds, and of all together ``seconds`` and ``memory_mb``;
        by rule and name what each training job took.
    """
    lines = []
    for rule, name, path in ((rule, name, path) for rule, jobs in left.items() for name, path in jobs.items()):
        # A job that was marked as up to date has left an empty file.
        if path.stat().st_size and not (without and without in name):
            table = pd.read_csv(path, sep="\t", na_values="-")[["s", "max_rss"]]
            lines.append((rule, name, table["s"].sum(), table["max_rss"].max()))
    jobs = pd.DataFrame(lines, columns=["rule", "name", "seconds", "memory"])

    def took(some: pd.DataFrame) -> dict[str, float]:
        memory = some["memory"].max()
        found = {"seconds": round(float(some["seconds"].sum()), 2)}
        return found if pd.isna(memory) else found | {"memory_mb": float(memory)}

    rules = {str(rule): {"jobs": len(some), **took(some)} for rule, some in jobs.groupby("rule")}
    trained = jobs[jobs["rule"].isin(TRAINING)]
    return rules, {
        str(rule): {str(name): took(one) for name, one in of_rule.groupby("name", sort=False)}
        for rule, of_rule in trained.groupby("rule", sort=False)
    }

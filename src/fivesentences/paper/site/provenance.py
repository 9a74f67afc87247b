"""The manifest of a scale as a page: what the numbers were made of, and in what that differs from the papers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from fivesentences.config import Catalogue, Scale, as_list
from fivesentences.paper.manifest import settings_of
from fivesentences.paper.numbers.comparability import PublishedSetting
from fivesentences.paper.numbers.results import evaluated_columns
from fivesentences.paper.numbers.subspaces import PublishedSubspaces
from fivesentences.paper.site.runs_page import Cell, cell_of, duration
from fivesentences.paper.site.shell import Site
from fivesentences.paper.text.names import listed, phi_in_words, unique
from fivesentences.plan.encoded import members_of
from fivesentences.plan.exhibits import Exhibit
from fivesentences.plan.plan import Plan
from fivesentences.plan.rows import expand_rows
from fivesentences.plan.studies import Study
from fivesentences.plan.subspaces import rows_shown

HERE = "provenance.html"
# Settings that change numbers, and of these what only says how jobs are shared out.
COMPARED = (
    "seeds",
    "features",
    "grid_features",
    "evaluation_phi",
    "training",
    "categories/training",
    "categories/seeds",
)
SCHEDULING = {"minutes", "gpu", "runs_per_job", "parts", "tensorboard"}
BY_MODEL = "exceptions"  # of single models and losses: lists that are read among the settings
KINDS = {
    "inputs": "input: a download, a file of the configuration, or a file of the user",
    "made": "corpus or features",
    "numbers": "numbers that tables and figures are drawn from",
}
DIGITS = 12  # of a revision


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and what stands in it."""

    heading: str
    kind: Literal["text", "long", "number", "path", "sha"] = "text"


@dataclass(frozen=True)
class Block:
    """A part of the page: a table, or a text that is folded.

    Attributes:
        anchor: Its address.
        title: Heading.
        lead: A sentence or two.
        columns: Of the table.
        rows: Its cells: what is sorted by, and what is shown.
        folded: What opens on request, as YAML.
    """

    anchor: str
    title: str
    lead: str = ""
    columns: tuple[Column, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    folded: str = ""


def write_provenance(
    site: Site, plan: Plan, scale: str, manifest: Mapping[str, Any], printed: Scale, folder: Path
) -> Path:
    """Write ``folder/provenance.html``.

    Args:
        site: Of the scale.
        plan: Of the scale.
        scale: Its name, or that of its complete form.
        manifest: See ``write_manifest``.
        printed: The scale with the papers' own settings.
        folder: Of the site.
    """
    blocks = [
        *_papers(plan, scale, manifest, printed),
        *_data(plan.catalogue, plan, manifest),
        *_rules(manifest),
        _files(manifest),
        *_texts(manifest),
    ]
    lead = (
        f"Everything that the numbers of “{site.title}” were made of. “fivesentences report SCALE --check” compares it "
        "with what is here."
    )
    return site.write(
        folder,
        "provenance.html",
        HERE,
        scripts=["alpine"],
        lead=lead,
        facts=_facts(manifest),
        blocks=[block for block in blocks if block.rows or block.folded],
    )


def _facts(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The first lines: code, versions, machine, seeds and time."""
    git, hardware, versions = (manifest.get(part) or {} for part in ("git", "hardware", "versions"))
    found = [("Code", _revision(git)), ("Machine", _machine(hardware))]
    named = [f"{name} {versions[key]}" for key, name in MAIN_VERSIONS.items() if key in versions]
    found.append(("Versions", ", ".join(named)))
    seeds = manifest.get("seeds") or {}
    count = sum(map(len, seeds.values()))
    found.append(("Runs", f"{count:,} in {len(seeds):,} settings" if seeds else ""))
    seconds = sum(one["seconds"] for one in (manifest.get("seconds") or {}).values())
    found.append(("Time", f"{duration(seconds)}, all jobs together whose time is known" if seconds else ""))
    return [(name, text) for name, text in found if text]


MAIN_VERSIONS = {"fivesentences": "fivesentences", "python": "Python", "torch": "PyTorch", "snakemake": "Snakemake"}


def _revision(git: Mapping[str, Any]) -> str:
    revision, changed = git.get("revision"), git.get("changed")
    if not revision:
        return "not from a git checkout"
    if not changed:
        return f"revision {revision[:DIGITS]}"
    files = "1 file" if len(changed) == 1 else f"{len(changed)} files"
    return f"revision {revision[:DIGITS]}, with changes in {files}: {', '.join(changed)}"


def _machine(hardware: Mapping[str, Any]) -> str:
    cores, memory = hardware.get("cores"), hardware.get("memory_gb")
    parts = [hardware.get("processor"), f"{cores} cores" if cores else "", f"{memory} GB" if memory else ""]
    parts += [hardware.get("gpu") or "no GPU", hardware.get("system")]
    return ", ".join(str(part) for part in parts if part) + " (that wrote the manifest)" if hardware else ""


# --- what differs from the papers ---------------------------------------------------------------------------


def _papers(plan: Plan, scale: str, manifest: Mapping[str, Any], printed: Scale) -> Iterator[Block]:
    tables: dict[tuple[str, ...], list[str]] = {}
    for name, exhibit in plan.exhibits.items():
        for row in dict.fromkeys(_measured_otherwise(plan, scale, name, exhibit)):
            tables.setdefault(row, []).append(exhibit.title)
    yield Block(
        "papers",
        "What differs from the papers: data",
        "What tables with published values were measured on. A difference to a published value is shown only where "
        "everything is the same.",
        (*map(Column, ("role", "what", "in print", "here")), Column("in", "long")),
        tuple(tuple(_text(text) for text in (*row, "; ".join(titles))) for row, titles in tables.items()),
    )
    theirs, ours = (dict(_settings_that_count(one)) for one in (settings_of(printed), manifest["settings"]))
    differing = [key for key in {**theirs, **ours} if theirs.get(key) != ours.get(key)]
    yield Block(
        "settings-of-papers",
        "What differs from the papers: settings",
        "Settings of training and evaluation that are not those of config/paper.yaml. Exceptions for single models and "
        "losses are among the settings below.",
        (Column("setting", "path"), Column("papers"), Column("here")),
        tuple(
            (_text(key), _text(_plain(theirs.get(key)) or "none"), _text(_plain(ours.get(key)) or "none"))
            for key in differing
        ),
    )


def _measured_otherwise(plan: Plan, scale: str, name: str, exhibit: Exhibit) -> Iterator[tuple[str, ...]]:
    """Rows (role, what, in print, here) of whatever a table was measured on otherwise than in print."""
    study, at, setting = plan.study_of(name), plan.scales[scale], getattr(exhibit, "published_setting", None)
    if isinstance(setting, PublishedSetting):
        found = _of_matching(plan, study, at, exhibit, setting)
    elif isinstance(setting, PublishedSubspaces):
        found = _of_categories(study, at, exhibit, setting)
    else:
        return
    for role, what, theirs, ours in found:
        if theirs and ours and theirs != ours:
            yield study.label_of(role), what, theirs, ours


def _of_matching(
    plan: Plan, study: Study, scale: Scale, exhibit: Exhibit, setting: PublishedSetting
) -> Iterator[tuple[str, str, str, str]]:
    printed = as_list(setting.phi) if setting.phi else []
    columns = [column for column in evaluated_columns(exhibit.metrics(), scale) if column.is_semantic]
    others = [phi for phi in unique(column.phi or scale.evaluation_phi for column in columns) if phi not in printed]
    phis = [" or ".join(map(phi_in_words, names)) for names in (printed, others)]
    for row in expand_rows(exhibit.row_specs(), study, scale):
        if not row.runs:
            continue
        theirs = setting.of_role("dataset", row.role)
        yield row.role, "dataset", _called(study, theirs), _called(study, row.dataset)
        read = unique(member.features.stem for run in row.runs for member in members_of(run))
        yield row.role, "features", setting.features_of(row.role, row.features) or "", listed(read) if read else ""
        yield row.role, "phi", phis[0], phis[1]


def _of_categories(
    study: Study, scale: Scale, exhibit: Exhibit, setting: PublishedSubspaces
) -> Iterator[tuple[str, str, str, str]]:
    for row in rows_shown(exhibit, study, scale):
        if row.runs:
            theirs = setting.documents.get(row.role, "")
            yield row.role, "documents", _called(study, theirs), _called(study, row.documents)


def _called(study: Study, name: str | None) -> str:
    return study.label_of(name) if name else ""


def _settings_that_count(settings: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Settings that change numbers, by their path; a setting that is given for each fraction stays together."""

    def leaves(content: Any, name: str) -> Iterator[tuple[str, Any]]:
        by_name = isinstance(content, dict) and content and not all(map(_is_number, content))
        if not by_name:
            yield name, content
            return
        for key, value in content.items():
            if key not in SCHEDULING | {BY_MODEL}:
                yield from leaves(value, f"{name}/{key}")

    for path in COMPARED:
        content: Any = settings
        for part in path.split("/"):
            content = content.get(part) if isinstance(content, dict) else None
        if content is not None:
            yield from leaves(content, path)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


# --- data, features and phi ---------------------------------------------------------------------------------


def _data(catalogue: Catalogue, plan: Plan, manifest: Mapping[str, Any]) -> Iterator[Block]:
    inputs = manifest.get("inputs") or {}
    roles = manifest["settings"].get("roles") or {}
    lines = []
    for name, data in (manifest["settings"].get("datasets") or {}).items():
        played = listed([role for role, dataset in roles.items() if dataset == name] or ["none"])
        entry = catalogue.datasets.get(name)
        title = entry.title if entry is not None and data["loader"] != "scenes" else LOADED.get(data["loader"], "")
        sizes = ", ".join(f"{data[split]:,} {split}" for split in ("train", "dev", "test") if split in data)
        lines.append((_text(name), _text(title), _text(played), _text(sizes)))
    yield Block(
        "datasets",
        "Datasets",
        "Which dataset plays which role of the papers.",
        tuple(map(Column, ("dataset", "what it is", "role", "images"))),
        tuple(lines),
    )
    downloads = [(path, *plan.downloads[known]) for path in inputs if (known := _download(plan, path)) is not None]
    files = [(path, dataset, catalogue.datasets[dataset].files[name]) for path, dataset, name in downloads]
    yield Block(
        "downloads",
        "Downloads and their licences",
        "Files that others published, with the SHA-256 of the file that was read.",
        (*map(Column, ("dataset", "version", "licence")), Column("source", "path"), Column("SHA-256", "sha")),
        tuple(
            (_text(dataset), _text(file.version), _text(file.licence), _text(file.url or "by hand"), _sha(inputs[path]))
            for path, dataset, file in files
        ),
    )
    made = manifest.get("made") or {}
    weights = manifest.get("weights") or {}
    yield Block(
        "features",
        "Corpora and features",
        "",
        (Column("file", "path"), Column("weights"), Column("SHA-256", "sha")),
        tuple((_text(path), _text(_plain(weights.get(path))), _sha(digest)) for path, digest in made.items()),
    )
    yield Block(
        "phi",
        "Phi of the test split",
        f"NCS is by {phi_in_words(manifest['settings']['evaluation_phi'])} unless a table says otherwise.",
        (Column("file", "path"), *map(Column, ("tokens", "document frequencies", "scene graphs", "captions × images"))),
        tuple(
            (
                _text(path),
                *(_text(_plain(note.get(key))) for key in ("tokenisation", "idf_corpus", "tuples")),
                _text(" × ".join(f"{size:,}" for size in note.get("shape", []))),
            )
            for path, note in (manifest.get("phi") or {}).items()
        ),
    )


LOADED = {
    "scenes": "photographs that a program of this package drew and captioned: nobody’s rights, no download",
    "folder": "photographs of whoever ran this",
    "precomp": "a folder of released features and captions",
}


def _download(plan: Plan, path: str) -> str | None:
    """The path in the catalogue of a file below the folder of downloads."""
    data = Path(path)
    if not data.is_relative_to(plan.places.data):
        return None
    known = data.relative_to(plan.places.data).as_posix()
    return known if known in plan.downloads else None


# --- rules, files and the rest ------------------------------------------------------------------------------


def _rules(manifest: Mapping[str, Any]) -> Iterator[Block]:
    columns = (Column("jobs", "number"), Column("time", "number"), Column("most memory, MB", "number"))
    lines = []
    for rule, took in (manifest.get("seconds") or {}).items():
        lines.append((_text(rule), cell_of(took["jobs"], 0), *_took(took)))
    yield Block(
        "rules",
        "Rules",
        "What the jobs of each rule took together, and the most memory of one, as Snakemake measured them. Jobs that "
        "were made elsewhere, or before, have left nothing.",
        (Column("rule", "path"), *columns),
        tuple(lines),
    )
    yield Block(
        "training-jobs",
        "Training jobs",
        "A job trains some runs one after the other.",
        (Column("rule", "path"), Column("job", "path"), *columns[1:]),
        tuple(
            (_text(rule), _text(job), *_took(took))
            for rule, jobs in (manifest.get("trained") or {}).items()
            for job, took in jobs.items()
        ),
    )


def _took(took: Mapping[str, float]) -> tuple[Cell, Cell]:
    return (f"{took['seconds']:g}", duration(took["seconds"])), cell_of(took.get("memory_mb"), 0)


def _files(manifest: Mapping[str, Any]) -> Block:
    return Block(
        "files",
        "Files",
        "Every file with the SHA-256 that it had; without one it was not here when the manifest was written.",
        (Column("file", "path"), Column("what"), Column("SHA-256", "sha")),
        tuple(
            (_text(path), _text(what), _sha(digest))
            for part, what in KINDS.items()
            for path, digest in (manifest.get(part) or {}).items()
        ),
    )


def _texts(manifest: Mapping[str, Any]) -> Iterator[Block]:
    versions = manifest.get("versions") or {}
    yield Block(
        "versions",
        "Versions",
        "",
        (Column("package", "path"), Column("version")),
        tuple((_text(name), _text(version)) for name, version in versions.items()),
    )
    yield Block(
        "settings", "Settings", "Everything that the scale says, defaults included.", folded=_yaml(manifest["settings"])
    )
    seeds = manifest.get("seeds") or {}
    yield Block("seeds", "Seeds", "Of each kind of run.", folded=_yaml(seeds) if seeds else "")


def _text(text: str) -> Cell:
    return (text, text)


def _sha(digest: str | None) -> Cell:
    return _text(digest or "")


def _plain(value: Any) -> str:
    """A setting as YAML on one line; empty where there is none."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_plain(one)}" for key, one in value.items())
    text = str(yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10**6))
    return text.strip().removesuffix("\n...")


def _yaml(content: Any) -> str:
    return str(yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100))

"""What a scale leaves out: with ``absent: leave_out`` the rows of data that are not here and that no program brings.

With ``labels: here`` it is what needs labels that are not here, though a program would bring them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fivesentences.config.reading import check
from fivesentences.config.types import as_list
from fivesentences.reproduction.categories.plan import Subspaces
from fivesentences.reproduction.config.scales import AbsentData, Scale
from fivesentences.reproduction.plan.datasets import Datasets
from fivesentences.reproduction.plan.features import Features
from fivesentences.training.spec import RunSpec


def without_labels(datasets: Datasets) -> Scale:
    """Return a scale with ``labels: here`` without labels whose file is neither in place nor in a mirror."""
    absent = []
    for dataset in datasets.except_for(datasets.scenes):
        files = datasets.downloaded(dataset, "instances") if datasets.labels_of(dataset) else []
        how = [
            f"{path} is not here; --config labels=fetch has it fetched." for path in files if not datasets.is_here(path)
        ]
        if how:
            absent.append(AbsentData(part="labels", name=dataset, how=how))
    return without(datasets.scale, absent)


def absent_data(
    absent: Mapping[Path, str], datasets: Datasets, features: Features, subspaces: Subspaces, runs: Iterable[RunSpec]
) -> list[AbsentData]:
    """Return what files that are missing are for; of a file that everything needs nothing.

    Photographs for pages come last: where rows are left out, perhaps no page shows them.

    Args:
        absent: Files and folders that are missing, with what a person must do for each.
        datasets, features, subspaces: Parts of a scale's plan.
        runs: Its training runs.
    """
    scale = datasets.scale
    found: dict[tuple[str, str, str | None], AbsentData] = {}

    def look(part: Any, name: str, files: Iterable[Path], of: str | None = None) -> None:
        read = (datasets.archives_of(path) if datasets.makes_folder(path) else [path] for path in files)
        how = list(dict.fromkeys(_undated(absent[path]) for path in itertools.chain(*read) if path in absent))
        if how and not scale.lacks(part, name, of):
            found[part, name, of] = AbsentData(part=part, name=name, features=of, how=how)

    for dataset in scale.datasets:
        look("dataset", dataset, datasets.captions_of(dataset))
    for one in scale.judges:
        look("judge", one.judge, datasets.judgements_of(one.dataset, one.judge))
    for name, documents in subspaces.document_specs.items():
        folder = [documents.folder] if documents.loader == "nus_wide" else []
        look("documents", name, [*folder, *subspaces.read_for_documents(name).values()])
    read = {(run.dataset, run.features.source): run.features for run in runs}
    for documents in map(subspaces.document_specs.__getitem__, subspaces.documents):
        if documents.loader == "corpus" and scale.features is not None:
            read[documents.corpus, scale.features.source] = scale.features
    for (dataset, source), spec in read.items():
        if ("dataset", dataset, None) in found:
            continue
        described = features.is_described(dataset, spec)
        of_photographs = [] if described else [*features.weights_of(source), *datasets.photographs_of(dataset)]
        in_folder = [features.folder_of_features(dataset).folder] if described else []
        look("features", dataset, [*of_photographs, *in_folder], source)
    for dataset in datasets.except_for(datasets.scenes):
        if datasets.labels_of(dataset) and ("dataset", dataset, None) not in found:
            look("labels", dataset, datasets.downloaded(dataset, "instances"))
    if not found and scale.photographs:
        for dataset in datasets.except_for(datasets.precomp):
            look("photographs", dataset, datasets.photographs_of(dataset))
    return list(found.values())


def _undated(sentence: str) -> str:
    """Replace the date in a sentence about a consent: tables would be others every day."""
    return re.sub(r"\b\d{4}-\d{2}-\d{2}\b", "the day", sentence)


def without(scale: Scale, absent: Iterable[AbsentData]) -> Scale:
    """Return a scale without some data, and with the record of them."""
    for one in absent:
        scale = _without(scale, one)
    return scale


def _without(scale: Scale, absent: AbsentData) -> Scale:
    content = scale.model_dump(mode="json", exclude_unset=True)
    roles, documents = [], [absent.name] if absent.part == "documents" else []
    categories = content.get("categories") or {"roles": {}, "documents": {}}
    of_corpus = absent.part == "dataset" or _are_features_of_scale(scale, absent)
    for name, spec in categories["documents"].items():
        documents += [name] if of_corpus and spec.get("corpus") == absent.name else []
    match absent.part:
        case "dataset":
            content["datasets"].pop(absent.name, None)
            roles = [role for role, dataset in scale.roles.items() if dataset == absent.name]
            content["roles"] = {role: of for role, of in content.get("roles", {}).items() if role not in roles}
            content["judges"] = [one for one in content.get("judges", []) if one["dataset"] != absent.name]
            training = content.get("training", {})
            if "exceptions" in training:
                kept = (_of_others(one, absent.name) for one in training["exceptions"])
                content["training"] = training | {"exceptions": [one for one in kept if one is not None]}
        case "judge":
            content["judges"] = [one for one in content["judges"] if one["judge"] != absent.name]
        case "photographs":
            content["photographs"] = False
    if documents:
        roles += [role for role, of in categories["roles"].items() if of in documents]
        left = {role: of for role, of in categories["roles"].items() if of not in documents}
        specs = {name: spec for name, spec in categories["documents"].items() if name not in documents}
        content["categories"] = categories | {"roles": left, "documents": specs} if specs else None
    record = absent.model_copy(update={"roles": roles}).model_dump(mode="json", exclude_defaults=True)
    content["absent_data"] = [*content.get("absent_data", []), record]
    return check(Scale, content, f"scale {scale.scale}")


def _are_features_of_scale(scale: Scale, absent: AbsentData) -> bool:
    """Tell whether documents that are images of a corpus read these features."""
    return absent.part == "features" and scale.features is not None and absent.features == scale.features.source


def _of_others(exception: dict[str, Any], dataset: str) -> dict[str, Any] | None:
    """Return an exception of training as far as it concerns other datasets."""
    if exception.get("dataset") is None:
        return exception
    others = [name for name in as_list(exception["dataset"]) if name != dataset]
    return exception | {"dataset": others} if others else None

"""Every key of the configuration is set in a shipped file, or has a reason to be there."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from fivesentences.config.datasets import Catalogue
from fivesentences.config.hyperparameters import HyperparametersOfScale
from fivesentences.config.reading import read
from fivesentences.documents import read_yaml
from fivesentences.reproduction.config.cluster import Cluster
from fivesentences.reproduction.config.scales import Scale, TrainingScale
from fivesentences.reproduction.plan.plan import scale_of
from fivesentences.reproduction.study.claims import Claims
from fivesentences.reproduction.study.study import Study

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
CONFIG = PROJECT / "config"
Key = tuple[str, str]  # a class and one of its keys
OWN_DATA = "a user's own data, or a folder or archive as it was released"
MODEL = "a user's model, of captions or of both"
DETECTOR = "detectors and crops, whose released features are read today"
LOSS = "a loss or margin of the literature, for a user's study"
RELEASE = "one of the differences between a release and its paper"
BASELINE = "a baseline of category retrieval, whose paper tunes it"
ABSENT = "what planning leaves out for want of data"
QUESTION = "a user's own question to runs that are there"
# Why a key is there that no shipped file sets, by the class that defines it.
IDLE: dict[str, tuple[str, set[str]]] = {
    "CatalogueData": (OWN_DATA, {"member"}),
    "PrecompData": (OWN_DATA, {"folder", "prefix", "testall"}),
    "OwnDocuments": (OWN_DATA, {"images", "table", "texts"}),
    "Scale": (
        MODEL,
        {"absent", "absent_data", "group", "judged_phis", "matrices", "matrices_of_others", "sentence_encoders"},
    ),
    "TrainingScale": ("a cluster whose nodes have disks of their own, and GPUs", {"runs_at_once", "scratch"}),
    "AbsentData": (ABSENT, {"features", "how", "name", "part", "roles"}),
    "LengthsTable": (QUESTION, {"split"}),
    "OtherMatrix": (OWN_DATA, {"captions", "features", "name", "role", "rows", "similarity", "title", "transposed"}),
    "RowOfMatrix": (OWN_DATA, {"captions_per_image", "exhibit", "folds", "fraction", "inference", "published"}),
    "SentenceEncoder": (MODEL, {"model", "revision", "sha256"}),
    "FeatureSpec": (DETECTOR, {"flavour", "resize", "selection"}),
    "Hyperparameters": (QUESTION, {"noise", "precision"}),  # rows of a study name noise
    "InfoNCE": (LOSS, {"learn_temperature", "weight"}),
    "PositiveAwareTriplet": (LOSS, {"margin", "phi"}),
    "FalseNegativeMemory": (LOSS, {"pairs"}),
    "FalseNegativeWeights": (LOSS, {"certainty", "decay", "margin"}),
    "RelevanceMargin": (LOSS, {"phi"}),
    "SoftLabels": (LOSS, {"phi", "phi_temperature"}),
    "SemanticAdaptiveMargin": (
        RELEASE,
        {"margin_negative", "margin_of", "max_margin", "positive", "ranking", "t2i_search"},
    ),
    "CCA": (BASELINE, {"components", "dimensions"}),
    "KCCA": (BASELINE, {"components", "dimensions", "documents", "gamma", "ridge"}),
    "PLS": (BASELINE, {"dimensions"}),
    "CFA": (BASELINE, {"dimensions"}),
    "SemanticMatching": (BASELINE, {"dimensions", "strength"}),
    "OtherNetwork": (BASELINE, {"learning_rate"}),
    "DeepCCA": (BASELINE, {"dimensions", "ridge"}),
    "CorrelationAutoencoder": (BASELINE, {"share"}),
    "Adversarial": (BASELINE, {"adversary", "margin", "triplets"}),
    "SparingTriplet": (LOSS, {"margin"}),
    "AgreementFigure": (QUESTION, {"references"}),
    "CorrelationsFigure": (QUESTION, {"statistic"}),
    "ColumnSpec": (QUESTION, {"formula", "ties"}),
    "OtherSide": (QUESTION, {"captions_per_image", "features", "fraction", "model"}),
}


REPEATED: dict[str, type[BaseModel]] = {
    "_CellWithHyperparameters": HyperparametersOfScale,
    "TrainingOfStudy": TrainingScale,
}


def classes_of(annotation: Any) -> Iterator[type[BaseModel]]:
    """Yield the blocks in the type of a key, and those within them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from classes_of(field.annotation)
    for part in get_args(annotation):
        yield from classes_of(part)


def key_of(block: type[BaseModel], name: str) -> Key:
    """Return a key with the class that defines it; exceptions and studies repeat those of a scale's training."""
    for base in reversed(block.__mro__):
        if name in inspect.get_annotations(base) and base.__name__ not in REPEATED:
            return base.__name__, name
    return key_of(REPEATED[next(base.__name__ for base in block.__mro__ if base.__name__ in REPEATED)], name)


def keys_set(value: Any) -> Iterator[Key]:
    """Yield the keys that a file sets."""
    if isinstance(value, BaseModel):
        for name in value.model_fields_set:
            yield key_of(type(value), name)
            yield from keys_set(getattr(value, name))
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from keys_set(part)


def shipped() -> Iterator[BaseModel]:
    """Yield the content of every shipped file."""
    for path in [*sorted(CONFIG.glob("*.yaml")), PROJECT / "tests" / "rehearsal" / "rehearsal.yaml"]:
        yield read(Catalogue, path) if path.name == "datasets.yaml" else scale_of(read_yaml(path), path)
    yield from (read(Study, path) for path in sorted((CONFIG / "studies").glob("*.yaml")))
    yield from (read(Claims, path) for path in sorted((CONFIG / "claims").glob("*.yaml")))
    yield read(Cluster, PROJECT / "profiles" / "slurm" / "cluster.yaml")


def test_a_key_that_no_shipped_file_sets_has_a_reason() -> None:
    blocks = {block for root in (Scale, Study, Claims, Catalogue, Cluster) for block in classes_of(root)}
    known = {
        key_of(block, name)
        for block in blocks
        for name, field in block.model_fields.items()
        if field.annotation is not type(None)  # no longer to be set
        and not (get_origin(field.annotation) is Literal and len(get_args(field.annotation)) == 1)  # a kind
    }
    idle = known - {key for content in shipped() for key in keys_set(content)}
    assert idle == {(block, name) for block, (_, names) in IDLE.items() for name in names}

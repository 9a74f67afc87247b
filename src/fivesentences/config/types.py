"""Building blocks of the configuration: the base class, names, and types that several blocks share."""

from __future__ import annotations

import fnmatch
import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from fivesentences.choices import Direction as Direction
from fivesentences.choices import Precision as Precision
from fivesentences.choices import Split as Split
from fivesentences.choices import repeat_in


@dataclass(frozen=True)
class IsWidth:
    """Marks a setting of a model as a width: a scale sets it, and it does not show in folder names."""


Layout = Literal["global", "grid"]
Crops = Literal["centre", "ten"]
TrainingPrecision = Literal["float32", "tf32", "bf16"]
FlavourName = Literal["d2", "caffe"]
# per_class: the original tools/generate_tsv.py, whose features the papers use. class_agnostic: AIRSPLAY, Hugging Face.
SelectionRule = Literal["per_class", "class_agnostic"]
# opencv: the Caffe code and its port to detectron2; pillow: AIRSPLAY's fork; torch: Hugging Face's single file.
ResizeRule = Literal["opencv", "pillow", "torch"]
# A number of things: epochs, captions of a batch, minutes. Nobody has a million of them, but a typing error soon has.
# Strict, since Python counts true as 1: `epochs: yes` is a mistake.
Count = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
Layers = Annotated[int, Field(strict=True, ge=1, le=100)]
LARGEST_SEED = 2**32 - 1  # as far as every generator takes it
Seed = Annotated[int, Field(strict=True, ge=0, le=LARGEST_SEED)]


@dataclass(frozen=True)
class MayRepeat:
    """Marks a list whose entries are told apart by their places, so that a value may stand in it twice."""


def check_each_once(key: str, values: list[Any]) -> None:
    """Refuse a list of the configuration in which a value or a block stands twice, see ``choices.each_once``.

    Raises:
        ValueError: If one does; it is named.
    """
    if twice := repeat_in(values):
        value, (first, second) = values[twice[0]], twice
        if isinstance(value, dict):
            line = ", ".join(f"{name} {said}" for name, said in value.items() if said is not None)
            raise ValueError(f"{key} holds the line '{line}' twice; remove one")
        if name := getattr(value, "name", None):
            raise ValueError(f"{key} has two named '{name}', which are the same; remove one")
        if isinstance(value, BaseModel | tuple):
            raise ValueError(f"{key} holds the same entry twice (numbers {first + 1} and {second + 1}); remove one")
        raise ValueError(f"{key} names {value!r:.60} twice ({key} is {values!r:.200}); name it once")


def _seeds_once(seeds: list[int]) -> list[int]:
    check_each_once("seeds", seeds)
    return seeds


Seeds = Annotated[list[Seed], Field(min_length=1), AfterValidator(_seeds_once)]
# A second member of an ensemble with the same model has a seed that may lie beyond those of a scale.
RunSeed = Annotated[int, Field(strict=True, ge=0, le=LARGEST_SEED + 1_000_000)]
Width = Annotated[int, Field(strict=True, ge=1, le=65536), IsWidth()]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Negatives = Literal["random", "closest", "furthest", "closest_unlike", "furthest_alike"]
Variant = Literal["paper", "released"]
_NAME, _SHA256, _MD5 = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", r"^[0-9a-f]{64}$", r"^[0-9a-f]{32}$"
# A table or figure, alone or as `study/name`.
ExhibitName = Annotated[str, Field(pattern=rf"^({_NAME[1:-1]}/)?{_NAME[1:]}")]
Name = Annotated[str, Field(pattern=_NAME)]
Sha256 = Annotated[str, Field(pattern=_SHA256)]
Md5 = Annotated[str, Field(pattern=_MD5)]
EnvironmentName = Annotated[str, Field(pattern=r"^[A-Z][A-Z0-9_]*$")]
Fraction = Annotated[float, Field(gt=0, le=1)]
CaptionsPerImage = Count
Noise = Annotated[float, Field(ge=0, lt=1)]
_PHI = r"[a-z][a-z0-9_]*(:[a-z][a-z0-9_]*)?(-(whitespace|reattached|characters|ptb|centroid|max|mean))?"
# Of a model of captions, in `embedding:<model>`.
PhiModel = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
PhiName = Annotated[str, Field(pattern=rf"^{_PHI}$")]
# A phi with which runs are evaluated: one matrix, or the mean of several (`tfidf+bleu_daa`), as in DAA.
EvaluationPhi = Annotated[str, Field(pattern=rf"^{_PHI}(\+{_PHI})*$")]
# A name, or a pattern that several names fit: `small_*`.
_NAMES = r"^[A-Za-z0-9*?][A-Za-z0-9_.*?-]*$"
NamePattern = Annotated[str, Field(pattern=_NAMES)]
# The dev score by which an epoch's weights are kept.
DevSelection = Literal["rsum", "ncs", "ncs_discounted"]
# Into how many equal galleries a test split is cut, and which of them are read.
Folds = Annotated[int, Field(strict=True, ge=2, le=100)]
ReadFolds = Folds | Literal["first of 5"]
Inference = Literal["naive", "inverted_softmax", "csls", "assignment", "qb_norm", "dual_bank"]
INFERENCES: tuple[Inference, ...] = get_args(Inference)
Judge = Literal["cxc", "flickr8k_expert", "flickr8k_expert_each", "flickr8k_crowdflower", "scenes_truth"]
References = Literal["kept", "own_left_out"]
Statistic = Literal["pearson", "spearman", "kendall_b", "kendall_c"]


class Strict(BaseModel):
    """A configuration block: unknown keys, infinite numbers and NaN are errors, and nothing changes later.

    A list in which a value or a block stands twice is an error too, unless it is marked ``MayRepeat``.

    Texts below its keys describe them in the documentation and to editors.
    """

    # Only the documentation's site shows these texts, and reading them from the source is a third of a plan's start.
    model_config = ConfigDict(
        extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings="sphinx" in sys.modules
    )

    @model_validator(mode="after")
    def _lists_hold_each_once(self) -> Self:
        for key, value in self.__dict__.items():
            if isinstance(value, list) and not any(
                isinstance(mark, MayRepeat) for mark in type(self).model_fields[key].metadata
            ):
                check_each_once(key, value)
        return self


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, anything else as a list of one."""
    return list(value) if isinstance(value, list) else [value]


def asked(value: Any, wanted: Any) -> bool:
    """Tell whether a value is the one that is wanted, or one of a list of them; None: any is."""
    return wanted is None or value in as_list(wanted)


def fits(name: str, patterns: str | list[str] | None) -> bool:
    """Tell whether a name is among some names or fits a pattern among them, such as ``small_*``; None: any does."""
    return patterns is None or any(fnmatch.fnmatchcase(name, pattern) for pattern in as_list(patterns))

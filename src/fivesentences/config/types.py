"""What every block of the configuration is made of: its base class, names, and types that several blocks share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field


@dataclass(frozen=True)
class IsWidth:
    """Marks a setting of a model as a width: a scale sets it, and it does not show in folder names."""


Direction = Literal["i2t", "t2i"]
Layout = Literal["global", "grid"]
Width = Annotated[int, Field(ge=1, le=65536), IsWidth()]
Positive = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Negatives = Literal["random", "closest", "furthest"]
Variant = Literal["paper", "released"]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Fraction = Annotated[float, Field(gt=0, le=1)]
CaptionsPerImage = Annotated[int, Field(ge=1)]
_PHI = r"[a-z][a-z0-9_]*(-(whitespace|reattached|ptb))?"
PhiName = Annotated[str, Field(pattern=rf"^{_PHI}$")]
# A phi with which runs are evaluated: one matrix, or the mean of several (`tfidf+bleu_daa`), as in DAA.
EvaluationPhi = Annotated[str, Field(pattern=rf"^{_PHI}(\+{_PHI})*$")]
Inference = Literal["naive", "inverted_softmax", "csls", "assignment"]
INFERENCES: tuple[Inference, ...] = get_args(Inference)
Split = Literal["train", "dev", "test"]
Judge = Literal["cxc", "flickr8k_expert", "flickr8k_expert_each", "flickr8k_crowdflower", "scenes_truth"]
References = Literal["kept", "own_left_out"]
Statistic = Literal["pearson", "spearman", "kendall_b", "kendall_c"]


class Strict(BaseModel):
    """A configuration block: unknown keys, infinite numbers and NaN are errors, and nothing changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


def as_list(value: Any) -> list[Any]:
    """A list as it is, anything else as a list of one."""
    return list(value) if isinstance(value, list) else [value]

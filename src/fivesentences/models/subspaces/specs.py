"""Settings of every method of category retrieval. Nothing here imports torch or scikit-learn."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from fivesentences.config.documents import Prepare
from fivesentences.config.types import Count, Positive, Strict
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec


class MethodSpec(Strict):
    """A method with its settings.

    Attributes:
        title: What tables call it.
        iterative: Whether it has epochs, of which validation can choose one.
    """

    title: ClassVar[str]
    iterative: ClassVar[bool] = False

    method: str
    inputs: Prepare | None = Field(default=None, description="of both modalities; null: as the scale says")

    @property
    def folder(self) -> str:
        """Readable name for a folder: the method and the settings that were stated, nested ones too."""
        return ",".join([self.method, *_stated(self)])


def _stated(spec: Strict) -> list[str]:
    found: list[str] = []
    for key in type(spec).model_fields:
        value: Any = getattr(spec, key)
        if key == "method" or key not in spec.model_fields_set or value is None:
            continue
        if isinstance(value, Strict):
            found += _stated(value)
        elif isinstance(value, bool):
            found.append(key if value else f"no_{key}")
        else:
            found.append(f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}")
    return found


class TripletNetwork(MethodSpec):
    """The two-branch network with triplets; their margin is fixed, or scheduled."""

    title = "triplets"
    iterative = True
    method: Literal["triplets"]
    loss: ScheduledMarginSpec = ScheduledMarginSpec()
    margins: list[Positive] | None = Field(
        default=None, min_length=1, description="fixed margins of which validation mAP chooses one, run by run"
    )
    learning_rate: Positive | None = Field(default=None, description="instead of the scale's")
    hidden: Count | None = Field(default=None, description="instead of the scale's")
    output: Count | None = Field(default=None, description="instead of the scale's")


class CCA(MethodSpec):
    """Canonical correlation analysis, with a ridge or without."""

    title = "CCA"
    method: Literal["cca"]
    dimensions: Count = 9
    ridge: float = Field(default=0.0, ge=0, lt=1, description="cca-zoo's shrinkage")
    weighted: bool = Field(default=False, description="directions weighted by their correlation")


class KCCA(MethodSpec):
    """Kernel CCA with radial basis functions."""

    title = "KCCA"
    method: Literal["kcca"]
    dimensions: Count = 9
    gamma: Positive | None = Field(default=None, description="null: 1 / number of features / variance")
    ridge: float = Field(default=0.1, gt=0, lt=1)
    components: Count = Field(default=200, description="kernel principal components of each modality")


class PLS(MethodSpec):
    """Partial least squares (scikit-learn's PLSCanonical)."""

    title = "PLS"
    method: Literal["pls"]
    dimensions: Count = 9


class CFA(MethodSpec):
    """Cross-modal factor analysis: singular vectors of the cross-covariance."""

    title = "CFA"
    method: Literal["cfa"]
    dimensions: Count = 10


class SemanticMatching(MethodSpec):
    """Posteriors of a classifier of each modality, compared by cosine."""

    title = "semantic matching"
    method: Literal["semantic_matching"]
    classifier: Literal["logistic", "mlp"] = "logistic"
    centre: Literal["nothing", "train", "gallery"] = Field(
        default="nothing", description="posteriors less their mean over training documents or over the gallery"
    )
    after_cca: bool = Field(default=False, description="posteriors of CCA's directions: SCM")


class DeepCCA(MethodSpec):
    """DCCA, and DCCAE with its autoencoders."""

    title = "DCCA"
    iterative = True
    method: Literal["dcca"]
    dimensions: Count = 9
    reconstruct: float = Field(default=0.0, ge=0, description="weight of the autoencoders: DCCAE")
    learning_rate: Positive = 0.001


class CorrelationAutoencoder(MethodSpec):
    """Corr-AE: two autoencoders whose codes agree."""

    title = "Corr-AE"
    iterative = True
    method: Literal["corr_ae"]
    share: float = Field(default=0.8, gt=0, lt=1, description="weight of the agreement of codes")
    learning_rate: Positive = 0.001


class Adversarial(MethodSpec):
    """ACMR-like: classes, triplets, and a modality classifier that is to be deceived."""

    title = "ACMR-like"
    iterative = True
    method: Literal["acmr"]
    adversary: float = Field(default=0.1, ge=0, description="weight of the modality classifier")
    learning_rate: Positive = 0.001


class RandomRanking(MethodSpec):
    """Vectors of random numbers: the floor."""

    title = "random ranking"
    method: Literal["random"]


AnyMethod = Annotated[
    TripletNetwork
    | CCA
    | KCCA
    | PLS
    | CFA
    | SemanticMatching
    | DeepCCA
    | CorrelationAutoencoder
    | Adversarial
    | RandomRanking,
    Field(discriminator="method"),
]

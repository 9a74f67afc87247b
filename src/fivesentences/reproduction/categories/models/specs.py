"""Settings of every method of category retrieval. Nothing here imports torch or scikit-learn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from fivesentences.config.types import Count, Positive, Strict
from fivesentences.losses.scheduled_margin_spec import ScheduledMarginSpec
from fivesentences.reproduction.categories.config import Prepare, SubspaceTraining

INPUTS = {
    "inputs as_stored": "inputs as stored",
    "inputs standardise": "inputs standardised",
    "inputs sqrt_standardise": "inputs √ and standardised",
}


class MethodSpec(Strict):
    """A method with its settings.

    Attributes:
        title: Its name in tables.
        iterative: Whether it has epochs, of which validation can choose one.
        words: How tables say a stated setting, by its key, or by its key and value; ``{}`` stands for the value.
            Settings that are not listed are said as they are written. Empty: ``called`` says it.
    """

    title: ClassVar[str]
    iterative: ClassVar[bool] = False
    words: ClassVar[dict[str, str]] = {}

    method: str
    inputs: Prepare | None = None
    """Inputs of both modalities; null: as the scale says."""

    @property
    def folder(self) -> str:
        """Readable name for a folder: the method and the settings that were stated, nested ones too."""
        return ",".join([self.method, *(_written(key, value) for key, value in _stated(self))])

    @property
    def called(self) -> str:
        """The title, or another name that the settings give the method: ``DCCAE``, ``SCM``."""
        return self.title

    def label(self) -> str:
        """Default label in tables: its name and the settings that were stated."""
        said = (self._said(key, value) for key, value in _stated(self))
        return ", ".join([self.called, *filter(None, said)])

    def _said(self, key: str, value: Any) -> str:
        words = INPUTS | self.words
        shown = {True: "yes", False: "no"}[value] if isinstance(value, bool) else _shown(value)
        plain = key.replace("_", " ")
        usual = {True: plain, False: f"not {plain}"}[value] if isinstance(value, bool) else f"{plain} {{}}"
        pattern = words.get(f"{key} {shown}", words.get(key, usual))
        return pattern.replace("{}", shown.replace("_", " ").replace("+", ", "))


def _stated(spec: Strict) -> Iterator[tuple[str, Any]]:
    """Key and value of every setting that was stated, null left out."""
    for key in type(spec).model_fields:
        value: Any = getattr(spec, key)
        if isinstance(value, Strict) and key in spec.model_fields_set:
            yield from _stated(value)
        elif key != "method" and key in spec.model_fields_set and value is not None:
            yield key, value


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(_shown, value))
    # Every digit of a number: different values have different folders.
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)


def _written(key: str, value: Any) -> str:
    return {True: key, False: f"no_{key}"}[value] if isinstance(value, bool) else f"{key}={_shown(value)}"


class TripletNetwork(MethodSpec):
    """The two-branch network with triplets; their margin is fixed, or scheduled."""

    title = "triplets"
    iterative = True
    words: ClassVar = {
        "toward": "",
        "constant": "",
        "always": "",
        "margin": "m = {}",
        "margins": "",
        "shuffled yes": "shuffled over pairs",
        "start": "fₐ = {}",
        "steepness": "k = {}",
        "first_epoch": "t from {}",
        "feature_share": "λ = {}",
        "feature_norm max": "distances over their maximum",
        "feature_norm max_cross": "distances over the maximum of different categories",
        "feature_norm minmax": "distances min-max",
        "feature_norm modality_max": "distances over each modality's maximum",
        "feature_norm modality_minmax": "distances min-max by modality",
        "feature_scope": "distances of the {}",
        "centroids unit": "centroids after the L2 norm",
        "centroids raw": "centroids before the L2 norm",
        "centroid_similarity": "{} of centroids",
        "refresh": "centroids of every {}",
        "anchor both": "distance of both modalities",
        "anchor own": "distance of the anchor's modality",
        "negatives all": "all negatives",
        "negatives hardest": "hardest negative",
        "negatives one": "one negative",
        "reduction": "summed over the {}",
        "reduction triplets": "mean over triplets",
    }
    method: Literal["triplets"]
    loss: ScheduledMarginSpec = ScheduledMarginSpec()
    margins: list[Positive] | None = Field(default=None, min_length=1)
    """Fixed margins of which validation mAP chooses one, run by run."""
    learning_rate: Positive | None = None
    """Learning rate instead of the scale's."""
    hidden: Count | None = None
    """Width of the hidden layer instead of the scale's."""
    output: Count | None = None
    """Width of the subspace instead of the scale's."""

    @property
    def called(self) -> str:
        """``triplets, fixed margin``, ``triplets, scheduled adaptive margin``, ``triplets, schedule toward 0.3``."""
        loss, constant = self.loss, _shown(self.loss.constant)
        tuned = "" if self.margins is None else f" tuned among {_shown(self.margins).replace('+', ', ')}"
        if loss.toward == "nothing":
            return f"{self.title}, fixed margin{tuned}"
        if loss.always:
            toward = "adaptive" if loss.toward == "adaptive" else f"constant {constant}"
            return f"{self.title}, {toward} margin from the first epoch"
        scheduled = "scheduled adaptive margin" if loss.toward == "adaptive" else f"schedule toward constant {constant}"
        return f"{self.title}, {scheduled}"

    @model_validator(mode="after")
    def _margins_have_an_effect(self) -> TripletNetwork:
        if self.margins is not None and "margin" in self.loss.model_fields_set:
            raise ValueError("margins and loss.margin are both given; margins replaces the other")
        if self.margins is not None and self.loss.toward != "nothing":
            raise ValueError(f"margins are fixed ones, but loss.toward is {self.loss.toward}; say toward: nothing")
        return self


class CCA(MethodSpec):
    """Canonical correlation analysis, with a ridge or without (cca-zoo)."""

    title = "CCA"
    words: ClassVar = {"ridge": "ridge {}", "weighted yes": "weighted by correlation", "weighted no": "not weighted"}
    method: Literal["cca"]
    dimensions: Count = 9
    """Dimensions of the subspace; fewer where the training documents have a lower rank."""
    ridge: float = Field(default=0.0, ge=0, lt=1)
    """C: covariances become (1 - c) of themselves and c of the identity, times their mean variance."""
    weighted: bool = False
    """Directions weighted by their correlation in training."""
    components: Count | None = None
    """Principal components of each modality that are kept first; null: all, but without a ridge at most a tenth of the
    training documents, since with as many features as documents every correlation is 1."""

    @property
    def called(self) -> str:
        """``CCA``, or ``ridge CCA``."""
        return "ridge CCA" if self.ridge else self.title


class KCCA(MethodSpec):
    """Kernel CCA: ridge CCA of kernel principal components (scikit-learn, cca-zoo), radial basis functions."""

    title = "KCCA"
    words: ClassVar = {"gamma": "γ = {}", "documents": "kernels of {} documents"}
    method: Literal["kcca"]
    dimensions: Count = 9
    """Dimensions of the subspace; fewer where the training documents have a lower rank."""
    gamma: Positive | None = None
    """γ of exp(-gamma |x - y|²); null: 1 / (number of features x their mean variance)."""
    ridge: float = Field(default=0.1, gt=0, lt=1)
    """Ridge, as in CCA."""
    components: Count = 200
    """Kernel principal components of each modality."""
    documents: Count = 4000
    """The most training documents that kernel components are taken of, drawn by the seed."""


class PLS(MethodSpec):
    """Partial least squares (scikit-learn's PLSCanonical, which standardises its inputs)."""

    title = "PLS"
    method: Literal["pls"]
    dimensions: Count = 9
    """Dimensions of the subspace; fewer where the training documents have a lower rank."""


class CFA(MethodSpec):
    """Cross-modal factor analysis: singular vectors of the cross-covariance (Li et al., 2003)."""

    title = "CFA"
    method: Literal["cfa"]
    dimensions: Count = 10
    """Dimensions of the subspace; at most the features of either modality."""


class SemanticMatching(MethodSpec):
    """Posteriors of a classifier of each modality, compared by cosine (Rasiwasia et al., 2010)."""

    title = "semantic matching"
    words: ClassVar = {
        "classifier logistic": "logistic",
        "classifier mlp": "MLP",
        "strength": "C = {}",
        "centre nothing": "not centred",
        "centre train": "centred by training posteriors",
        "centre gallery": "centred by the gallery",
        "after_cca": "",
    }
    method: Literal["semantic_matching"]
    classifier: Literal["logistic", "mlp"] = "logistic"
    """Multinomial logistic regression, or layers of 256 and 64 whose epochs a tenth of the training documents decides
    (scikit-learn)."""
    strength: Positive | None = None
    """C of the logistic regression, smaller is a stronger penalty; null: of 0.001, 0.01, 0.1 and 1 that of the lowest
    log loss in a threefold cross-validation of the training documents, for each modality."""
    centre: Literal["nothing", "train", "gallery"] = "nothing"
    """Posteriors less their mean over training documents, or over the documents that are searched, which reads
    unlabelled test documents."""
    after_cca: bool = False
    """Posteriors of CCA's directions: SCM."""
    dimensions: Count | None = None
    """Dimensions of that CCA; null: as many as there are."""

    @property
    def called(self) -> str:
        """``semantic matching``, or ``SCM``."""
        return "SCM" if self.after_cca else self.title

    @model_validator(mode="after")
    def _settings_have_an_effect(self) -> SemanticMatching:
        if self.strength is not None and self.classifier != "logistic":
            raise ValueError("strength is that of logistic regression, but classifier is mlp")
        if self.dimensions is not None and not self.after_cca:
            raise ValueError("dimensions are those of the CCA, which only after_cca: true has")
        return self


class OtherNetwork(MethodSpec):
    """Networks of others, trained with Adam, whose epochs and widths may differ from the scale's."""

    iterative = True
    learning_rate: Positive = 0.001
    """Learning rate of Adam."""
    epochs: Count | None = None
    """Epochs instead of the scale's."""

    def training(self, scale: SubspaceTraining) -> SubspaceTraining:
        """Return the scale's settings, with the epochs that are given here."""
        return scale if self.epochs is None else scale.model_copy(update={"epochs": self.epochs})


class DeepCCA(OtherNetwork):
    """DCCA (Andrew et al., 2013), and DCCAE with its autoencoders (Wang et al., 2015)."""

    title = "DCCA"
    words: ClassVar = {"reconstruct": "reconstruction {}", "ridge": "ridge {}"}
    method: Literal["dcca"]
    dimensions: Count = 9
    """Width of the networks' outputs, which linear CCA makes the subspace of."""
    reconstruct: float = Field(default=0.0, ge=0)
    """Weight of the autoencoders' mean squared error: DCCAE."""
    ridge: Positive = 1e-3
    """Added to the variances of a batch's outputs."""

    @property
    def called(self) -> str:
        """``DCCA``, or ``DCCAE``."""
        return "DCCAE" if self.reconstruct else self.title


class CorrelationAutoencoder(OtherNetwork):
    """Corr-AE: two autoencoders whose codes agree (Feng et al., 2014)."""

    title = "Corr-AE"
    words: ClassVar = {"share": "agreement {}"}
    method: Literal["corr_ae"]
    share: float = Field(default=0.8, gt=0, lt=1)
    """Alpha: weight of the agreement of codes, 1 - alpha of reconstruction."""


class Adversarial(OtherNetwork):
    """ACMR-like: classes, triplets, and a modality classifier to deceive (after Wang et al., 2017)."""

    title = "ACMR-like"
    words: ClassVar = {"margin": "m = {}"}
    method: Literal["acmr"]
    adversary: float = Field(default=0.1, ge=0)
    """Weight of the modality classifier, reached by a schedule."""
    triplets: float = Field(default=1.0, ge=0)
    """Weight of the triplets beside the classes."""
    margin: Positive = 0.2
    """Margin of the triplets."""


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

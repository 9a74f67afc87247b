"""Every model as settings: names, widths, ranges and defaults. Nothing here imports torch.

A new model is a class here, with its line in ``MODELS``, and a module with its network. See ``docs/new_model.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from fivesentences.config.lazy_class import class_named
from fivesentences.config.reading import check
from fivesentences.config.types import (
    Direction,
    IsWidth,
    Layers,
    Layout,
    MayRepeat,
    Positive,
    Share,
    Strict,
    Variant,
    Width,
)
from fivesentences.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from fivesentences.models.concepts import ConceptGraph


RawNorm = Literal["clipped_l2norm", "l2norm", "softmax", "clipped", "no_norm"]
Aggregation = Literal["LogSumExp", "Mean", "Max", "Sum"]


@dataclass(frozen=True)
class ConceptOptions:
    """How the concepts of a model that needs some are made, and which of them it is given with a caption.

    Attributes:
        most: The most concepts.
        glove: GloVe vectors of the concepts as text; None: vectors made of the concepts' counts.
        labels: At test, the concepts that the caption itself names (``"paper"``), or that any caption of its image
            names (``"released"``), which leaks which captions belong together.
        captions: The captions that concepts are made of: those that a run trains on (``"own"``), or the whole training
            split (``"all"``).
    """

    most: int = 300
    glove: Path | None = None
    labels: Variant = "paper"
    captions: Literal["own", "all"] = "own"


class ModelSpec(Strict):
    """A model with its settings: everything about it that needs no weights.

    A specification is in a file beside its model's class, and is the one place for the model's settings, their
    defaults and their ranges. Configuration files are checked against it, folders of runs are named by it, the class
    is built from it, and the page of options is written from it.

    Attributes:
        implementation: The model's class, as module and name; text, since importing it takes torch.
        layout: The features that the model reads: ``"global"`` (one vector per image) or ``"grid"`` (several).
        title: Name of the model in tables.
        needs: Inputs beyond images and captions: ``"concepts"`` (a concept graph, when it is built) and
            ``"concept_labels"`` (a keyword argument of its caption encoder, one row per caption).
        counts_regions: Whether its weights depend on the number of regions per image, so that the class takes
            ``regions``.
        name: Its name in the registry.
    """

    implementation: ClassVar[str]
    layout: ClassVar[Layout]
    title: ClassVar[str]
    needs: ClassVar[frozenset[str]] = frozenset()
    counts_regions: ClassVar[bool] = False

    name: str

    @classmethod
    @cache
    def widths(cls) -> tuple[str, ...]:
        """Return the names of the settings that are widths: a scale sets them, and they do not show in folder names."""
        fields = cls.model_fields.items()
        return tuple(name for name, field in fields if any(isinstance(mark, IsWidth) for mark in field.metadata))

    @classmethod
    @cache
    def settings(cls) -> tuple[str, ...]:
        """Return the names of all other settings: what tells one variant of the model from another."""
        return tuple(name for name in cls.model_fields if name != "name" and name not in cls.widths())

    @property
    def folder(self) -> str:
        """Readable name for a folder, such as ``scan,direction=i2t``: the settings that were stated, without widths."""
        stated = {key: getattr(self, key) for key in self.settings() if key in self.model_fields_set}
        parts = (f"{key}={_shown(value)}" for key, value in stated.items() if value is not None)
        return ",".join([self.name, *parts])

    @property
    def concept_options(self) -> ConceptOptions:
        """Settings of the concepts, for a model that needs them."""
        return ConceptOptions()

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """Return the same model with other settings.

        Raises:
            InputError: If it has no such setting, or a value is out of range.
        """
        return check(type(self), self.model_dump() | dict(options), f"options of {self.title}") if options else self

    def with_widths(self, widths: Mapping[str, int]) -> Self:
        """Return the same model with those of the given widths that it has; the others of its widths stay as they are.

        Raises:
            InputError: If a width is out of range.
        """
        mine = {name: widths.get(name, getattr(self, name)) for name in self.widths()}
        return check(type(self), self.model_dump() | mine, f"widths of {self.title}")

    def build(
        self, *, image_dim: int, vocabulary_size: int, regions: int | None = None, concepts: ConceptGraph | None = None
    ) -> Any:
        """The model (a ``Matcher``) with fresh weights from torch's global generator, drawn as in the released code.

        Args:
            image_dim: Length of an image feature vector.
            vocabulary_size: Number of words, special ones included.
            regions: Feature vectors per image, for a model that counts them; None: the class's own default.
            concepts: The concepts of the training captions, for a model that needs them.

        Raises:
            InputError: If the model needs concepts and there are none.
        """
        given: dict[str, Any] = {}
        if self.counts_regions and regions is not None:
            given["regions"] = regions
        if "concepts" in self.needs:
            if concepts is None:
                raise InputError(f"{self.title} needs concepts; give ConceptGraph.of_captions(...) as concepts.")
            given["concepts"] = concepts
        return class_named(self.implementation)(self, image_dim=image_dim, vocabulary_size=vocabulary_size, **given)

    @model_serializer(mode="wrap")
    def _stated(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only what was stated, so that a specification that is written and read again keeps its folder name."""
        written: dict[str, Any] = serialise(self)
        stated = {key: value for key, value in written.items() if key in self.model_fields_set and value is not None}
        return {"name": self.name} | stated

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        for key in given if isinstance(given, dict) else ():
            if key not in cls.model_fields:
                known = ", ".join((*cls.settings(), *cls.widths()))
                hint = did_you_mean(str(key), cls.model_fields) or f"it has: {known}"
                raise ValueError(f"'{key}' is no setting of the model {given.get('name', cls.title)}; {hint}")
        return given


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list):
        return "_".join(_shown(one) for one in value)
    return str(value).replace("/", "_")


class VSEPPSpec(ModelSpec):
    """VSE++: one vector per image, one per caption, and their dot product (Faghri et al. 2018)."""

    implementation = "fivesentences.models.vsepp:VSEPP"
    layout = "global"
    title = "VSE++"

    name: Literal["vsepp"] = "vsepp"
    embedding: Width = 1024
    """Length of the common space."""
    word: Width = 300
    """Length of a word vector."""
    layers: Layers = 1
    """GRU layers."""
    measure: Literal["cosine", "order"] = "cosine"
    """`cosine`, or `order`: minus the length of the part of the caption that exceeds the image."""
    normalise_images: bool = True
    """Off: image vectors keep their length (released option `no_imgnorm`)."""
    use_abs: bool = False
    """Absolute values of both vectors after the norm (released option, meant for `order`)."""
    initialisation: Literal["released", "xavier"] = "released"
    """First weights of word vectors and GRU: as released, or Xavier's with zero biases (kNN margin)."""
    pooling: Literal["last", "mean", "max"] = "last"
    """What a caption's vector is made of: the GRU's state at the last word, as released, or the mean or the largest
    values of its states at all words (the kNN margin's temporal pooling, of which kind is not said)."""


class WordModelSpec(ModelSpec):
    """A model that compares the words of a caption, as states of a GRU, with the regions of an image."""

    layout = "grid"

    embedding: Width = 1024
    """Length of the common space."""
    word: Width = 300
    """Length of a word vector."""
    layers: Layers = 1
    """GRU layers."""
    bidirectional: bool = True
    """Captions are read in both directions."""


class SCANSpec(WordModelSpec):
    """SCAN: stacked cross attention between the words of a caption and the regions of an image (Lee et al. 2018)."""

    implementation = "fivesentences.models.scan:SCAN"
    title = "SCAN"
    # Released temperatures by direction: of the attention's softmax, of LogSumExp (i2t on COCO: 20).
    TEMPERATURES: ClassVar[dict[Direction, tuple[float, float]]] = {"t2i": (9.0, 6.0), "i2t": (4.0, 5.0)}

    name: Literal["scan"] = "scan"
    normalise_images: bool = True
    """Off: region vectors keep their length (released option `no_imgnorm`)."""
    normalise_captions: bool = True
    """Off: word vectors keep their length (released option `no_txtnorm`)."""
    direction: Direction = "t2i"
    """`t2i`: every word attends to regions; `i2t`: every region attends to words."""
    aggregation: Aggregation = "LogSumExp"
    """How the cosines of the attending items become one score."""
    raw_norm: RawNorm = "clipped_l2norm"
    """Norm of the raw attention across the attending items (released `raw_feature_norm`)."""
    softmax_temperature: Positive | None = None
    """Factor in the attention's softmax (`lambda_softmax`); null: 9 (t2i), 4 (i2t)."""
    pooling_temperature: Positive | None = None
    """Factor in LogSumExp (`lambda_lse`); null: 6 (t2i), 5 (i2t; the release has 20 on COCO)."""
    projection: Literal["basic", "weight_norm"] = "basic"
    """`weight_norm` trains the length of the image layer's weight separately (released option)."""

    @property
    def temperatures(self) -> tuple[float, float]:
        """Factors in the attention's softmax and in LogSumExp: those given, or the direction's released ones."""
        softmax, pooling = self.TEMPERATURES[self.direction]
        return (
            softmax if self.softmax_temperature is None else self.softmax_temperature,
            pooling if self.pooling_temperature is None else self.pooling_temperature,
        )


class SimilarityVectorsSpec(WordModelSpec):
    """A model that reasons over similarity vectors of words and regions (Diao et al. 2021)."""

    counts_regions = True

    similarity_dim: Width = 256
    """Length of a similarity vector."""
    dropout: Share = 0.4
    """Dropout of word vectors and of the poolings, in training."""


class SGRSpec(SimilarityVectorsSpec):
    """SGR: similarity graph reasoning over the similarity vectors of a pair (Diao et al. 2021)."""

    implementation = "fivesentences.models.sgr:SGR"
    title = "SGR"

    name: Literal["sgr"] = "sgr"
    steps: Layers = 3
    """Steps of reasoning, each with its own weights."""
    # The last setting of both models: in folder names SGR's steps come before it.
    temperature: Positive = 9.0
    """Factor in the attention's softmax."""


class SAFSpec(SimilarityVectorsSpec):
    """SAF: similarity attention filtration of the similarity vectors of a pair (Diao et al. 2021)."""

    implementation = "fivesentences.models.saf:SAF"
    title = "SAF"

    name: Literal["saf"] = "saf"
    temperature: Positive = 9.0
    """Factor in the attention's softmax."""


class VSRNSpec(ModelSpec):
    """VSRN: relations between regions, a GRU over them, and a captioning loss in training (Li et al. 2019)."""

    implementation = "fivesentences.models.vsrn:VSRN"
    layout = "grid"
    title = "VSRN"

    name: Literal["vsrn"] = "vsrn"
    embedding: Width = 2048
    """Length of the common space."""
    word: Width = 300
    """Length of a word vector of the sentence GRU."""
    caption_hidden: Width = 512
    """State of the captioner's GRUs."""
    caption_word: Width = 300
    """Length of the captioner's own word vectors."""
    recipe: Literal["flickr30k", "coco"] = "flickr30k"
    """The release has two: `flickr30k` puts a batch norm behind the GRU over regions, `coco` an L2 norm before the
    relation blocks instead."""
    captioning: float = Field(default=1.0, ge=0)
    """Weight of the captioning loss; 0: no captioner at all (the authors' checkpoints have none)."""
    caption_longest: int = Field(default=60, ge=2, le=10_000)
    """Most words that the captioner writes, `<start>` and `<end>` included."""
    captioner_steps: Literal[1, 2] = 1
    """How often the captioner's weights stand in the optimiser's list; the release names them twice, so that they take
    two steps per batch."""
    caption_dropout: Share = 0.2
    """Dropout of the input of both GRUs of the captioner."""


class CVSESpec(WordModelSpec):
    """CVSE: an instance level, and a consensus level that describes both sides by concepts (Wang et al. 2020)."""

    implementation = "fivesentences.models.cvse:CVSE"
    title = "CVSE"
    needs = frozenset({"concepts", "concept_labels"})
    counts_regions = True

    name: Literal["cvse"] = "cvse"
    embedding: Width = Field(default=1024, multiple_of=2)
    """Length of the common space; even."""
    most_concepts: Width = ConceptOptions.most
    """The most concepts; small corpora give fewer."""
    dropout: Share = 0.4
    """Dropout of word vectors and of both sides of the attention, in training."""
    alpha: Share = 0.85
    """Share of the instance level in the fused vectors, in training."""
    test_alpha: Share | None = None
    """The same when scoring; null: `alpha` (released: .85 on Flickr30K, .9 on COCO)."""
    label_ratio: Share = 0.35
    """Share of the named concepts in a caption's distribution (released: .4 on COCO)."""
    fused_share: Share = 0.95
    """Share of the fused vectors in the score."""
    loss_weights: Annotated[list[float], MayRepeat()] = Field(default=[3.0, 5.0, 1.0, 2.0], min_length=4, max_length=4)
    """Weights of the triplet loss of the fused, instance and consensus level, and of the distributions' divergence."""
    concept_drop: float | None = Field(default=None, gt=0, le=1)
    """Share to which the concept network's learning rate falls when that of the others falls tenfold (released: .2);
    null: as the others."""
    clip_concepts: bool = True
    """Whether the concept network's gradients are clipped (the fork with SAM leaves them out)."""
    labels: Variant = ConceptOptions.labels
    """Concept labels at test: of the caption itself, or (`released`) of all captions of its image, which leaks which
    captions belong together."""
    glove: Path | None = ConceptOptions.glove
    """GloVe vectors of the concepts as text; null: vectors made of the concepts' counts."""
    concept_captions: Literal["own", "all"] = ConceptOptions.captions
    """Captions that concepts are made of: those that a run trains on, or all of the training split, as released."""

    @property
    def concept_options(self) -> ConceptOptions:
        """How the concepts are made."""
        return ConceptOptions(self.most_concepts, self.glove, self.labels, self.concept_captions)

    @property
    def alpha_at_test(self) -> float:
        """Share of the instance level in the fused vectors when scoring."""
        return self.alpha if self.test_alpha is None else self.test_alpha


class VSEInfinitySpec(WordModelSpec):
    """VSE∞: regions and words pooled by learned weights of the ranks of their values (Chen et al. 2021)."""

    implementation = "fivesentences.models.vse_infinity:VSEInfinity"
    title = "VSE∞"

    name: Literal["vse_infinity"] = "vse_infinity"
    embedding: Width = Field(default=1024, multiple_of=2)
    """Length of the common space; even."""
    drop_regions: Share = 0.2
    """Share of the regions of an image that training leaves out, drawn for each batch."""
    change_words: Share = 0.2
    """Share of the words of a caption that training changes, drawn for each batch: half are hidden, a tenth become any
    word, the others are left out."""


#: The specification of every model, by name.
MODELS: dict[str, type[ModelSpec]] = {
    "vsepp": VSEPPSpec,
    "scan": SCANSpec,
    "sgr": SGRSpec,
    "saf": SAFSpec,
    "vsrn": VSRNSpec,
    "cvse": CVSESpec,
    "vse_infinity": VSEInfinitySpec,
}


def spec_class(name: str) -> type[ModelSpec]:
    """Return the specification of a model.

    Raises:
        InputError: If there is no model of that name.
    """
    if name not in MODELS:
        hint = did_you_mean(name, MODELS) or f"there are: {', '.join(MODELS)}."
        raise InputError(f"'{name}' is not a model; {hint}")
    return MODELS[name]


def model_spec(name: str, **settings: Any) -> ModelSpec:
    """Return a model with some settings and widths; the others have their defaults.

    Args:
        name: A key of ``MODELS``.
        settings: Settings and widths of that model, such as ``direction="i2t", embedding=256``.

    Raises:
        InputError: If there is no such model, or it lacks a setting, or a value is out of range.
    """
    kind = spec_class(name)
    return check(kind, {"name": name} | settings, kind.title)


def widths_of(names: set[str] | None = None) -> set[str]:
    """Widths that at least one of some models has; of all models without names."""
    return {width for name, kind in MODELS.items() if names is None or name in names for width in kind.widths()}


def _of_its_kind(given: Any) -> Any:
    """Plain data -> the specification that its ``name`` asks for."""
    if not isinstance(given, dict):
        return given
    if "name" not in given:
        raise ValueError(f"it names no model; add name, one of: {', '.join(MODELS)}")
    try:
        kind = spec_class(str(given["name"]))
    except InputError as error:
        raise ValueError(str(error).removesuffix(".")) from None
    return kind.model_validate(given)


def _without_widths(spec: ModelSpec) -> ModelSpec:
    for width in spec.widths():
        if width in spec.model_fields_set:
            raise ValueError(f"{width} is a width, and widths are set by a scale; move it to training.widths there")
    return spec


class _OneOfTheModels:
    """The JSON schema of a field that holds a model: that of one of the registered specifications."""

    def __get_pydantic_json_schema__(self, schema: Any, of_schema: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
        kinds = [of_schema(kind.__pydantic_core_schema__) for kind in MODELS.values()]
        return {"oneOf": [kind | {"required": ["name"]} for kind in kinds]}


#: A pydantic field that holds any registered model: ``{name: scan, direction: i2t}`` becomes its specification.
AnyModelSpec = Annotated[SerializeAsAny[ModelSpec], BeforeValidator(_of_its_kind), _OneOfTheModels()]
#: The same in a study, which tells variants of a model apart and leaves the widths to the scale.
ModelVariant = Annotated[AnyModelSpec, AfterValidator(_without_widths)]

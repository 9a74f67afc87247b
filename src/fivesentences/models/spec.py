"""What the specification of every model states. Nothing here, nor in a specification, imports torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from fivesentences.config.named import class_named
from fivesentences.config.reading import check
from fivesentences.config.types import IsWidth, Layout, Strict, Variant
from fivesentences.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from fivesentences.models.concepts import ConceptGraph


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
        title: What tables call the model.
        needs: What it takes beyond images and captions: ``"concepts"`` (a concept graph, when it is built) and
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
    def widths(cls) -> tuple[str, ...]:
        """Names of the settings that are widths: a scale sets them, and they do not show in folder names."""
        fields = cls.model_fields.items()
        return tuple(name for name, field in fields if any(isinstance(mark, IsWidth) for mark in field.metadata))

    @classmethod
    def settings(cls) -> tuple[str, ...]:
        """Names of all other settings: what tells one variant of the model from another."""
        return tuple(name for name in cls.model_fields if name != "name" and name not in cls.widths())

    @property
    def folder(self) -> str:
        """Readable name for a folder, such as ``scan,direction=i2t``: the settings that were stated, without widths."""
        stated = {key: getattr(self, key) for key in self.settings() if key in self.model_fields_set}
        parts = (f"{key}={_shown(value)}" for key, value in stated.items() if value is not None)
        return ",".join([self.name, *parts])

    @property
    def concept_options(self) -> ConceptOptions:
        """Of a model that needs concepts: how they are made."""
        return ConceptOptions()

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """The same model with other settings.

        Raises:
            InputError: If it has no such setting, or a value is out of range.
        """
        return check(type(self), self.model_dump() | dict(options), f"options of {self.title}") if options else self

    def with_widths(self, widths: Mapping[str, int]) -> Self:
        """The same model with those of the given widths that it has; the others of its widths stay as they are.

        Raises:
            InputError: If a width is out of range.
        """
        mine = {name: widths.get(name, getattr(self, name)) for name in self.widths()}
        return check(type(self), self.model_dump() | mine, f"widths of {self.title}")

    def build(
        self,
        *,
        image_dim: int,
        vocabulary_size: int,
        regions: int | None = None,
        concepts: ConceptGraph | None = None,
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

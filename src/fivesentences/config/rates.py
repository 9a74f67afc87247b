"""How fast stages are on a machine: ``config/machines/rates.yaml``, which ``benchmarks/bench_rates.py`` writes."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fivesentences.config.types import Count, PhiName, Strict

Seconds = Annotated[float, Field(ge=0)]


class ExtractorRate(Strict):
    """One kind of features.

    Attributes:
        seconds: Per image, once running.
        shape: Of an image's features: ``[dim]`` or ``[regions, dim]``.
    """

    seconds: Seconds
    shape: list[Count] = Field(min_length=1, max_length=2)


class ModelRate(Strict):
    """One model with its widths, features and batches; see ``plan.costs.setting_of``.

    Attributes:
        step: Seconds of a training step.
        per_image: Seconds per test image, with its captions, to encode them.
        per_pair: Seconds per image and image of the captions, to compare them: ``n`` images take
            ``per_image n + per_pair n^2``.
        parameters: Numbers in the weights.
    """

    step: Seconds
    per_image: Seconds
    per_pair: Seconds
    parameters: Annotated[int, Field(ge=0)]


class EncoderRate(Strict):
    """One dual encoder; see ``encoders.spec.EncoderSpec.setting``.

    Attributes:
        image: Seconds per image, prepared and described.
        caption: Seconds per caption.
        dimensions: Numbers of a vector.
    """

    image: Seconds
    caption: Seconds
    dimensions: Count


class SubspaceRate(Strict):
    """One method of category retrieval with its settings and the sizes of vectors; see ``subspace_setting``.

    Attributes:
        documents: Training documents that were measured.
        start: Seconds per 1,000 training documents, whatever the epochs: all that a method without epochs takes.
        epoch: Seconds per 1,000 training documents and epoch, with an eighth as many for validation.
    """

    documents: Count
    start: Seconds
    epoch: Seconds


class MachineRates(Strict):
    """What computes features and trains.

    Attributes:
        machine: What was measured, in words.
        extractors: By the name of the features' file.
        encoders: By ``EncoderSpec.setting``; those whose weights were there.
        models: By ``setting_of``.
    """

    machine: str
    extractors: dict[str, ExtractorRate] = Field(default={})
    encoders: dict[str, EncoderRate] = Field(default={})
    models: dict[str, ModelRate] = Field(default={})


class CoreRates(MachineRates):
    """One core, which alone does the rest.

    Attributes:
        job: Seconds that a job of the workflow takes to start.
        phis: Seconds per million pairs of a caption and an image, by phi.
        prepare: Seconds per 1,000 captions to prepare CIDEr for training.
        parse: Seconds per 1,000 captions of SPICE's parser; null: not measured.
        evaluate: Seconds per million pairs to evaluate a similarity by one phi.
        subspaces: Category retrieval, by ``subspace_setting``.
        evaluate_subspaces: Seconds per million pairs of an image and a text to evaluate vectors of category retrieval;
            null: not measured.
    """

    job: Seconds
    phis: dict[PhiName, Seconds] = Field(default={})
    prepare: Seconds
    parse: Seconds | None = None
    evaluate: Seconds
    subspaces: dict[str, SubspaceRate] = Field(default={})
    evaluate_subspaces: Seconds | None = None


class Rates(Strict):
    """``config/machines/rates.yaml``.

    Attributes:
        core: One core.
        gpu: A GPU; null: none was at hand.
    """

    core: CoreRates
    gpu: MachineRates | None = None

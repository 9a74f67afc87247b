"""The semantic metrics, by name, and how each is prepared for a corpus.

Scorers are imported when one is prepared: planning reads the names without numpy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fivesentences.config.named import class_named
from fivesentences.errors import Cure, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from fivesentences.semantics.scoring import Scorer
    from fivesentences.semantics.tuples import Tuples

TOKENISATIONS = ("whitespace", "reattached", "ptb")


@dataclass(frozen=True)
class MetricInput:
    """What a metric is prepared from, checked.

    Attributes:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenisation: How captions are split into words; ignored by a metric that does not split them itself.
        tuples: Scene-graph tuples of the captions, if there are any.
    """

    captions: list[str]
    image_of_caption: NDArray[np.int64]
    tokenisation: str
    tuples: Tuples | None


@dataclass(frozen=True)
class SemanticMetric:
    """A metric of the registry.

    Attributes:
        prepare: Builds the scorer.
        tokenised: Whether a tokenisation may be chosen.
        idf: Whether a score depends on all captions of the corpus, through document frequencies.
        tuples: Whether the metric compares scene-graph tuples.
        whole: Whether a whole matrix can be computed; otherwise only pairs.
        undefined: Description of what a cell holds where the metric is undefined.
    """

    prepare: Callable[[MetricInput], Scorer]
    tokenised: bool = False
    idf: bool = False
    tuples: bool = False
    whole: bool = True
    undefined: str | None = None


def _of_words(scorer: str, idf: bool = False, **settings: int) -> SemanticMetric:
    def prepared(given: MetricInput) -> Scorer:
        kind = class_named(f"fivesentences.semantics.{scorer}")
        made: Scorer = kind(given.captions, given.image_of_caption, tokenize=given.tokenisation, **settings)
        return made

    return SemanticMetric(prepared, tokenised=True, idf=idf)


def _spice(part: str) -> SemanticMetric:
    def scorer(given: MetricInput) -> Scorer:
        assert given.tuples is not None  # `prepare` has checked it
        # The released program gives NaN where the image has no such tuple; retrieval needs numbers.
        kind = class_named("fivesentences.semantics.spice:SpiceScorer")
        made: Scorer = kind(given.tuples.of_caption, given.image_of_caption, part=part, undefined=0.0)
        return made

    undefined = None if part == "all" else f"0 where the image has no tuple of {part}"
    return SemanticMetric(scorer, tuples=True, undefined=undefined)


def _meteor(given: MetricInput) -> Scorer:
    made: Scorer = class_named("fivesentences.semantics.java.meteor:MeteorScorer")(
        given.captions, given.image_of_caption
    )
    return made


def _binary(given: MetricInput) -> Scorer:
    made: Scorer = class_named("fivesentences.semantics.binary:BinaryScorer")(given.image_of_caption)
    return made


#: Every phi by name. ``prepare`` turns one into a scorer; a name may end in a tokenisation, such as ``cider-ptb``.
SEMANTIC_METRICS: dict[str, SemanticMetric] = {
    "cider": _of_words("cider:CiderScorer", idf=True),
    "spice": _spice("all"),
    **{f"spice_{part}": _spice(part) for part in ("object", "attribute", "relation", "colour", "count", "size")},
    **{f"bleu{n}": _of_words("bleu:BleuScorer", n=n) for n in (1, 2, 3, 4)},
    "rouge_l": _of_words("rouge:RougeLScorer"),
    "tfidf": _of_words("tfidf:TfidfScorer", idf=True),
    "bleu_daa": _of_words("bleu:BleuDaaScorer"),
    "rouge_daa": _of_words("rouge:RougeDaaScorer"),
    "meteor": SemanticMetric(_meteor, whole=False),
    "binary": SemanticMetric(_binary),
}


def parse_name(phi_name: str) -> tuple[str, str | None]:
    """Split a phi name such as ``cider-ptb`` into metric and tokenisation.

    Returns:
        A name in ``SEMANTIC_METRICS``; one of ``TOKENISATIONS``, which is ``"whitespace"`` unless the name says
        otherwise, or None for a metric that does not split words itself.

    Raises:
        InputError: If there is no such metric or tokenisation, or the metric takes no tokenisation.
    """
    name, dash, tokenisation = phi_name.partition("-")
    metric = SEMANTIC_METRICS.get(name)
    if metric is None:
        raise InputError(f"semantic metric is {name!r}; expected one of {', '.join(sorted(SEMANTIC_METRICS))}.")
    if not dash:
        return name, "whitespace" if metric.tokenised else None
    if not metric.tokenised:
        raise InputError(f"phi is {phi_name!r}, but {name} takes no tokenisation; write {name!r}.")
    if tokenisation not in TOKENISATIONS:
        raise InputError(
            f"phi is {phi_name!r}; a tokenisation is one of {', '.join(TOKENISATIONS)}, as in "
            f"'{name}-{TOKENISATIONS[-1]}'."
        )
    return name, tokenisation


def needs_tuples(phi_name: str) -> bool:
    """Whether a phi is computed from scene-graph tuples.

    Raises:
        InputError: If there is no such metric or tokenisation.
    """
    return SEMANTIC_METRICS[parse_name(phi_name)[0]].tuples


def prepare(
    phi_name: str, captions: Sequence[str], image_of_caption: ArrayLike, tuples: Tuples | None = None
) -> Scorer:
    """Prepare the scorer of a phi for one corpus.

    Args:
        phi_name: ``metric`` or ``metric-tokenisation``: a name in ``SEMANTIC_METRICS`` and one of ``TOKENISATIONS``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption; in any order, with any number of captions per
            image.
        tuples: Scene-graph tuples of the captions, for SPICE.

    Raises:
        InputError: If there is no such phi, the captions do not fit, or tuples are needed and missing.
    """
    from fivesentences.semantics.validation import checked_corpus

    metric, tokenisation = parse_name(phi_name)
    captions, pairing = checked_corpus(captions, image_of_caption)
    if needs_tuples(phi_name):
        if tuples is None:
            raise InputError(
                f"{phi_name} compares scene graphs, and the tuples of the captions are missing",
                cure=Cure(
                    python="pass tuples=read_tuples(file, captions), from a file that parse_captions wrote",
                    shell="parse the captions first: fivesentences phi spice CAPTIONS -o FILE",
                ),
            )
        if len(tuples.of_caption) != len(captions):
            raise InputError(
                f"there are tuples of {len(tuples.of_caption)} captions but {len(captions)} captions; "
                "read the tuples of exactly these captions."
            )
    return SEMANTIC_METRICS[metric].prepare(MetricInput(captions, pairing, tokenisation or "whitespace", tuples))


def check_whole(phi_name: str) -> None:
    """Check that there is such a phi and that its whole matrix can be computed.

    Raises:
        InputError: If there is no such phi, or it scores single pairs only.
    """
    if not SEMANTIC_METRICS[parse_name(phi_name)[0]].whole:
        pairs = f"prepare({phi_name!r}, captions, image_of_caption).pairs(captions, images)"
        raise InputError(
            f"{phi_name} takes over a millisecond per pair, so there is no whole matrix of it",
            cure=Cure(python=f"score chosen pairs with {pairs}", shell="choose another metric"),
        )

"""The semantic metrics, by name, and how each is prepared for a corpus.

Scorers are imported when one is prepared: planning reads the names without numpy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from fivesentences.config.lazy_class import class_named
from fivesentences.errors import Cure, InputError, did_you_mean, install, need

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from fivesentences.semantics.scoring import Scorer
    from fivesentences.semantics.sentence_encoders import CaptionVectors
    from fivesentences.semantics.tuples import Tuples

TOKENISATIONS = ("whitespace", "reattached", "characters", "ptb")
#: How captions stand for their image in a phi of vectors: the mean of their vectors, the nearest, the mean cosine.
REFERENCE_KINDS = ("centroid", "max", "mean")
#: Models of captions that packages of the extra ``meaning`` hold: all-MiniLM-L6-v2, and static word vectors.
PACKAGED = MINILM, WORDS = "minilm", "wordllama"
#: phi of captions that nobody chose: CIDEr, as papers report it, and word vectors, as people judge.
BY_DEFAULT = "cider", f"embedding:{WORDS}"


@dataclass(frozen=True)
class SemanticMetric:
    """A metric of the registry.

    Attributes:
        scorer: Module and class of the scorer in this package.
        settings: Its arguments besides the captions and their images.
        tokenised: Whether a tokenisation may be chosen.
        idf: Whether a score depends on all captions of the corpus, through document frequencies.
        tuples: Whether the metric compares scene-graph tuples.
        drawn: Whether the scores are those of the program that drew the scenes, and nobody can compute them.
        given: Whether somebody gives the scores, in a file.
        whole: Whether a whole matrix can be computed; otherwise only pairs.
        undefined: Description of the cells where the metric is undefined.
    """

    scorer: str
    settings: dict[str, Any] = field(default_factory=dict)
    tokenised: bool = False
    idf: bool = False
    tuples: bool = False
    drawn: bool = False
    given: bool = False
    whole: bool = True
    undefined: str | None = None


def _spice(part: str) -> SemanticMetric:
    # The released program gives NaN where the image has no such tuple; retrieval needs numbers.
    undefined = None if part == "all" else f"0 where the image has no tuple of {part}"
    return SemanticMetric("spice:SpiceScorer", {"part": part, "undefined": 0.0}, tuples=True, undefined=undefined)


class PhiParts(NamedTuple):
    """Parts of the name of a phi.

    Attributes:
        metric: A name in ``SEMANTIC_METRICS``.
        tokenisation: One of ``TOKENISATIONS``; None for a metric that does not split words itself.
        model: Encoder of captions, for a phi of vectors; None for others.
        references: One of ``REFERENCE_KINDS``, likewise.
    """

    metric: str
    tokenisation: str | None = None
    model: str | None = None
    references: str | None = None


#: Every phi by name. ``prepare`` turns one into a scorer. A name may end in a tokenisation, such as ``cider-ptb``; that
#: of ``embedding`` may name a model and how references are taken, such as ``embedding:wordllama-max``, and that of
#: ``judged`` says whose scores they are, such as ``judged:annotators``.
SEMANTIC_METRICS: dict[str, SemanticMetric] = {
    "cider": SemanticMetric("cider:CiderScorer", tokenised=True, idf=True),
    "spice": _spice("all"),
    **{f"spice_{part}": _spice(part) for part in ("object", "attribute", "relation", "colour", "count", "size")},
    **{f"bleu{n}": SemanticMetric("bleu:BleuScorer", {"n": n}, tokenised=True) for n in (1, 2, 3, 4)},
    "rouge_l": SemanticMetric("rouge:RougeLScorer", tokenised=True),
    "tfidf": SemanticMetric("tfidf:TfidfScorer", tokenised=True, idf=True),
    "bleu_daa": SemanticMetric("bleu:BleuDaaScorer", tokenised=True),
    "rouge_daa": SemanticMetric("rouge:RougeDaaScorer", tokenised=True),
    "embedding": SemanticMetric("embedding:EmbeddingScorer"),
    "meteor": SemanticMetric("java.meteor:MeteorScorer", whole=False),
    "binary": SemanticMetric("scoring:BinaryScorer"),
    "truth": SemanticMetric("scoring:TruthScorer", drawn=True),
    "judged": SemanticMetric("scoring:TruthScorer", given=True),
}


def plain_name(name: str) -> str:
    """Return the name of a metric as this package writes it: ``bleu4-ptb`` for "BLEU-4-PTB", ``cider`` for "CIDEr".

    Papers, COCO's code (Bleu_4, ROUGE_L) and tables of this package write them otherwise. Names of models and files
    are kept.
    """
    metric, colon, rest = name.partition(":")
    if colon:
        return f"{metric.lower()}{colon}{rest}"
    lower = re.sub(r"^bleu[-_ ](?=[1-4])", "bleu", metric.lower())
    return re.sub(r"^rouge[-_ ]?l(?![a-z])", "rouge_l", lower)


def parse_name(phi_name: str) -> PhiParts:
    """Split a phi name such as ``cider-ptb`` or ``embedding:wordllama-max``.

    A tokenisation is ``"whitespace"``, a model ``"minilm"`` and references are ``"centroid"`` unless the name says
    otherwise. The spelling may be another one, see ``plain_name``.

    Raises:
        InputError: If there is no such metric or tokenisation, or the metric takes no tokenisation or model.
    """
    phi_name = plain_name(phi_name)
    name, colon, model = phi_name.partition(":")
    head, dash, last = (model if colon else name).rpartition("-")
    if name == "embedding" or head == "embedding":
        references = last if dash and last in REFERENCE_KINDS else "centroid"
        model = model.removesuffix(f"-{references}") or MINILM
        if not colon and phi_name not in ("embedding", f"embedding-{references}"):
            kinds = ", ".join(REFERENCE_KINDS)
            raise InputError(f"phi is {phi_name!r}; references are one of {kinds}, as in 'embedding-max'.")
        return PhiParts("embedding", None, model, references)
    if name == "judged":
        if not model:
            raise InputError(f"phi is {phi_name!r}; say whose scores these are, as in 'judged:annotators'.")
        return PhiParts("judged")
    if "," in phi_name:
        what = f"'{phi_name[:40]}' holds several names of phi"
        raise InputError(what, cure=Cure("name one at a time", "repeat the option, with one name each"))
    name, dash, tokenisation = phi_name.partition("-")
    metric = SEMANTIC_METRICS.get(name)
    if metric is None:
        expected = f"semantic metric is {name!r}; expected one of {', '.join(sorted(SEMANTIC_METRICS))}"
        guess = did_you_mean(name, SEMANTIC_METRICS)
        raise InputError(expected if guess else f"{expected}.", cure=guess)
    if not dash:
        return PhiParts(name, "whitespace" if metric.tokenised else None)
    if not metric.tokenised:
        raise InputError(f"phi is {phi_name!r}, but {name} takes no tokenisation; write {name!r}.")
    if tokenisation not in TOKENISATIONS:
        raise InputError(
            f"phi is {phi_name!r}; a tokenisation is one of {', '.join(TOKENISATIONS)}, as in '{name}-ptb'."
        )
    return PhiParts(name, tokenisation)


def needs_tuples(phi_name: str) -> bool:
    """Return whether a phi is computed from scene-graph tuples.

    Raises:
        InputError: If there is no such metric or tokenisation.
    """
    return SEMANTIC_METRICS[parse_name(phi_name)[0]].tuples


def of_batches(phi_name: str) -> bool:
    """Return whether losses compute a phi of words for each batch, in milliseconds; others are read from a matrix.

    Raises:
        InputError: If there is no such metric or tokenisation.
    """
    metric = SEMANTIC_METRICS[parse_name(phi_name).metric]
    return metric.whole and not metric.tuples and not metric.drawn and not metric.given


def is_drawn(phi_name: str) -> bool:
    """Return whether a phi is known only to the program that drew the scenes.

    Raises:
        InputError: If there is no such metric or tokenisation.
    """
    return SEMANTIC_METRICS[parse_name(phi_name).metric].drawn


def is_given(phi_name: str) -> bool:
    """Return whether a phi is read from a file of scores.

    Raises:
        InputError: If there is no such metric or tokenisation.
    """
    return SEMANTIC_METRICS[parse_name(phi_name).metric].given


def model_of(phi_name: str) -> str | None:
    """Return the model whose vectors a phi compares; None for a phi of words or tuples.

    Raises:
        InputError: If there is no such metric.
    """
    return parse_name(phi_name).model


def prepare(
    phi_name: str,
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    tuples: Tuples | None = None,
    vectors: CaptionVectors | None = None,
    truth: NDArray[np.floating] | None = None,
) -> Scorer:
    """Prepare the scorer of a phi for one corpus.

    Args:
        phi_name: See ``parse_name``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption; in any order, with any number of captions per
            image.
        tuples: Scene-graph tuples of the captions, for SPICE.
        vectors: Vectors of the captions by the phi's model, for ``embedding``; default: encode the captions.
        truth: ``[captions, images]`` in [0, 1], how much of each caption is true of each scene, for ``truth``; the
            scores, for ``judged``.

    Raises:
        InputError: If there is no such phi, the captions do not fit, or tuples or a truth are needed and missing.
    """
    parts = parse_name(phi_name)
    metric = SEMANTIC_METRICS[parts.metric]
    settings = metric.settings if parts.tokenisation is None else metric.settings | {"tokenize": parts.tokenisation}
    texts: Any = captions
    if parts.model is not None:
        texts = captions if vectors is None else vectors
        settings = {"model": parts.model, "references": parts.references}
    if metric.tuples:
        if tuples is None:
            raise InputError(
                f"{phi_name} compares scene graphs, and the tuples of the captions are missing",
                cure=Cure(
                    python="pass tuples=read_tuples(file, captions), from a file that parse_captions wrote",
                    shell="parse the captions first: fivesentences phi spice CAPTIONS -o FILE",
                ),
            )
        texts = tuples.of_caption
        if len(texts) != len(captions):
            raise InputError(
                f"there are tuples of {len(texts)} captions but {len(captions)} captions; read them again."
            )
    if metric.drawn:
        if truth is None:
            raise InputError(f"{phi_name!r} is known of drawn scenes only; choose another phi.")
        settings = {"truth": truth}
    if metric.given:
        if truth is None:
            raise InputError(f"{phi_name!r} is a file of scores, and cannot be computed here; choose another phi.")
        settings = {"truth": truth}
    made: Scorer = class_named(f"fivesentences.semantics.{metric.scorer}")(texts, image_of_caption, **settings)
    return made


def default_phis() -> tuple[list[str], list[str]]:
    """Return the phi of captions that nobody chose, and a sentence on word vectors if their package is missing."""
    cider, words = BY_DEFAULT
    try:
        need(WORDS, "words", words)
    except InputError:
        what = f"{words} is left out: it agrees with people better than {cider}, and needs the package {WORDS}"
        return [cider], [f"{what}; {install('words')}."]
    return [cider, words], []


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


# What tables and figures call each.
IN_WORDS = {
    "cider": "CIDEr",
    "spice": "SPICE",
    **{f"spice_{part}": f"SPICE, {part}s" for part in ("object", "attribute", "relation", "colour", "count", "size")},
    **{f"bleu{n}": f"BLEU-{n}" for n in (1, 2, 3, 4)},
    "rouge_l": "ROUGE-L",
    "tfidf": "tf-idf",
    "bleu_daa": "BLEU of DAA",
    "rouge_daa": "ROUGE of DAA",
    "embedding": "MiniLM",
    "embedding:minilm": "MiniLM",
    "embedding:wordllama": "WordLlama",
    "meteor": "METEOR",
    "binary": "binary",
    "truth": "truth",
}


def metric_in_words(phi: str) -> str:
    """Return ``CIDEr`` for ``cider-ptb``; an unknown metric keeps its name."""
    metric = phi.split("-")[0]
    return IN_WORDS.get(metric, metric.removeprefix("embedding:"))

"""Captions that a model made against those that people wrote, scored as captioning papers do."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError, did_you_mean, need, pip_install, say_once
from fivesentences.semantics import java
from fivesentences.semantics.bleu import BleuScorer
from fivesentences.semantics.cider import CiderScorer
from fivesentences.semantics.embedding import EmbeddingScorer
from fivesentences.semantics.java.jars import cache_folder, check_java, corenlp, has_java
from fivesentences.semantics.java.meteor import MeteorScorer
from fivesentences.semantics.java.ptb_tokenizer import ptb_lines
from fivesentences.semantics.phi_file import captions_sha256
from fivesentences.semantics.registry import MINILM, TOKENISATIONS, WORDS, plain_name
from fivesentences.semantics.rouge import RougeLScorer
from fivesentences.semantics.sentence_encoders import CaptionVectors, encode_captions
from fivesentences.semantics.spice import SpiceScorer
from fivesentences.semantics.tuples import RawTuple, Tuples, read_tuples
from fivesentences.semantics.validation import check_list, checked_captions
from fivesentences.storage import alone, scratch

KEPT = 20  # files of parsed captions in the user's cache, those that were used last


class CaptioningMetric(NamedTuple):
    """A metric of captioning papers.

    Attributes:
        title: Its name in papers.
        largest: The best score; the worst is 0.
        needs_java: Whether it runs Java however captions are split into words.
        model: Encoder whose vectors of captions it compares; see ``encode_captions``.
        references: How these are compared with those of the references, see ``EmbeddingScorer``.
    """

    title: str
    largest: float
    needs_java: bool = False
    model: str = ""
    references: str = ""


#: Every metric of ``score_captions``, by name.
CAPTIONING_METRICS: dict[str, CaptioningMetric] = {
    "cider": CaptioningMetric("CIDEr", 10),
    **{f"bleu{n}": CaptioningMetric(f"BLEU-{n}", 1) for n in (1, 2, 3, 4)},
    "rouge_l": CaptioningMetric("ROUGE-L", 1),
    "meteor": CaptioningMetric("METEOR", 1, needs_java=True),
    "spice": CaptioningMetric("SPICE", 1, needs_java=True),
    "spider": CaptioningMetric("SPIDEr", 5.5, needs_java=True),
    "words": CaptioningMetric("word vectors, mean", 1, model=WORDS, references="mean"),
    "words-max": CaptioningMetric("word vectors, best", 1, model=WORDS, references="max"),
    "embedding": CaptioningMetric("MiniLM, mean", 1, model=MINILM, references="mean"),
    "embedding-max": CaptioningMetric("MiniLM, best", 1, model=MINILM, references="max"),
    "clipscore": CaptioningMetric("CLIPScore", 2.5),
    "refclipscore": CaptioningMetric("RefCLIPScore", 10 / 7),
    "pacs": CaptioningMetric("PAC-S", 2),
    "refpacs": CaptioningMetric("RefPAC-S", 4 / 3),
}
#: Those of ``clipscore.clip_scores``, which need vectors of images and captions.
OF_IMAGES = "clipscore", "refclipscore", "pacs", "refpacs"
#: How tables name the words that a metric compares.
TOKENS = {"ptb": "PTB", "whitespace": "split at blanks", "reattached": "reattached", "characters": "characters"}
WITHOUT_EXTRA = "the extra java, which is not installed (another Java on this machine is not used)"
AS_WRITTEN = "as written"  # captions that SPICE's own parser or an encoder splits


class CaptionScores(NamedTuple):
    """The score of a set of captions, and that of each.

    Attributes:
        corpus: The score of the whole set: the mean of ``each``, but for BLEU and METEOR, which add up counts first.
        each: ``[candidates]`` float64.
        tokens: How captions were split into words: one of ``tokenisation.tokenise``, or ``"as written"``.
    """

    corpus: float
    each: NDArray[np.float64]
    tokens: str = ""


def parse_metric(name: str, tokenize: str | None = None) -> tuple[str, str | None]:
    """Split the name of a metric, such as ``cider`` or ``cider-characters``.

    Args:
        name: A name of ``CAPTIONING_METRICS`` in any case, to which a tokenisation may be added.
        tokenize: The tokenisation of a name without one.

    Raises:
        InputError: If there is no such metric or tokenisation, or the metric cannot take it.
    """
    plain = plain_name(name)
    metric, dash, own = (plain, "", "") if plain in CAPTIONING_METRICS else plain.partition("-")
    if metric not in CAPTIONING_METRICS:
        cure = did_you_mean(metric, CAPTIONING_METRICS) or f"name one of {', '.join(CAPTIONING_METRICS)}"
        raise InputError(f"the captioning metric is '{name[:40]}', which is not known", cure=cure)
    if CAPTIONING_METRICS[metric].model or metric in OF_IMAGES:
        if dash:
            raise InputError(f"'{name[:40]}' does not exist: {metric} compares vectors", cure=f"write '{metric}'")
        return metric, AS_WRITTEN
    chosen = own if dash else tokenize
    if chosen is not None and chosen not in TOKENISATIONS:
        what = f"the tokenisation of {metric} is '{chosen[:40]}', which is not known"
        raise InputError(what, cure=f"name one of {', '.join(TOKENISATIONS)}")
    if metric == "meteor" and own not in ("", "ptb"):
        raise InputError(f"'{name}' does not exist: METEOR always compares PTB tokens", cure="write 'meteor'")
    if chosen == "characters" and CAPTIONING_METRICS[metric].needs_java:
        what = "METEOR, SPICE and SPIDEr read English words, not characters"
        raise InputError(what, cure="choose CIDEr, BLEU or ROUGE-L for other languages")
    return metric, chosen


def check_metric(name: str, tokenize: str | None = None, mirror: Path | None = None) -> None:
    """Check that a metric can be computed here; SPICE's CoreNLP is downloaded if it is missing.

    Args:
        name: As in ``parse_metric``.
        tokenize: As in ``parse_metric``.
        mirror: Take CoreNLP from here, not from the network.

    Raises:
        InputError: As ``parse_metric``; or if Java or CoreNLP is needed and missing.
    """
    metric, chosen = parse_metric(name, tokenize)
    if (CAPTIONING_METRICS[metric].needs_java or chosen == "ptb") and not has_java():
        what = f"PTB tokens, METEOR and SPICE need {WITHOUT_EXTRA}"
        raise InputError(what, cure=f"install it with {pip_install('java')}")
    if metric in ("spice", "spider"):
        check_java()
        corenlp(mirror)
    title, model = CAPTIONING_METRICS[metric].title, CAPTIONING_METRICS[metric].model
    if model == WORDS:
        need(WORDS, "words", title)
    elif model:
        need("sentence_transformers", "meaning", title)


def default_tokens() -> str:
    """Return the COCO server's tokenisation, ``"ptb"``, if the extra ``java`` is installed; else ``"whitespace"``."""
    return "ptb" if has_java() else "whitespace"


def without_java(metrics: Sequence[str]) -> str:
    """Return the sentence that warns of words that are not the COCO server's.

    Args:
        metrics: Titles of the metrics that compare them.
    """
    return (
        f"NOT THE COCO SERVER'S TOKENS: {', '.join(metrics)} split captions at blanks. The server and most papers use "
        f"Penn Treebank (PTB) tokens, and their numbers differ. PTB tokens need {WITHOUT_EXTRA}; install it with "
        f"{pip_install('java')}."
    )


def score_captions(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    metrics: Sequence[str] = ("cider",),
    tokenize: str | None = None,
    mirror: Path | None = None,
) -> dict[str, CaptionScores]:
    """Score one caption per image by several metrics; the numbers are those of pycocoevalcap.

    Args:
        candidates: One caption per image.
        references: The captions of each image that people wrote, any number.
        metrics: Names of ``CAPTIONING_METRICS``; each may end in a tokenisation, such as ``cider-characters``.
        tokenize: How the other metrics split captions into words, see ``tokenisation.tokenise``. None: ``"ptb"``, as
            the COCO server does, where Java is there; otherwise ``"whitespace"``, with a warning on standard error.
            METEOR always compares PTB tokens. SPICE reads PTB tokens joined by blanks, as on the server, or for other
            tokenisations captions as they are.
        mirror: Take CoreNLP from here, not from the network.

    Returns:
        The scores of each metric, by its name as it was given.

    Raises:
        InputError: As ``cider`` and ``spice``; or if a metric is not known, needs Java or a package that is missing, or
            compares images, which ``clipscore.clip_scores`` does.
    """
    if isinstance(metrics, str):
        raise InputError(f"metrics is {metrics!r}; give a list of names, such as [{metrics!r}].")
    parsed = {name: parse_metric(name, tokenize) for name in metrics}
    for name, (metric, _) in parsed.items():
        if metric in OF_IMAGES:
            raise InputError(f"{name} compares vectors of images", cure="call clip_scores of semantics.clipscore")
        check_metric(name, tokenize, mirror)
    default = default_tokens()
    if default != "ptb" and (plain := [CAPTIONING_METRICS[one].title for one, own in parsed.values() if own is None]):
        say_once(without_java(plain))
    together, sets = _Together.of(candidates, references), dict[str, _Set]()
    scores = {}
    for name, (metric, chosen) in parsed.items():
        chosen = chosen or ("ptb" if metric == "meteor" else default)
        if chosen not in sets:
            sets[chosen] = _Set(together, chosen, mirror)
        scores[name] = sets[chosen].scores(metric)
    return scores


def cider(candidates: Sequence[str], references: Sequence[Sequence[str]], tokenize: str | None = None) -> CaptionScores:
    """CIDEr of one caption per image against the image's references, 0 to 10.

    Equal to ``pycocoevalcap.cider.Cider().compute_score``, whose document frequencies count the images that are given
    (Vedantam et al. 2015; 10 is that code's factor).

    Args:
        candidates: One caption per image.
        references: The captions of each image that people wrote, any number.
        tokenize: As in ``score_captions``.

    Raises:
        InputError: If there are no candidates, the two differ in length, an image has no references, or CIDEr is
            undefined for every image: no reference has an n-gram that another image lacks, as where there is one image.
    """
    return score_captions(candidates, references, ["cider"], tokenize)["cider"]


def spice(
    candidates: Sequence[str],
    references: Sequence[Sequence[str]],
    tuples: Tuples | None = None,
    mirror: Path | None = None,
    tokenize: str | None = None,
) -> CaptionScores:
    """SPICE of one caption per image against the image's references, 0 to 1 (Anderson et al. 2016).

    Args:
        candidates: One caption per image.
        references: The captions of each image that people wrote, any number.
        tuples: Tuples of the references, image by image, and then of the candidates; None: parse them, some 25 ms each,
            which needs the extra ``java``. What was parsed is kept in the user's cache, also after a kill.
        mirror: Take CoreNLP from here, not from the network.
        tokenize: As in ``score_captions``; given tuples are taken as they are.

    Raises:
        InputError: As ``cider``; or if there is no Java or CoreNLP.
    """
    if tuples is None:
        return score_captions(candidates, references, ["spice"], tokenize, mirror)["spice"]
    together = _Together.of(candidates, references)
    return together.scores(SpiceScorer(tuples.of_caption, together.image_of_caption), AS_WRITTEN)


@dataclass(frozen=True)
class _Together:
    """All references, image by image, and then the candidates.

    A candidate is one of its image's captions; left out of them, it meets the references alone.
    """

    captions: list[str]
    image_of_caption: NDArray[np.int64]
    images: NDArray[np.int64]  # of the candidates: 0, 1, ...

    @classmethod
    def of(cls, candidates: Sequence[str], references: Sequence[Sequence[str]]) -> _Together:
        candidates = checked_captions(candidates, "candidates")
        check_list(references, "references", "a list of strings for each image, in the order of candidates")
        groups = [checked_captions(group, f"references[{image}]") for image, group in enumerate(references)]
        if len(groups) != len(candidates):
            what = f"there are candidates for {len(candidates)} images but references for {len(groups)}"
            raise InputError(what, cure="give one candidate and a list of references per image")
        images = np.arange(len(groups))
        counts = [len(group) for group in groups]
        owner = np.concatenate([np.repeat(images, counts), images])
        return cls([*chain.from_iterable(groups), *candidates], owner, images)

    @property
    def candidates(self) -> NDArray[np.int64]:
        return np.arange(len(self.captions) - len(self.images), len(self.captions))

    def scores(self, scorer: Any, tokens: str) -> CaptionScores:
        """Return the scores of a metric whose score of a set is the mean over its captions."""
        each = scorer.pairs(self.candidates, self.images, without_own=True)
        return CaptionScores(float(each.mean()), each, tokens)


@lru_cache(maxsize=2)  # of the models, for the next system that captioned the same images
def _encoded(model: str, references: tuple[str, ...]) -> CaptionVectors:
    return encode_captions(model, references)


class _Set:
    """A set of captions in one tokenisation; what metrics share is computed once."""

    def __init__(self, together: _Together, tokenize: str, mirror: Path | None):
        self._together, self._tokenize, self._mirror = together, tokenize, mirror
        self._vectors: dict[str, CaptionVectors] = {}

    def scores(self, metric: str) -> CaptionScores:
        if metric.startswith("bleu"):
            return self._bleus[int(metric.removeprefix("bleu")) - 1]
        if CAPTIONING_METRICS[metric].model:
            return self._of_vectors(metric)
        made: CaptionScores = getattr(self, f"_{metric}")
        return made

    def _of_vectors(self, metric: str) -> CaptionScores:
        both, of = self._together, CAPTIONING_METRICS[metric]
        if of.model not in self._vectors:
            first = both.candidates[0]
            references = _encoded(of.model, tuple(both.captions[:first]))
            made = encode_captions(of.model, both.captions[first:])
            self._vectors[of.model] = CaptionVectors(np.concatenate([references.array, made.array]), made.facts)
        return both.scores(
            EmbeddingScorer(self._vectors[of.model], both.image_of_caption, of.references), self._tokenize
        )

    @cached_property
    def _cider(self) -> CaptionScores:
        both = self._together
        is_reference = np.arange(len(both.captions)) < both.candidates[0]
        scorer = CiderScorer(both.captions, both.image_of_caption, self._tokenize, documents=is_reference)
        if not (scorer.is_weighted & is_reference).any():
            raise InputError(
                "CIDEr weighs n-grams by how few images have them, and no reference has one that another image lacks "
                f"(images: {len(both.images):,}), so that CIDEr is undefined",
                cure="score several images with different references together, or choose another metric",
            )
        return both.scores(scorer, self._tokenize)

    @cached_property
    def _bleus(self) -> list[CaptionScores]:
        both = self._together
        scorer = BleuScorer(both.captions, both.image_of_caption, tokenize=self._tokenize)
        return [
            CaptionScores(*found, self._tokenize)
            for found in zip(*scorer.of_set(both.candidates, both.images), strict=True)
        ]

    @cached_property
    def _rouge_l(self) -> CaptionScores:
        both = self._together
        return both.scores(RougeLScorer(both.captions, both.image_of_caption, self._tokenize), self._tokenize)

    @cached_property
    def _meteor(self) -> CaptionScores:
        both = self._together
        scorer = MeteorScorer(both.captions, both.image_of_caption)
        return CaptionScores(*scorer.of_set(both.candidates, both.images), "ptb")

    @cached_property
    def _spice(self) -> CaptionScores:
        both, is_ptb = self._together, self._tokenize == "ptb"
        texts = ptb_lines(both.captions) if is_ptb else both.captions
        of_caption = _parsed(texts, len(both.images), self._mirror)
        return both.scores(SpiceScorer(of_caption, both.image_of_caption), "ptb" if is_ptb else AS_WRITTEN)

    @cached_property
    def _spider(self) -> CaptionScores:
        one, other = self._cider, self._spice
        return CaptionScores((one.corpus + other.corpus) / 2, (one.each + other.each) / 2, one.tokens)


def _parsed(captions: Sequence[str], candidates: int, mirror: Path | None) -> list[list[RawTuple]]:
    """Return the raw tuples of references and then candidates, known ones from the user's cache, where all are kept.

    The file of a call is named after its references, so that a call with other candidates goes on after a kill; then
    candidates have a file of their own, which that of the next model does not replace.
    """
    folder, made = cache_folder() / "tuples", captions[-candidates:]
    names = [f"{captions_sha256(some)}.jsonl.gz" for some in (captions[:-candidates], made)]
    with contextlib.ExitStack() as stack:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:  # a home that cannot be written keeps nothing
            folder = stack.enter_context(scratch())
        stack.enter_context(alone(folder / f"{names[0]}.lock", "Another process parses these references; waiting."))
        before = sorted(folder.glob("*.jsonl.gz"), key=lambda path: -path.stat().st_mtime)
        for old in before[KEPT:]:
            old.unlink(missing_ok=True)
        known = before[:KEPT]
        for some, name in ((captions, names[0]), (made, names[1])):
            java.parse_captions(some, folder / name, mirror=mirror, parsed_before=known)
            known = [folder / name, *known]
        return read_tuples(folder / names[0], captions).of_caption

"""phi matrices as files: which metrics there are, and a matrix beside a note of what it was made of."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.errors import InputError
from fivesentences.semantics.bleu import BleuScorer
from fivesentences.semantics.cider import CiderScorer
from fivesentences.semantics.daa import BleuDaaScorer, RougeDaaScorer
from fivesentences.semantics.ngrams import TOKENISATIONS
from fivesentences.semantics.pairing import BinaryScorer, checked_captions, checked_pairing
from fivesentences.semantics.rouge import RougeLScorer
from fivesentences.semantics.scoring import Scorer, write_matrix
from fivesentences.semantics.tfidf import TfidfScorer
from fivesentences.semantics.tuples import Tuples
from fivesentences.storage import read_json, replacing, write_json


@dataclass(frozen=True)
class Given:
    """What a metric is prepared from, checked.

    Attributes:
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        tokenisation: How captions become words; a metric that does not split words itself ignores it.
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
        prepare: Makes the scorer.
        tokenised: Whether a tokenisation may be chosen.
        idf: Whether a score depends on all captions of the corpus, by document frequencies.
        tuples: Whether it compares scene-graph tuples.
        whole: Whether a whole matrix can be made; else pairs only.
        undefined: What a cell holds that the metric does not define, in words.
    """

    prepare: Callable[[Given], Scorer]
    tokenised: bool = False
    idf: bool = False
    tuples: bool = False
    whole: bool = True
    undefined: str | None = None


def _of_words(scorer: Callable[..., Scorer], idf: bool = False, **settings: int) -> SemanticMetric:
    return SemanticMetric(
        lambda given: scorer(given.captions, given.image_of_caption, tokenize=given.tokenisation, **settings),
        tokenised=True,
        idf=idf,
    )


def _spice(part: str) -> SemanticMetric:
    def scorer(given: Given) -> Scorer:
        from fivesentences.semantics.spice import SpiceScorer

        assert given.tuples is not None  # `prepare` saw to it
        # The released program calls a sub-score NaN where the image has no such tuple; retrieval needs numbers.
        return SpiceScorer(given.tuples.of_caption, given.image_of_caption, part=part, undefined=0.0)

    undefined = None if part == "all" else f"0 where the image has no tuple of {part}"
    return SemanticMetric(scorer, tuples=True, undefined=undefined)


def _meteor(given: Given) -> Scorer:
    from fivesentences.semantics.java.meteor import MeteorScorer

    return MeteorScorer(given.captions, given.image_of_caption)


SEMANTIC_METRICS: dict[str, SemanticMetric] = {
    "cider": _of_words(CiderScorer, idf=True),
    "spice": _spice("all"),
    **{f"spice_{part}": _spice(part) for part in ("object", "attribute", "relation", "colour", "count", "size")},
    **{f"bleu{n}": _of_words(BleuScorer, n=n) for n in (1, 2, 3, 4)},
    "rouge_l": _of_words(RougeLScorer),
    "tfidf": _of_words(TfidfScorer, idf=True),
    "bleu_daa": _of_words(BleuDaaScorer),
    "rouge_daa": _of_words(RougeDaaScorer),
    "meteor": SemanticMetric(_meteor, whole=False),
    "binary": SemanticMetric(lambda given: BinaryScorer(given.image_of_caption)),
}


def parse_name(phi_name: str) -> tuple[str, str | None]:
    """Metric and tokenisation that a phi name such as ``cider-ptb`` stands for.

    Returns:
        A name in ``SEMANTIC_METRICS``; one of ``TOKENISATIONS``, ``"whitespace"`` where the name says nothing, or
        None for a metric that does not split words itself.

    Raises:
        InputError: If there is no such metric or tokenisation, or the metric takes none.
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
    """Whether a phi is made of scene-graph tuples.

    Raises:
        InputError: If there is no such metric or tokenisation.
    """
    return SEMANTIC_METRICS[parse_name(phi_name)[0]].tuples


def prepare(
    phi_name: str, captions: Sequence[str], image_of_caption: ArrayLike, tuples: Tuples | None = None
) -> Scorer:
    """The scorer of a phi for one corpus.

    Args:
        phi_name: ``metric`` or ``metric-tokenisation``: a name in ``SEMANTIC_METRICS`` and one of ``TOKENISATIONS``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption; any order, any number of captions per image.
        tuples: The captions' scene-graph tuples, for SPICE.

    Raises:
        InputError: If there is no such phi, the captions do not fit, or tuples are needed and missing.
    """
    metric, tokenisation = parse_name(phi_name)
    captions = checked_captions(captions)
    pairing = checked_pairing(image_of_caption, len(captions))
    if needs_tuples(phi_name):
        if tuples is None:
            raise InputError(
                f"{phi_name} compares scene graphs; give the captions' tuples: read_tuples(file, captions) of a file "
                "that parse_captions wrote."
            )
        if len(tuples.of_caption) != len(captions):
            raise InputError(
                f"there are tuples of {len(tuples.of_caption)} captions but {len(captions)} captions; "
                "parse exactly these captions."
            )
    return SEMANTIC_METRICS[metric].prepare(Given(captions, pairing, tokenisation or "whitespace", tuples))


def captions_sha256(captions: Sequence[str]) -> str:
    """SHA-256 of the captions as a UTF-8 text file with one caption per line."""
    return hashlib.sha256("".join(f"{caption}\n" for caption in captions).encode("utf-8", "surrogatepass")).hexdigest()


def pairing_sha256(image_of_caption: ArrayLike) -> str:
    """SHA-256 of the image indices as a text file with one number per line."""
    numbers = np.asarray(image_of_caption).astype(np.int64).tolist()
    return hashlib.sha256("".join(f"{number}\n" for number in numbers).encode()).hexdigest()


def write_phi(
    phi_name: str,
    captions: Sequence[str],
    image_of_caption: ArrayLike,
    out: Path | str,
    tuples: Tuples | None = None,
    captions_file: str | None = None,
) -> None:
    """Write phi as float32 ``.npy`` and, beside it, a ``.json`` that says what it was made of.

    The note is written last and an old one removed first, so a matrix with its note is a whole matrix.

    Args:
        phi_name: As in ``prepare``.
        captions: Raw captions.
        image_of_caption: ``[captions]`` image index of each caption.
        out: Path of the ``.npy`` file.
        tuples: As in ``prepare``.
        captions_file: Name of the file that the captions were read from, for the note; nobody compares it.

    Raises:
        InputError: If there is no such phi or it has no whole matrix, the captions do not fit, tuples are needed and
            missing, ``out`` does not end in ``.npy``, or the disk has no room.
    """
    out = Path(out)
    check_matrix(phi_name, out)
    captions = checked_captions(captions)
    pairing = checked_pairing(image_of_caption, len(captions))
    note = note_of(phi_name, captions, pairing, tuples)
    if captions_file is not None:
        note["captions_file"] = captions_file
    scorer = prepare(phi_name, captions, pairing, tuples)
    with replacing(out) as temporary:
        write_matrix(scorer, temporary, phi_name)
        out.with_suffix(".json").unlink(missing_ok=True)
    write_json(out.with_suffix(".json"), note)


def check_matrix(phi_name: str, out: Path) -> None:
    """Whether ``write_phi`` can write such a matrix, asked before anything costly is done.

    Raises:
        InputError: If there is no such phi, it scores single pairs only, or ``out`` does not end in .npy.
    """
    check_whole(phi_name)
    if out.suffix != ".npy":
        raise InputError(f"{out}: the name of a phi matrix must end in .npy.")


def check_whole(phi_name: str) -> None:
    """Raise an ``InputError`` if there is no such phi or it scores single pairs only."""
    if not SEMANTIC_METRICS[parse_name(phi_name)[0]].whole:
        raise InputError(
            f"{phi_name} takes over a millisecond a pair, so there is no whole matrix of it; score chosen pairs with "
            f"prepare({phi_name!r}, captions, image_of_caption).pairs(captions, images)."
        )


def note_of(
    phi_name: str, captions: Sequence[str], pairing: NDArray[np.int64], tuples: Tuples | None
) -> dict[str, Any]:
    """What a phi is made of, for the file beside it."""
    metric, tokenisation = parse_name(phi_name)
    shape = [len(captions), int(pairing.max()) + 1]
    used = tuples if needs_tuples(phi_name) else None
    return {
        "phi": phi_name,
        "metric": metric,
        "tokenisation": tokenisation,
        "idf_corpus": f"these {shape[0]} captions of {shape[1]} images" if SEMANTIC_METRICS[metric].idf else None,
        "captions_sha256": captions_sha256(captions),
        "image_of_caption_sha256": pairing_sha256(pairing),
        "undefined": SEMANTIC_METRICS[metric].undefined,
        "tuples": None if used is None else {"source": used.source, "sha256": used.sha256},
        "shape": shape,
        "rows": "captions",
        "columns": "images",
        "version": importlib.metadata.version("fivesentences"),
    }


def read_phi_note(path: Path | str) -> dict[str, Any]:
    """What ``write_phi`` noted beside the matrix at ``path``.

    Raises:
        InputError: If the note is missing or is not one of ours.
    """
    beside = Path(path).with_suffix(".json")
    if not beside.exists():
        raise InputError(f"{path}: there is no {beside.name} beside it, so the matrix is not whole; make phi again.")
    return read_note(beside)


def read_note(path: Path) -> dict[str, Any]:
    """A note, checked to be one of a phi.

    Raises:
        InputError: If it is missing, or not one of ours.
    """
    note = read_json(path)
    known = isinstance(note, dict) and {"metric", "tokenisation", "captions_sha256", "shape"} <= note.keys()
    shape = note["shape"] if known else None
    if not isinstance(shape, list) or len(shape) != 2 or not all(type(number) is int for number in shape):
        raise InputError(f"{path}: this is not the note of a phi matrix: {json.dumps(note)[:60]}; make phi again.")
    return dict(note)


def read_phi(
    path: Path | str, captions: Sequence[str] | None = None, image_of_caption: ArrayLike | None = None
) -> NDArray[np.float32]:
    """A phi matrix that ``write_phi`` wrote, memory-mapped and read-only.

    Args:
        path: The ``.npy`` file.
        captions: Captions that the matrix must have been made of, if they are to be compared.
        image_of_caption: Image indices that the matrix must have been made of, if they are to be compared.

    Returns:
        ``[captions, images]`` float32.

    Raises:
        InputError: If a file is missing or damaged, the shape is not the noted one, or the captions or their images
            are others.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such phi matrix; make it with write_phi or 'fivesentences phi'.")
    note = read_phi_note(path)
    phi: NDArray[np.float32] = map_array(path)
    if list(phi.shape) != note["shape"] or phi.dtype != np.float32:
        raise InputError(
            f"{path}: the matrix is {phi.dtype} {list(phi.shape)} but its note says float32 {note['shape']}; "
            "make phi again."
        )
    check_made_of(path, note, captions, image_of_caption)
    return phi


def map_array(path: Path) -> NDArray[Any]:
    """A ``.npy`` file, memory-mapped and read-only.

    Raises:
        InputError: If it is not whole.
    """
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise InputError(f"{path}: this is not a whole .npy file ({error}); make phi again.") from None
    return array


def check_made_of(
    path: Path, note: dict[str, Any], captions: Sequence[str] | None, image_of_caption: ArrayLike | None
) -> None:
    """Compare captions and their images, where given, with those that a phi was made of.

    Raises:
        InputError: If they are others.
    """
    n_captions = note["shape"][0]
    for given, noted, what in (
        (None if captions is None else captions_sha256(captions), note["captions_sha256"], "captions"),
        (
            None if image_of_caption is None else pairing_sha256(image_of_caption),
            note.get("image_of_caption_sha256"),
            "images of these captions",
        ),
    ):
        if given is None:
            continue
        if what == "captions" and captions is not None and len(captions) != n_captions:
            raise InputError(
                f"{path}: phi has {n_captions} rows but there are {len(captions)} captions: it was made of another "
                "caption file; make phi again."
            )
        if given != noted:
            raise InputError(
                f"{path}: phi was made of other {what} (their sha256 was {str(noted)[:12]}..., these have "
                f"{given[:12]}...); make phi again."
            )

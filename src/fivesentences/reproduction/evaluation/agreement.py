"""How well each phi agrees with people's judgements of captions and images: Table 1 of Five Sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.choices import each_once
from fivesentences.console import track
from fivesentences.corpus import Corpus
from fivesentences.corpus.judgements import Judgements
from fivesentences.corpus.parquet import write_frame
from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.metrics.coefficients import KENDALL_INTERVAL_PAIRS, STATISTICS, Correlation, correlations
from fivesentences.retrieval.arguments import checked_choice
from fivesentences.semantics.registry import SEMANTIC_METRICS, parse_name, prepare
from fivesentences.semantics.scoring import Scorer, matrix_of
from fivesentences.semantics.sentence_encoders import CaptionVectors
from fivesentences.semantics.tuples import Tuples
from fivesentences.storage import write_json

PAIRS = ("all", "other")
COLUMNS = [
    *("judge", "dataset", "split", "phi", "references", "pairs", "statistic"),
    *("value", "low", "high", "n_pairs", "n_images", "left_out"),
    *("interval", "idf_corpus", "tuples", "human"),
]


def agreement(
    judgements: Judgements,
    corpus: Corpus,
    rows: Sequence[tuple[str, str]],
    tuples: Tuples | None = None,
    statistics: Sequence[str] = STATISTICS,
    resamples: int | None = None,
    seed: int = 0,
    resample: str = "images",
    parsed: str | None = None,
    vectors: Mapping[str, CaptionVectors] | None = None,
) -> tuple[pd.DataFrame, list[dict[str, Any]]]:
    """Correlate each phi with a judge's scores, over all judged pairs and over captions with other images.

    The score of a pair is phi itself, computed from all of ``corpus``: the captions of its images are the references
    and count for the idf. A caption with its own image is compared with references that include it (``"kept"``, as in
    the paper), or it is removed from them (``"own_left_out"``); that changes nothing for pairs with another image. A
    pair for which phi has no value, because the caption was the only one of its image, is left out.

    Intervals come from a bootstrap that draws images, so that the pairs of an image stay together. It ignores that a
    caption occurs with several images: that hardly matters for CxC (1.8 images per caption), but where a caption is
    judged with dozens of images or with all of them (the crowd's judgements of Flickr8k, truth of the scenes) the
    intervals are too narrow; ``resample="images and captions"`` draws both, and may be too wide.

    Args:
        judgements: Pairs of a caption and an image of ``corpus``, and the judge's scores.
        corpus: The corpus that the judgements index.
        rows: (name of a phi, ``"kept"`` or ``"own_left_out"``) of each row of the table.
        tuples: Scene-graph tuples of the captions of ``parsed``, if a phi is SPICE.
        statistics: Names in ``metrics.coefficients.STATISTICS``. Ratings with few levels are mostly reported with
            Kendall's tau-b or tau-c.
        resamples: Number of draws, as in ``correlation``.
        seed: Seed of the resampling.
        resample: Units that are drawn: ``"images"`` or ``"images and captions"``.
        parsed: The split whose captions have ``tuples``; None: the whole corpus. SPICE of a pair reads the captions of
            that pair alone, so that it is the same, and no other captions need to be parsed.
        vectors: Vectors of the corpus's captions, by model, for ``embedding``; what is missing is encoded.

    Returns:
        A table with one row per judgement (``caption_id``, ``image_id``, ``human``, ``own`` and one column per phi,
        named ``"<phi>"`` or ``"<phi>|own_left_out"``), and a list with one dictionary per number: judge, dataset,
        split, phi, references ("kept" or "own_left_out"), pairs ("all", or "other": captions with images other than
        their own), statistic, value with its interval (low, high), n_pairs, n_images, left_out (pairs without a phi),
        and how interval, idf, tuples and human scores came about. ``value`` is None if a vector is constant, such as
        binary relevance over the pairs "other".

    Raises:
        InputError: If a phi is unknown or lacks its tuples, or some judgements are not within ``parsed``.
    """
    checked_choice("resample", resample, ("images", "images and captions"))
    pairs = judgements.pairs
    captions, images = (pairs[side].to_numpy(dtype=np.int64) for side in ("caption", "image"))
    human, own = pairs["human"].to_numpy(dtype=np.float64), pairs["own"].to_numpy(dtype=bool)
    ids = {"caption_id": corpus.table["caption_id"].to_numpy()[captions]}
    ids["image_id"] = corpus.images["image_id"].to_numpy()[images]
    frame = pd.DataFrame(ids | {"human": human, "own": own})
    split = " and ".join(pd.unique(corpus.images["split"].to_numpy()[np.unique(images)]))
    about = {"judge": judgements.name, "dataset": corpus.name, "split": split, "human": judgements.scale}
    clusters = np.stack([images, captions]) if resample == "images and captions" else images[None]
    chosen = {"all": np.ones(len(pairs), dtype=bool), "other": ~own}
    rows = each_once(rows)
    numbers: dict[tuple[str, str], list[dict[str, Any]]] = {row: [] for row in rows}
    known: dict[tuple[bytes, bytes], list[dict[str, Any]]] = {}
    whole = corpus, captions, images
    phis = list(dict.fromkeys(phi for phi, _ in rows))
    for phi in track(phis, f"ask {judgements.name}", len(phis)):
        name, _, model, _ = parse_name(phi)
        metric, known_vectors = SEMANTIC_METRICS[name], (vectors or {}).get(model or "")
        part, captions, images = _within(judgements, corpus, parsed) if metric.tuples and parsed else whole
        scorer = prepare(phi, part.captions, part.image_of_caption, tuples, known_vectors)
        others = _cells(scorer, captions[~own], images[~own], metric.whole)  # the same for both kinds of references
        for references in (references for name, references in rows if name == phi):
            values = np.empty(len(pairs))
            values[~own] = others
            values[own] = scorer.pairs(captions[own], images[own], without_own=references == "own_left_out")
            frame[column_of(phi, references)] = values
            for which in PAIRS:
                kept = chosen[which] & ~np.isnan(values)
                same = (kept.tobytes(), values[kept].tobytes())
                if same not in known:
                    found = _correlations(values[kept], human[kept], clusters[:, kept], statistics, resamples, seed)
                    known[same] = [_number(one) for one in found.values()]
                of_phi = {
                    "phi": phi,
                    "references": references,
                    "pairs": which,
                    "n_pairs": int(np.count_nonzero(kept)),
                    "n_images": len(np.unique(images[kept])),
                    "left_out": int(np.count_nonzero(chosen[which] & ~kept)),
                    "idf_corpus": _corpus_in_words(corpus) if metric.idf else "",
                    "tuples": tuples.source if tuples is not None and metric.tuples else "",
                }
                numbers[phi, references] += [about | of_phi | number for number in known[same]]
    return frame, [number for of_row in numbers.values() for number in of_row]


def write_agreement(
    pairs: pd.DataFrame, numbers: Sequence[Mapping[str, Any]], out_pairs: Path | str, out: Path | str
) -> None:
    """Write what ``agreement`` returns: the pairs as parquet to ``out_pairs``, the numbers as JSON to ``out``."""
    write_frame(pairs, out_pairs)
    write_json(out, list(numbers), indent=None)


def read_agreement(path: Path | str) -> pd.DataFrame:
    """Read the numbers that ``write_agreement`` wrote, one per row, in the columns that ``agreement`` describes.

    Raises:
        InputError: If the file is missing or is not one of these.
    """
    table = pd.DataFrame(read_json(path, "ask the judge again"))
    if missing := [name for name in COLUMNS if name not in table]:
        raise InputError(f"the column '{missing[0]}' is missing", where=path, cure="ask the judge again")
    return table[COLUMNS].astype(dict.fromkeys(("value", "low", "high"), "float64"))


def column_of(phi: str, references: str) -> str:
    """Return the name of a phi's column in the table of pairs."""
    return phi if references == "kept" else f"{phi}|{references}"


def _within(judgements: Judgements, corpus: Corpus, split: str) -> tuple[Corpus, NDArray[np.int64], NDArray[np.int64]]:
    """Return a split that holds all judged pairs, and their captions and images in it."""
    inside = judgements.within(corpus, split).pairs
    if outside := len(judgements.pairs) - len(inside):
        raise InputError(
            f"{outside:,} of the {len(judgements.pairs):,} judgements of '{judgements.name}' are not within '{split}' "
            "of their corpus, whose captions alone have tuples; pass those of the whole corpus."
        )
    captions, images = (inside[side].to_numpy(dtype=np.int64) for side in ("caption", "image"))
    return corpus.split(split), captions, images


def _cells(scorer: Scorer, captions: NDArray[np.int64], images: NDArray[np.int64], whole: bool) -> NDArray[np.floating]:
    """Return phi of pairs; from the whole matrix if that is possible and most of it is needed."""
    if whole and len(captions) > scorer.shape[0] * scorer.shape[1] / 2:
        return matrix_of(scorer)[captions, images]
    return scorer.pairs(captions, images)


def _correlations(
    values: NDArray[np.float64],
    human: NDArray[np.float64],
    clusters: NDArray[np.int64],
    statistics: Sequence[str],
    resamples: int | None,
    seed: int,
) -> dict[str, Correlation]:
    if len(values) < 2:
        nothing = tuple(len(np.unique(way)) for way in clusters)
        return {name: Correlation(None, None, None, len(values), name, 0.95, 0, nothing) for name in statistics}
    return correlations(values, human, statistics, clusters, resamples, seed=seed)


def _number(found: Correlation) -> dict[str, Any]:
    if found.pairs < 2:
        interval = "none: there are fewer than 2 pairs"
    elif found.value is None:
        interval = "none: the correlation of a constant is not defined"
    elif found.resamples:
        drawn = " and ".join(f"{n:,} {what}" for n, what in zip(found.clusters, ("images", "captions"), strict=False))
        interval = f"{found.confidence:.0%} percentile interval of {found.resamples:,} bootstrap resamples of {drawn}"
    elif max(found.clusters) < 2:
        interval = "none: there is one image only"
    elif found.statistic.startswith("kendall") and found.pairs > KENDALL_INTERVAL_PAIRS:
        interval = f"none: not resampled beyond {KENDALL_INTERVAL_PAIRS:,} pairs"
    else:
        interval = "none: not resampled"
    return {name: getattr(found, name) for name in ("statistic", "value", "low", "high")} | {"interval": interval}


def _corpus_in_words(corpus: Corpus) -> str:
    splits = corpus.splits
    where = f"{corpus.name}/{splits[0]}" if len(splits) == 1 else f"{corpus.name} ({', '.join(splits)})"
    return f"the captions of the {corpus.n_images:,} images of {where}"

"""Positives by people for Flickr8k's test split: its crowd and expert judgements, by the ids of a gallery.

The judgements (Hodosh, Young and Hockenmaier, JAIR 2013) are in ``Flickr8k_text.zip``. The judged images of a caption
are those that systems of 2013 returned, so the pool is incomplete: see ``metrics.judged``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fivesentences.corpus.flickr8k import load_flickr8k
from fivesentences.corpus.judgements import load_flickr8k_crowdflower, load_flickr8k_expert
from fivesentences.corpus.table import Corpus
from fivesentences.errors import Cure, InputError
from fivesentences.metrics.judged import Judged

#: By name: whose judgements, and from which value on a pair is right; None keeps the value as a gain.
POOLS: dict[str, tuple[str, float | None]] = {
    "crowd.5": ("crowd", 0.5),
    "crowd1": ("crowd", 1.0),
    "crowd": ("crowd", None),
    "experts3": ("experts", 3.0),
    "experts": ("experts", None),
}
EXPLAINED = (
    "crowd.5, crowd1: right if half or all of at least three people say that the caption describes the image; "
    "experts3: right if the median of three experts is 3 or 4 of 4. crowd, experts: graded by the share of yes and by "
    "the mean of the experts"
)
_HIGHEST, _LOWEST = 4.0, 1.0  # of an expert


def people_judged(
    text_zip: Path | str, image_ids: Sequence[str] | None = None, caption_ids: Sequence[str] | None = None
) -> dict[str, Judged]:
    """Read the judgements of Flickr8k's test split as right and wrong, and graded.

    Args:
        text_zip: ``Flickr8k_text.zip``.
        image_ids: ``[images]`` file name of each row of the similarity, with or without its suffix; default the order
            of ``Flickr_8k.testImages.txt``.
        caption_ids: ``[captions]`` ids of the columns, such as ``1056338697_4f7d7ce270.jpg#0``; default the same order,
            #0 to #4 of each image. Captions that are not there are not scored.

    Returns:
        Judgements by the names of ``POOLS``.

    Raises:
        InputError: If the archive is damaged or is not Flickr8k's, an id is none of the test split's, an image or a
            caption is there twice, or an image of the split is missing.
    """
    corpus, usual = load_flickr8k(text_zip).split("test"), usual_ids(text_zip)
    images = _places(None if image_ids is None else [_stem(one) for one in image_ids], usual[0], "image_ids")
    captions = _places(caption_ids, usual[1], "caption_ids")
    if lacking := np.flatnonzero(images < 0)[:1].tolist():
        what = f"image_ids lacks '{corpus.images['image_id'].iloc[lacking[0]]}'; people judged all 1,000 test images"
        raise InputError(what, cure="score the whole test split")
    kept = np.flatnonzero(captions >= 0)
    own = np.empty(len(kept), dtype=np.int64)
    own[captions[kept]] = images[corpus.image_of_caption[kept]]
    found = {}
    for who, pairs in _read(text_zip, corpus).items():
        rows, columns = images[pairs["image"].to_numpy()], captions[pairs["caption"].to_numpy()]
        inside = columns >= 0
        for name, (of, lowest) in POOLS.items():
            if of != who:
                continue
            gain = pairs["gain"] if lowest is None else (pairs["value"] >= lowest).astype(float)
            shape = (len(images), len(kept))
            found[name] = Judged(columns[inside], rows[inside], gain.to_numpy()[inside], shape, own)
    return {name: found[name] for name in POOLS}


def usual_ids(text_zip: Path | str) -> tuple[list[str], list[str]]:
    """Return the ids of images and captions of the test split, in the order of its list.

    Raises:
        InputError: If the archive is damaged or is not Flickr8k's.
    """
    corpus = load_flickr8k(text_zip).split("test")
    return [str(one) for one in corpus.images["image_id"]], corpus.caption_ids


def _read(text_zip: Path | str, corpus: Corpus) -> dict[str, pd.DataFrame]:
    """Read judgements of the crowd and of experts: caption, image, value (for thresholds), and gain from 0 to 1."""
    crowd = load_flickr8k_crowdflower(text_zip, corpus).pairs
    each = load_flickr8k_expert(text_zip, corpus, "each").pairs.groupby(["caption", "image"])["human"]
    experts = pd.DataFrame({"value": each.median(), "gain": (each.mean() - _LOWEST) / (_HIGHEST - _LOWEST)})
    return {"crowd": crowd.assign(value=crowd["human"], gain=crowd["human"]), "experts": experts.reset_index()}


def notes_on_people(judged: Mapping[str, Judged]) -> list[str]:
    """Return sentences on what was judged, and on what rankings are condensed to."""
    parts = []
    for name, one in judged.items():
        others = one.images != one.own[one.captions]
        with_right = len(np.unique(one.captions[others & (one.gain > 0)]))
        pairs = f"{np.count_nonzero(others):,} judged images of others, {len(one.queries):,} captions"
        parts.append(f"{name}: {pairs}, {with_right:,} with a right one")
    return [
        f"People ({EXPLAINED}) judged images that systems of 2013 returned, so others may be right unseen. R@1, R-P, "
        "mAP@R, AP, nDCG and Q are of rankings condensed to judged images; bpref and infAP read whole rankings.",
        f"{'; '.join(parts)}. GT kept: the own image counts as right, judged or not; removed: it is taken out, and "
        "captions without a right image of others are left out. infAP by chance has no closed form.",
    ]


def check_captions(
    text_zip: Path | str, captions: Sequence[str], caption_ids: Sequence[str] | None, where: str
) -> None:
    """Refuse captions that are not those of the test split in the order of their ids, by their letters and digits.

    Raises:
        InputError: If one differs.
    """
    corpus = load_flickr8k(text_zip).split("test")
    text = dict(zip(map(str, corpus.caption_ids), corpus.captions, strict=True))
    ids = [*text] if caption_ids is None else caption_ids
    if len(ids) != len(captions):
        return
    for line, (one, given) in enumerate(zip(ids, captions, strict=True), 1):
        if _plain(text.get(str(one), given)) != _plain(given):
            raise InputError(
                f"line {line} is '{given[:40]}', but caption {one} of Flickr8k's test split is '{text[str(one)][:40]}'",
                where=where,
                cure=Cure("name image_ids and caption_ids", "give --image-ids FILE and --caption-ids FILE"),
            )


def _plain(caption: str) -> str:
    return "".join(filter(str.isalnum, caption.lower()))


def _stem(name: str) -> str:
    return PurePosixPath(name).stem if name.lower().endswith((".jpg", ".jpeg")) else name


def _places(given: Sequence[str] | None, usual: Sequence[str], name: str) -> NDArray[np.int64]:
    """Return where each of the usual ids stands among the given ones; -1 where it is not there."""
    if given is None:
        return np.arange(len(usual))
    place_of: dict[str, int] = {}
    known = set(usual)
    for place, one in enumerate(given):
        if one not in known:
            what = f"{name}[{place}] is '{str(one)[:60]}', which is none of Flickr8k's test split"
            raise InputError(what, cure=f"ids are such as {usual[0]}")
        if place_of.setdefault(one, place) != place:
            raise InputError(f"{name}[{place}] is '{one}', which stands at {place_of[one]} already; ids are unique.")
    return np.array([place_of.get(one, -1) for one in usual])

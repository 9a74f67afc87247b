"""Which files of a ``<prefix>_precomp`` folder hold the features of which images of a corpus."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd

from fivesentences.corpus import Corpus
from fivesentences.corpus.catalogue import precomp_folder
from fivesentences.corpus.precomp import load_precomp
from fivesentences.documents import check_file
from fivesentences.errors import InputError
from fivesentences.features.files import write_beside
from fivesentences.features.precomp import (
    FORMAT,
    Kind,
    SplitFeatures,
    digest_of_files,
    first_file,
    last_changed,
    open_stored,
)
from fivesentences.storage import replacing, together, write_json

SHARED_WORDS = 0.5  # of the captions of an image, in a folder and in Karpathy's file


def describe_precomp(
    folder: Path | str, corpus: Corpus, out: Path, prefix: str | None = None, testall: bool = False
) -> None:
    """Write what ``FeatureTable.open`` reads: which file holds which images, and the table of images beside it.

    A corpus of Karpathy's file calls images otherwise than the folder, and may have more. An image of the folder is
    found by COCO's id, or by its place in the file, and its captions must agree. Others have no features.

    Args:
        folder: The folder itself or, with ``prefix``, one that contains ``<prefix>_precomp``; as for ``load_precomp``.
        corpus: Corpus that ``load_precomp`` read from the folder, or ``load_karpathy`` from its own file.
        out: A ``.json``.
        prefix: Such as ``f30k`` or ``coco``.
        testall: Whether the split ``test`` of the corpus is ``testall``.

    Raises:
        InputError: If a split has no features, or they are not numbers or fit neither its images nor its captions, or
            an image of the folder has other captions in the corpus.
    """
    own = load_precomp(folder, prefix, name=corpus.name, testall=testall)
    names_in_corpus = _names_in(corpus, own, Path(folder))
    folder, corpus = precomp_folder(folder, prefix), own
    names = [name for name in ("train", "dev", "test") if name in corpus.splits]
    parts = {name: corpus.split(name) for name in names}
    splits = [
        _describe(folder, "testall" if name == "test" and testall else name, part) for name, part in parts.items()
    ]
    if len({(*split.shape, split.dtype) for split in splits}) > 1:
        found = ", ".join(f"{name} {split.shape} {split.dtype}" for name, split in zip(names, splits, strict=True))
        raise InputError(f"{folder}: the features of the splits differ ({found}); they must have one shape and type.")
    images = pd.concat([part.images[["image_id", "filename"]] for part in parts.values()])
    with together(), replacing(out) as temporary:
        write_json(temporary, {"format": FORMAT, "parts": [asdict(split) for split in splits]})
        write_beside(out, temporary, images.assign(image_id=images["image_id"].map(names_in_corpus)))


def _names_in(corpus: Corpus, own: Corpus, folder: Path) -> dict[str, str]:
    """Return the corpus's name for each image of the folder.

    Raises:
        InputError: If an image is not in the corpus, or has other captions there.
    """
    known = corpus.images["image_id"].astype(str).tolist()
    ours = own.images["image_id"].astype(str).tolist()
    if set(ours) <= set(known):  # the folder's own corpus, or COCO's ids
        named = dict(zip(ours, ours, strict=True))
    elif all(image.isdigit() and int(image) < len(known) for image in ours):
        named = {image: known[int(image)] for image in ours}
    else:
        strange = next(image for image in ours if image not in set(known))
        raise InputError(
            f"{folder}: image '{strange}' is not among the {len(known):,} of '{corpus.name}'; its _ids.txt must hold "
            "COCO's ids or places in Karpathy's file, and the whole file must be read (no splits)."
        )
    theirs = corpus.table.groupby(corpus.table["image_id"].astype(str), sort=False)["caption"].agg(" ".join)
    for image, captions in own.table.groupby("image_id", sort=False)["caption"].agg(" ".join).items():
        if not share_words(captions, theirs[named[str(image)]]):
            raise InputError(
                f"{folder}: the captions of image '{image}' are not those of '{named[str(image)]}' in '{corpus.name}'; "
                "the folder and the captions are not of the same images: fetch both again."
            )
    return named


def share_words(one: str, other: str) -> bool:
    """Tell whether two texts are the same captions, as far as releases that clean them in their own ways show it."""
    here, there = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return len(here & there) >= SHARED_WORDS * max(len(here), len(there))


def _describe(folder: Path, name: str, split: Corpus) -> SplitFeatures:
    candidates: list[tuple[Path, Kind]] = [
        (folder / f"{name}_ims.npy", "npy"),
        (folder / f"{name}.h5", "hdf5"),
        (folder / name, "folder"),
    ]
    path, kind = next(((path, kind) for path, kind in candidates if path.exists()), (None, None))
    if path is None or kind is None:
        raise InputError(f"{folder}: there is neither {', nor '.join(path.name for path, _ in candidates)}.")
    file = first_file(path, kind)
    check_file(file, "a folder of features has one <index>.npy per image")
    array = open_stored(file, kind)
    if kind == "folder":
        rows, shape = sum(1 for _ in path.glob("*.npy")), list(array.shape)
    else:
        rows, shape = array.shape[0], list(array.shape[1:])
    each = split.n_captions // split.n_images
    strides = {split.n_images: 1, split.n_captions: each} if kind != "folder" else {split.n_images: 1}
    if rows not in strides or split.n_images * each != split.n_captions:
        raise InputError(
            f"{path} has {rows} rows, but the split has {split.n_images} images and {split.n_captions} captions; "
            "the captions and the features must come from the same release."
        )
    dtype, size = str(array.dtype), file.stat().st_size
    described = SplitFeatures(str(path), kind, split.n_images, strides[rows], shape, dtype, size)  # type: ignore[arg-type]
    files = tuple(described.files)
    modified = last_changed(files)  # before they are read
    return replace(described, modified=modified, sha256=digest_of_files(files, modified))

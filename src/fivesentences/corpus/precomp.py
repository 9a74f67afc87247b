"""The ``<prefix>_precomp`` folders that the released code of SCAN, VSRN, CVSE, SGRAF and DAA reads."""

from __future__ import annotations

from pathlib import Path

from fivesentences.corpus.caption_rows import refuse_leading_ids
from fivesentences.corpus.catalogue import precomp_folder
from fivesentences.corpus.table import CaptionRow, Corpus, caption_at, corpus_of
from fivesentences.documents import read_lines
from fivesentences.errors import InputError

CAPTIONS_PER_IMAGE = 5


def load_precomp(
    folder: Path | str, prefix: str | None = None, *, name: str | None = None, testall: bool = False
) -> Corpus:
    """Read ``{train,dev,test}_caps.txt``, one caption per line and five lines per image, with their ``_ids.txt``.

    The layout does not name photographs: the filename of an image is its id. Splits without a caption file are left
    out.

    Args:
        folder: The folder itself or, with ``prefix``, one that contains ``<prefix>_precomp``.
        prefix: Prefix of the folder, such as ``f30k`` or ``coco``.
        name: Name of the corpus; by default the prefix, or the folder's name before ``_precomp``.
        testall: Read ``testall`` (COCO's 5,000 images) as the split ``test``, instead of the first 1,000.

    Raises:
        InputError: If there is no caption file, or one is not UTF-8, contains a blank line, or has a number of lines
            that is not five per image or does not agree with the ids.
    """
    folder = precomp_folder(folder, prefix)
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; it must contain train_caps.txt, dev_caps.txt, ...")
    files = {"train": "train", "dev": "dev", "test": "testall" if testall else "test"}
    rows = [
        row
        for split, file in files.items()
        if (folder / f"{file}_caps.txt").exists() or file == "testall"
        for row in _rows_of_split(folder / f"{file}_caps.txt", folder / f"{file}_ids.txt", split)
    ]
    if not rows:
        raise InputError(f"{folder} contains no train_caps.txt, dev_caps.txt or test_caps.txt.")
    return corpus_of(name or prefix or folder.name.removesuffix("_precomp"), rows)


def _rows_of_split(caps: Path, ids: Path, split: str) -> list[CaptionRow]:
    captions = read_lines(caps)
    if len(captions) % CAPTIONS_PER_IMAGE:
        what = f"{len(captions)} lines are not {CAPTIONS_PER_IMAGE} captions per image"
        raise InputError(what, where=caps, cure="a line is missing or too many: fetch the file again")
    refuse_leading_ids(captions, caps)
    rows = []
    for line, image_id in enumerate(_image_ids(ids, len(captions), split)):
        caption = caption_at(captions[line], f"{caps}, line {line + 1}: the caption of image '{image_id}'")
        rows.append(CaptionRow(image_id, image_id, f"{image_id}#{line % CAPTIONS_PER_IMAGE}", caption, split))
    return rows


def _image_ids(file: Path, n_captions: int, split: str) -> list[str]:
    """Return one id per caption; some releases have one line per image, and some lack the file."""
    if not file.exists():
        return [f"{split}-{caption // CAPTIONS_PER_IMAGE}" for caption in range(n_captions)]
    ids = [line.strip() for line in read_lines(file)]
    once = ids if len(ids) * CAPTIONS_PER_IMAGE == n_captions else ids[::CAPTIONS_PER_IMAGE]
    each = [image_id for image_id in once for _ in range(CAPTIONS_PER_IMAGE)]
    if "" in ids or len(each) != n_captions or ids not in (once, each):
        what = f"its {len(ids)} lines are an id neither for each image nor, in a row, for each of {n_captions} captions"
        raise InputError(what, where=file, cure="a line is missing from one of the two files")
    return each

"""Flickr8k from its original text archive (Hodosh, Young and Hockenmaier 2013)."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path, PurePosixPath

from fivesentences.corpus.archives import entries, open_zip, read_entry
from fivesentences.corpus.table import CaptionRow, Corpus, caption_at, corpus_of
from fivesentences.documents import lines_of, text_of
from fivesentences.errors import InputError, counted, say_left_out

TOKENS = "Flickr8k.token.txt"
SPLITS = ("train", "dev", "test")
CAPTIONS_PER_IMAGE = 5


def load_flickr8k(text_zip: Path | str, name: str = "flickr8k") -> Corpus:
    """Read ``Flickr8k_text.zip``: 8,000 images in train, dev and test, with five captions each.

    Images are in the order of the split lists, train, dev, then test, so that "the first 10%" means the first of the
    list; the captions of an image are #0 to #4. Entries of the token file that are on no list are left out: 91 unused
    photographs and one name without a photograph (``....jpg.1``). The id of an image is its filename without the
    suffix.

    Raises:
        InputError: If a file is missing from the archive or is not UTF-8, a line is malformed, an image is on two
            lists, or a listed image lacks one of its five captions.
    """
    with open_zip(text_zip) as archive:
        captions = _captions(lines_in(archive, TOKENS))
        lists = {split: lines_in(archive, f"Flickr_8k.{split}Images.txt") for split in SPLITS}
    rows: dict[str, list[CaptionRow]] = {}
    for split, lines in lists.items():
        for where, line in lines:
            filename = line.strip()
            if filename in rows:
                raise InputError(f"'{filename}' is listed a second time.", where=where)
            ids = [f"{filename}#{number}" for number in range(CAPTIONS_PER_IMAGE)]
            if lacking := [key.removeprefix(filename) for key in ids if key not in captions]:
                what = f"{TOKENS} lacks caption {' and '.join(lacking)} of '{filename}'"
                raise InputError(what, where=where, cure="some lines are missing: fetch the file again")
            rows[filename] = [
                CaptionRow(PurePosixPath(filename).stem, filename, key, captions[key], split) for key in ids
            ]
    every = [row for of_image in rows.values() for row in of_image]
    listed = f"{counted(len(rows), 'image')} with {counted(len(every), 'caption')}"
    say_left_out(text_zip, listed, {"captions of images on no list": len(captions) - len(every)})
    return corpus_of(name, every)


def lines_in(archive: zipfile.ZipFile, file: str) -> list[tuple[str, str]]:
    """Read the lines of a file of Flickr8k's text archive, each with its place for errors.

    Raises:
        InputError: If the archive has no such file, or it is damaged or not UTF-8.
    """
    found = entries(archive, file)
    if not found:
        raise InputError(f"there is no '{file}' in it; is it Flickr8k's text archive?", where=archive.filename)
    where = f"{Path(str(archive.filename)).name}: {file}"
    lines = lines_of(text_of(read_entry(archive, found[0]), where))
    return [(f"{where}, line {number}", line) for number, line in enumerate(lines, 1)]


def _captions(lines: list[tuple[str, str]]) -> dict[str, str]:
    """Read captions by id, from lines such as ``x.jpg#0<tab>A dog runs .``."""
    captions: dict[str, str] = {}
    for where, line in lines:
        found = re.fullmatch(r"([^\t]+)#([0-9]{1,9})\t(.*)", line, flags=re.DOTALL)
        if found is None:
            raise InputError(f"{where} is '{line[:60]}'; expected <image>#<number><tab><caption>.")
        what = f"caption #{int(found[2])} of '{found[1]}'"
        if (key := f"{found[1]}#{int(found[2])}") in captions:
            raise InputError(f"{what} appears a second time.", where=where)
        captions[key] = caption_at(found[3], f"{where}: {what}")
    return captions

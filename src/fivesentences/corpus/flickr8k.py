"""Flickr8k from its original text archive (Hodosh, Young and Hockenmaier 2013)."""

from __future__ import annotations

import zipfile
from pathlib import Path, PurePosixPath

from fivesentences.corpus.archives import entries, open_zip, read_entry
from fivesentences.corpus.assembly import Row, caption_at, corpus_of
from fivesentences.corpus.table import Corpus
from fivesentences.corpus.text import lines_of
from fivesentences.documents import text_of
from fivesentences.errors import InputError

TOKENS = "Flickr8k.token.txt"
LISTS = {
    "train": "Flickr_8k.trainImages.txt",
    "dev": "Flickr_8k.devImages.txt",
    "test": "Flickr_8k.testImages.txt",
}
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
    archive_name = Path(text_zip).name
    with open_zip(text_zip) as archive:
        captions = _captions(lines_in(archive, TOKENS), f"{archive_name}: {TOKENS}")
        lists = {split: lines_in(archive, file) for split, file in LISTS.items()}
    rows: list[Row] = []
    listed: dict[str, str] = {}
    for split, lines in lists.items():
        for number, line in enumerate(lines, 1):
            filename, where = line.strip(), f"{archive_name}: {LISTS[split]}, line {number}"
            if not filename:
                raise InputError(f"{where} is empty; it must name an image.")
            if filename in listed:
                raise InputError(f"{where}: '{filename}' is listed a second time (first in {listed[filename]}).")
            listed[filename] = LISTS[split]
            rows += _rows_of_image(filename, split, captions.get(filename, {}), archive_name)
    return corpus_of(name, rows)


def lines_in(archive: zipfile.ZipFile, file: str) -> list[str]:
    """Lines of a file of Flickr8k's text archive.

    Raises:
        InputError: If the archive has no such file, or it is damaged or not UTF-8.
    """
    found = entries(archive, file)
    if not found:
        raise InputError(f"{archive.filename}: there is no '{file}' in it; is it Flickr8k's text archive?")
    return lines_of(text_of(read_entry(archive, found[0]), f"{Path(str(archive.filename)).name}: {file}"))


def _captions(lines: list[str], where: str) -> dict[str, dict[int, str]]:
    """Filename -> caption number -> caption, from lines such as ``x.jpg#0<tab>A dog runs .``."""
    captions: dict[str, dict[int, str]] = {}
    for number, line in enumerate(lines, 1):
        key, tab, text = line.partition("\t")
        filename, hash_sign, index = key.rpartition("#")
        if not (tab and hash_sign and filename and index.isascii() and index.isdigit() and len(index) < 10):
            raise InputError(f"{where}, line {number} is '{line[:60]}'; expected <image>#<number><tab><caption>.")
        of_image = captions.setdefault(filename, {})
        if int(index) in of_image:
            raise InputError(f"{where}, line {number}: caption #{index} of '{filename}' appears a second time.")
        of_image[int(index)] = caption_at(text, f"{where}, line {number}: caption #{index} of '{filename}'")
    return captions


def _rows_of_image(filename: str, split: str, captions: dict[int, str], archive_name: str) -> list[Row]:
    lacking = [f"#{index}" for index in range(CAPTIONS_PER_IMAGE) if index not in captions]
    if lacking:
        raise InputError(
            f"{archive_name}: {TOKENS} lacks caption {' and '.join(lacking)} of '{filename}' "
            f"(split '{split}'); each image has five lines, so some are missing: fetch the file again."
        )
    image_id = PurePosixPath(filename).stem
    return [
        Row(image_id, filename, f"{filename}#{index}", captions[index], split) for index in range(CAPTIONS_PER_IMAGE)
    ]

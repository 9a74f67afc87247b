"""Pascal Sentences: photographs of twenty categories with five captions each (Rashtchian et al. 2010)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from fivesentences.corpus.table import Corpus, Row, caption_at, corpus_of
from fivesentences.documents import read_json
from fivesentences.errors import InputError

SPLIT = "all"  # nothing is published; a division draws its parts


def load_pascal_sentences(captions: Path | str, name: str = "pascal_sentences") -> Corpus:
    """Read a JSON that maps each filename to its ``category`` and its ``captions``, in file order.

    The original has 1,000 images, 50 of each category, and five captions of nearly all. No split is published: every
    image is in the split ``all``. The id of an image is its filename without the suffix.

    Args:
        captions: The JSON, such as ``{"2008_000716.jpg": {"category": "aeroplane", "captions": ["Two jets."]}}``.
        name: What to call the corpus.

    Raises:
        InputError: If the file is missing or damaged, or an image lacks a category or a caption.
    """
    path = Path(captions)
    content = read_json(path)
    if not isinstance(content, dict) or not content:
        raise InputError(f"{path.name}: it must map filenames to their category and captions.")
    rows: list[Row] = []
    for filename, image in content.items():
        rows += _rows_of_image(filename, image, f"{path.name}: '{filename[:80]}'")
    return corpus_of(name, rows)


def _rows_of_image(filename: str, image: Any, where: str) -> list[Row]:
    category = image.get("category") if isinstance(image, dict) else None
    captions = image.get("captions") if isinstance(image, dict) else None
    if not isinstance(category, str) or not category.strip():
        raise InputError(f"{where} has no category; give its name.")
    if not isinstance(captions, list) or not captions or not all(isinstance(caption, str) for caption in captions):
        raise InputError(f"{where} has no list of captions; give at least one.")
    image_id = PurePosixPath(filename).stem
    return [
        Row(image_id, filename, f"{filename}#{number}", caption_at(caption, f"{where}: caption {number}"), SPLIT,
            category.strip())
        for number, caption in enumerate(captions)
    ]  # fmt: skip

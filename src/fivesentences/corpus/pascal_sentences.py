"""Pascal Sentences: photographs of twenty categories with five captions each (Rashtchian et al. 2010)."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from fivesentences.corpus.table import CaptionRow, Corpus, caption_at, corpus_of
from fivesentences.documents import read_json
from fivesentences.errors import InputError

SPLIT = "all"  # nothing is published; a division draws its parts


def load_pascal_sentences(captions: Path | str, name: str = "pascal_sentences") -> Corpus:
    """Read a JSON that maps each filename to its ``category`` and its ``captions``, in file order.

    The original has 1,000 images, 50 of each category, and five captions of nearly all. No split is published: every
    image is in the split ``all``. The id of an image is its filename without the suffix.

    Args:
        captions: The JSON, such as ``{"2008_000716.jpg": {"category": "aeroplane", "captions": ["Two jets."]}}``.
        name: Name of the corpus.

    Raises:
        InputError: If the file is missing or damaged, or an image lacks a category or a caption.
    """
    path = Path(captions)
    content = read_json(path)
    if not isinstance(content, dict) or not content:
        raise InputError(f"{path.name}: it must map filenames to their category and captions.")
    rows: list[CaptionRow] = []
    for filename, image in content.items():
        where, image = f"{path.name}: '{filename[:80]}'", image if isinstance(image, dict) else {}
        category, texts = image.get("category"), image.get("captions")
        if not isinstance(category, str) or not category.strip():
            raise InputError(f"{where} has no category; give its name.")
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{where} has no list of captions; give at least one.")
        of_image = (PurePosixPath(filename).stem, filename)
        for number, text in enumerate(texts):
            caption = caption_at(text, f"{where}: caption {number}")
            rows.append(CaptionRow(*of_image, f"{filename}#{number}", caption, SPLIT, category.strip()))
    return corpus_of(name, rows)

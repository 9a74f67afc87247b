"""Images to be embedded, by their filenames, and captions with the image of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus import Corpus, Photographs
from fivesentences.errors import Cure, InputError
from fivesentences.semantics.caption_file import equal_pairing, own_pairing, read_captioned, read_pairing, read_texts
from fivesentences.semantics.validation import checked_pairing


@dataclass(frozen=True)
class CaptionedImages:
    """Images and their captions, in the order in which they are scored.

    Attributes:
        image_ids: Unique id of each image.
        filenames: Filename of each image, as ``Photographs`` finds it.
        captions: Raw captions.
        image_of_caption: ``[captions]`` index of each caption's image.
        file: Name of the file that the captions come from.
        dataset: Name of the dataset; None if nothing says it.
        split: Split of the dataset; None if nothing says it.
    """

    image_ids: list[str]
    filenames: list[str]
    captions: list[str]
    image_of_caption: NDArray[np.int64]
    file: str
    dataset: str | None = None
    split: str | None = None

    @classmethod
    def of_corpus(cls, corpus: Corpus, split: str, file: str) -> CaptionedImages:
        """Return the images and captions of a corpus that holds one split."""
        ids, names = (corpus.images[column].tolist() for column in ("image_id", "filename"))
        return cls(ids, names, corpus.captions, corpus.image_of_caption, file, corpus.name, split)

    @classmethod
    def of_table(cls, captions: Path, split: str) -> CaptionedImages | None:
        """Captions and names of images from a file that names both; None if it has captions alone.

        Raises:
            InputError: As ``read_captioned``.
        """
        table = read_captioned(captions, split)
        if not table.is_named:
            return None
        return cls(table.images, table.images, table.captions, table.image_of_caption, captions.name, None, table.split)

    @classmethod
    def of_files(
        cls, captions: Path, image_names: Path, image_of_caption: Path | None, per_image: int | None
    ) -> CaptionedImages:
        """Captions and names of images from files, one per line.

        Args:
            captions: File of the captions, see ``read_captions``; if it says whose they are, the rest must agree.
            image_names: File of each image's name, in the order of the captions.
            image_of_caption: File with the index of each caption's image, from 0.
            per_image: Captions per image, which are adjacent; default as many as there are for each image.

        Raises:
            InputError: If a file is missing or damaged, an image is named twice, or the numbers do not fit.
        """
        table, names = read_captioned(captions), read_texts(image_names)
        texts = table.captions
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise InputError(f"the image '{twice[0]}' is given twice; every image is embedded once.", where=image_names)
        if image_of_caption is not None:
            pairing = read_pairing(image_of_caption, len(texts))
        elif per_image is None and len(texts) % len(names):
            raise InputError(
                f"{len(texts):,} captions of {len(names):,} images are no whole number of captions per image",
                where=captions,
                cure=Cure("pass image_of_caption", "give the image of each caption with --image-of-caption FILE"),
            )
        else:
            pairing = equal_pairing(captions, len(texts), per_image or len(texts) // len(names))
        pairing = checked_pairing(pairing, len(texts), len(names))
        if table.is_named and [names[one] for one in pairing] != [table.images[one] for one in table.image_of_caption]:
            what = f"it names the images of its captions, and {image_names} names others"
            raise InputError(what, where=captions, cure="leave one of them out")
        own_pairing(table, captions, pairing)
        return cls(names, names, texts, pairing, captions.name)

    def check(self, photographs: Photographs) -> None:
        """Check that every image is there, before anything costly is done.

        Raises:
            InputError: If not; it names the first missing image and their number.
        """
        missing = [name for name in self.filenames if name not in photographs]
        if missing:
            more = f" ({len(missing):,} of {len(self.filenames):,} images are not found)" if len(missing) > 1 else ""
            place = " and ".join(map(str, photographs.paths))
            raise InputError(photographs.problem(missing[0]).rstrip(".") + more + ".", where=place)

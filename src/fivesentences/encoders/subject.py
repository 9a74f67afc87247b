"""What is embedded: images by their filenames, and captions with the image of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fivesentences.corpus import Corpus, Photographs
from fivesentences.errors import Cure, InputError
from fivesentences.semantics.caption_file import equal_pairing, read_captions, read_pairing
from fivesentences.semantics.validation import checked_pairing


@dataclass(frozen=True)
class CaptionedImages:
    """Images and their captions, in the order in which they are scored.

    Attributes:
        image_ids: Of each image, unique.
        filenames: Of each image, as ``Photographs`` finds it.
        captions: Raw captions.
        image_of_caption: ``[captions]`` index of each caption's image.
        file: Where the captions come from, for people.
        dataset: Name of the dataset; None if nothing says it.
        split: Of the dataset; None if nothing says it.

    Raises:
        InputError: If lengths disagree, an image is named twice, or a caption has no image or an image no caption.
    """

    image_ids: list[str]
    filenames: list[str]
    captions: list[str]
    image_of_caption: NDArray[np.int64]
    file: str
    dataset: str | None = None
    split: str | None = None

    def __post_init__(self) -> None:
        for what, names in (("image id", self.image_ids), ("image", self.filenames)):
            if len(set(names)) < len(names):
                seen: set[str] = set()
                twice = next(name for name in names if name in seen or seen.add(name))  # type: ignore[func-returns-value]
                raise InputError(f"the {what} '{twice}' is given twice; every image is embedded once.")
        pairing = checked_pairing(self.image_of_caption, len(self.captions))
        if int(pairing.max()) + 1 != len(self.filenames):
            raise InputError(
                f"the captions belong to {int(pairing.max()) + 1:,} images, but {len(self.filenames):,} are named",
                where=self.file,
                cure="name every image once, in the order of the captions",
            )
        object.__setattr__(self, "image_of_caption", pairing)

    @classmethod
    def of_corpus(cls, corpus: Corpus, split: str, file: str) -> CaptionedImages:
        """The images and captions of one split, which the corpus holds."""
        images = corpus.images
        return cls(
            [str(name) for name in images["image_id"]],
            [str(name) for name in images["filename"]],
            corpus.captions,
            corpus.image_of_caption,
            file,
            corpus.name,
            split,
        )

    @classmethod
    def of_files(
        cls, captions: Path, image_names: Path, image_of_caption: Path | None, per_image: int | None
    ) -> CaptionedImages:
        """Captions and names of images from files, one per line.

        Args:
            captions: As ``read_captions`` reads them.
            image_names: File of each image, in the order of the captions.
            image_of_caption: Index of each caption's image, from 0.
            per_image: Captions per image, which stand together; default as many as there are for each image.

        Raises:
            InputError: If a file is missing or damaged, or the numbers do not fit.
        """
        texts, names = read_captions(captions), read_captions(image_names)
        if image_of_caption is not None:
            pairing = read_pairing(image_of_caption, len(texts))
        elif per_image is None and len(texts) % len(names):
            raise InputError(
                f"it holds {len(texts):,} captions of the {len(names):,} images in {image_names}, which is no whole "
                "number of captions per image",
                where=captions,
                cure=Cure("pass image_of_caption", "give the image of each caption with --image-of-caption FILE"),
            )
        else:
            pairing = equal_pairing(captions, len(texts), per_image or len(texts) // len(names))
        return cls(list(names), list(names), texts, pairing, captions.name)

    def check(self, photographs: Photographs) -> None:
        """Check that every image is there, before anything costly is done.

        Raises:
            InputError: The first image that is not, and how many there are of those.
        """
        missing = [name for name in self.filenames if name not in photographs]
        if missing:
            place = " and ".join(str(path) for path in photographs.paths)
            more = f" ({len(missing):,} of {len(self.filenames):,} images are not found)" if len(missing) > 1 else ""
            raise InputError(photographs.problem(missing[0]).rstrip(".") + more + ".", where=place)

"""The protocol, and what else is known about images and captions from files: ids, categories, labels, positives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.commands.arguments import Dataset, Mirror, dataset_named
from fivesentences.commands.sheets import Read
from fivesentences.corpus.labels import read_instances
from fivesentences.errors import InputError, first_of, need
from fivesentences.evaluation.gallery_files import captions_of
from fivesentences.evaluation.matrix_files import read_matrix
from fivesentences.evaluation.positives import coco_test_ids, cxc_positives, is_in_order, packaged_positives
from fivesentences.evaluation.protocols import PROTOCOLS, Protocol
from fivesentences.metrics import Positives
from fivesentences.metrics.judged import Judged
from fivesentences.retrieval import Gallery
from fivesentences.semantics.caption_file import read_texts

COCO_5K, FLICKR8K = "coco-5k", "flickr8k"


@dataclass(frozen=True)
class Annotations:
    """The protocol and files about the images and captions of a similarity.

    Attributes:
        dataset: Benchmark whose protocol scores the similarity; default: one gallery of everything.
        image_ids: COCO id of each image, one per line; default: Karpathy's order of COCO's test split. With --people
            the file name of each; default: Flickr8k's own list.
        caption_ids: COCO id of each caption, one per line; default as above. With --people such as 1.jpg#0.
        eccv: ECCV Caption and CxC recall, only for COCO's 5K test split.
        cxc: CxC recall from sits_test.csv, by COCO ids.
        people: With flickr8k: positives by people, of rankings condensed to judged images; fetches Flickr8k_text.zip.
        data: Folder of downloads, for --people.
        mirror: A folder with copies of the downloads, used first, for --people.
        categories: Category of each image, one per line: mAP, R-precision.
        labels: 0/1 matrix [images, labels], .npy, .npz, .json, .csv or .pt: PMRP.
        instances: COCO instances .json in place of --labels: PMRP.
    """

    dataset: Annotated[Dataset | None, typer.Option("--dataset", "--protocol", parser=dataset_named)] = None
    image_ids: Path | None = None
    caption_ids: Path | None = None
    eccv: bool = False
    cxc: Path | None = None
    people: bool = False
    data: Path = Path("data")
    mirror: Mirror = field(default=None, compare=False)  # which a variable of the environment may name
    categories: Path | None = None
    labels: Path | None = None
    instances: Path | None = None

    @property
    def protocol(self) -> Protocol | None:
        """The protocol; None to score one gallery."""
        return None if self.dataset is None else PROTOCOLS[self.dataset]

    @property
    def id_files(self) -> tuple[Path | None, Path | None]:
        """Files of the ids of images and of captions."""
        return self.image_ids, self.caption_ids

    @property
    def read_files(self) -> Read:
        """The files, as ``Outputs.check`` takes them."""
        names = ("categories", "labels", "instances", "cxc", "image_ids", "caption_ids")
        return [(name, getattr(self, name)) for name in names]

    @property
    def _are_ids_known(self) -> bool:
        """True if the options say that this is COCO's test split, so that ids need not be given."""
        return self.eccv or (self.protocol is not None and self.protocol.dataset == "coco")

    def check(self) -> None:
        """Refuse contradicting options before anything is read.

        Raises:
            typer.BadParameter: If two options exclude each other.
            InputError: If something is missing.
        """
        if self.labels is not None and self.instances is not None:
            raise InputError("--labels and --instances both say what is in an image; give one of them.")
        if self.eccv and self.cxc is not None:
            raise typer.BadParameter("--eccv includes CxC; leave --cxc out.", param_hint="--cxc")
        protocol = self.protocol
        if (self.eccv or self.cxc is not None) and protocol is not None and protocol.gallery != protocol.images:
            raise InputError(
                f"{'--eccv' if self.eccv else '--cxc'} is about the whole gallery, but --dataset {self.dataset} "
                f"scores parts of it; give --dataset {COCO_5K}."
            )
        if self.people and (protocol is None or protocol.dataset != FLICKR8K):
            what = "--people are those who judged Flickr8k's test split"
            raise InputError(what, cure=f"give --dataset {FLICKR8K}, or leave --people out")
        if self.data != Path("data") and not self.people:
            raise InputError("it says where the file of --people is; give --people, or leave it out.", where="--data")
        if self.eccv:
            need("eccv_caption", "eccv", "--eccv")
        by_ids = self.cxc or self.instances
        needed = {"--image-ids": self.image_ids, **({"--caption-ids": self.caption_ids} if self.cxc else {})}
        missing = " and ".join(f"{option} FILE" for option, file in needed.items() if file is None)
        if by_ids is not None and missing and not self._are_ids_known:
            what = f"{'labels' if self.cxc is None else 'pairs'} are named by COCO ids"
            raise InputError(what, where=by_ids, cure=f"give {missing} (with --dataset {COCO_5K} they are known)")

    def read(
        self, gallery: Gallery, captions: Path | None = None, lines: Sequence[str] | None = None
    ) -> tuple[dict[str, Any], list[str]]:
        """Read categories, labels and positives of a gallery, as ``ProtocolScorer`` takes them.

        Args:
            gallery: Images, captions and similarity.
            captions: File of its captions, by which an assumed order of COCO's test split is checked.
            lines: What was read from it.

        Returns:
            Arguments of ``ProtocolScorer``, and a sentence on the order of images and captions where it was assumed.

        Raises:
            InputError: If a file is missing or damaged, does not fit the gallery or is in another order, or ``--eccv``
                is given for another gallery than COCO's 5K test split.
        """
        if self.eccv and gallery.shape != PROTOCOLS[COCO_5K].split:
            wanted = list(PROTOCOLS[COCO_5K].split)
            what = f"{gallery.name} is {list(gallery.shape)}, but --eccv is about COCO's test split, {wanted}"
            more = "give --first-captions 5, or " if gallery.n_captions > wanted[1] else ""
            raise InputError(what, cure=f"{more}leave --eccv out")
        n_images, n_captions = gallery.shape
        image_ids = read_list(self.image_ids, n_images, "ids", "images")
        kept = np.ones(n_captions, dtype=bool) if gallery.kept is None else gallery.kept
        caption_ids = read_list(self.caption_ids, len(kept), "ids", "captions")
        if caption_ids is not None:
            caption_ids = [one for one, is_kept in zip(caption_ids, kept, strict=True) if is_kept]
        notes: list[str] = []
        by_pairs = self.eccv or self.cxc is not None
        if self._are_ids_known and (by_pairs or self.instances is not None):
            texts = None if lines is None else captions_of(gallery, lines, captions)
            is_told = texts is not None and is_in_order(texts, caption_ids, captions or "captions")
            told = f"{captions} has its captions in this order" if is_told else "a similarity does not show its order"
            usual_images, usual_captions = (list(map(str, ids)) for ids in coco_test_ids())
            assumed = {}
            if image_ids is None:
                image_ids = usual_images[:n_images]
                assumed["--image-ids"] = f"images (the first is {image_ids[0]})"
            if caption_ids is None and by_pairs:
                caption_ids = usual_captions[:n_captions]
                assumed["--caption-ids"] = f"captions (the first is {caption_ids[0]})"
            if assumed:
                notes.append(
                    f"No {' and '.join(assumed)} given: {' and '.join(assumed.values())} are taken to be in Karpathy's "
                    f"order of COCO's test split; {told}."
                )
        categories = read_list(self.categories, n_images, "categories", "images")
        labels = None if self.labels is None else read_matrix(self.labels)
        if self.instances is not None:
            labels = read_instances(self.instances, image_ids or [])
        judged = None
        if self.people:
            texts = None if lines is None else captions_of(gallery, lines, captions)
            judged, on_people = self._people(kept, image_ids, caption_ids, texts, captions)
            notes += on_people
        arguments = {
            "judged": judged,
            "categories": None if categories is None else np.unique(categories, return_inverse=True)[1],
            "labels": labels,
            "positives": self._positives(image_ids, caption_ids),
        }
        return arguments, notes

    def _people(
        self,
        kept: NDArray[np.bool_],
        image_ids: list[str] | None,
        caption_ids: list[str] | None,
        texts: Sequence[str] | None,
        captions: Path | None,
    ) -> tuple[dict[str, Judged], list[str]]:
        """Return people's judgements of Flickr8k's test split, and sentences on them and on the order of captions."""
        from fivesentences.evaluation import people  # takes pandas

        text_zip = _fetched_text(self.data, self.mirror)
        usual = people.usual_ids(text_zip)[1]
        if caption_ids is None and len(kept) == len(usual) and not kept.all():
            caption_ids = [one for one, is_kept in zip(usual, kept, strict=True) if is_kept]
        if texts is not None:
            people.check_captions(text_zip, texts, caption_ids, str(captions))
        notes = []
        if image_ids is None or caption_ids is None:
            told = (
                f"{captions} has its captions in this order" if texts is not None else "a similarity does not show it"
            )
            notes = [f"No ids given: rows and columns are taken to be in the order of Flickr8k's test list; {told}."]
        judged = people.people_judged(text_zip, image_ids, caption_ids)
        return judged, [*notes, *people.notes_on_people(judged)]

    def _positives(self, image_ids: list[str] | None, caption_ids: list[str] | None) -> dict[str, Positives] | None:
        if self.eccv:
            lists: dict[str, Any] = {"ECCV": "eccv", "CxC": "cxc"}
            return {title: packaged_positives(name, image_ids, caption_ids) for title, name in lists.items()}
        return None if self.cxc is None else {"CxC": cxc_positives(self.cxc, caption_ids or [], image_ids or [])}


def _fetched_text(data: Path, mirror: Path | None) -> Path:
    """Return Flickr8k's text archive, fetched and checked where it is not there yet."""
    from fivesentences.config.datasets import Catalogue
    from fivesentences.config.files import CATALOGUE, config_file
    from fivesentences.config.reading import read
    from fivesentences.corpus.download import fetch, find_mirror

    entry = read(Catalogue, config_file(CATALOGUE, Path("config"))).datasets[FLICKR8K]
    return fetch(entry, FLICKR8K, "text", data, find_mirror(mirror))


def read_list(path: Path | None, wanted: int, what: str, of: str) -> list[str] | None:
    """Read ids or categories from a file, one per line; None without a file.

    Raises:
        InputError: If the file is missing or damaged, holds a blank line, or does not hold as many as are wanted.
    """
    if path is None:
        return None
    lines = [line.strip() for line in read_texts(path)]
    if blank := [number for number, line in enumerate(lines, 1) if not line]:
        of_each = "remove it" if len(lines) > wanted else f"write one for each of the {wanted:,} {of}"
        raise InputError(f"line {first_of(blank, 5)} of {what} is blank", where=path, cure=of_each)
    if len(lines) != wanted:
        raise InputError(f"{path} holds {len(lines)} {what} but there are {wanted} {of}; give one per line.")
    return lines

"""How benchmarks cut a test split into galleries and average over them; every number of a matrix under such a rule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivesentences.arrays import Unheld
from fivesentences.choices import CATALOGUE_NAMES, datasets_called
from fivesentences.config.metrics import shown_name
from fivesentences.errors import Argument, Cure, InputError, did_you_mean
from fivesentences.metrics import Evaluation, Evaluator, MetricValue, Positives
from fivesentences.metrics.evaluator import Visit
from fivesentences.metrics.image_order import ImageOrder, alike_by
from fivesentences.metrics.in_blocks import ReadBefore
from fivesentences.metrics.notes import Placement, note_on_equal_rows, note_on_products
from fivesentences.metrics.result import about_of, sums_of
from fivesentences.retrieval.arguments import DIRECTIONS, Direction
from fivesentences.retrieval.cosine import are_embeddings, gallery_of_embeddings
from fivesentences.retrieval.gallery import Gallery, Similarity, as_array, checked_matrix
from fivesentences.retrieval.lists import ItemLists
from fivesentences.retrieval.rescoring import Inference


@dataclass(frozen=True)
class Protocol:
    """The way in which a benchmark scores.

    Attributes:
        name: Such as ``coco-5k``.
        images: Images that the similarity must have.
        captions: Captions that it must have.
        gallery: Images of a gallery.
        folds: Galleries, one after the other from the first image on; their numbers are averaged.
        words: Description below a table.
        dataset: Its name in the list of downloads.
    """

    name: str
    images: int
    captions: int
    gallery: int
    folds: int
    words: str
    dataset: str = ""

    def accepts(self, n_images: int, n_captions: int) -> bool:
        """Return True if a matrix has the images of the whole split, or of the only gallery, and enough captions."""
        is_split = n_images == self.images or (self.folds == 1 and n_images == self.gallery)
        return is_split and n_captions >= self.usual(n_images)

    def usual(self, n_images: int) -> int:
        """Return how many captions published evaluations have of so many images."""
        return n_images * self.captions // self.images

    def check(self, gallery: Gallery) -> None:
        """Refuse a gallery whose size is not the protocol's.

        Raises:
            InputError: If it is not; it says which protocol the matrix fits.
        """
        counts = np.bincount(gallery.image_of_caption)
        # Fewer captions in equal blocks are those of another split, unless somebody asked for fewer.
        is_wanted = gallery.kept is not None or counts.min() < counts.max()
        if self.accepts(gallery.n_images, self.captions if is_wanted else gallery.n_captions):
            return
        fitting = ", ".join(other.name for other in PROTOCOLS.values() if other.accepts(*gallery.shape))
        raise InputError(
            f"{gallery.name} is {list(gallery.shape)}, but {self.name} has {self.images} images and {self.captions} "
            "captions",
            cure=f"these fit it: {fitting}"
            if fitting
            else f"{Cure('leave the protocol out', 'leave --dataset out')} to score the whole matrix",
        )

    @property
    def split(self) -> tuple[int, int]:
        """Images and captions of the whole split."""
        return self.images, self.captions

    def note(self, gallery: Gallery) -> list[str]:
        """Return a sentence on how many captions are used, if published evaluations use another number."""
        usual, counts = self.usual(gallery.n_images), np.bincount(gallery.image_of_caption)
        if gallery.n_captions == usual:
            return []
        first = self.captions // self.images
        cure = Cure(f"first_captions={first}", f"--first-captions {first}")
        per = f"{counts.min()} to {counts.max()}"
        more = f"; {cure} uses the first {first} of each, as published numbers do" if counts.min() >= first else ""
        return [
            f"{self.name}: all {gallery.n_captions:,} captions are used, {per} per image, where published evaluations "
            f"use {usual:,}{more}."
        ]

    def parts(self, n_images: int) -> list[slice]:
        """Return the images of each gallery of a matrix of so many images."""
        if self.gallery == n_images:
            return [slice(0, n_images)]
        return [slice(fold * self.gallery, (fold + 1) * self.gallery) for fold in range(self.folds)]


#: The galleries of published evaluations, by the name that ``evaluate`` takes.
PROTOCOLS = {
    name: Protocol(name, images, 5 * images, gallery, folds, words, CATALOGUE_NAMES[name])
    for name, images, gallery, folds, words in (
        ("flickr8k", 1000, 1000, 1, "Flickr8k test, 1,000 images and 5,000 captions in one gallery"),
        ("f30k", 1000, 1000, 1, "Flickr30K test, 1,000 images and 5,000 captions in one gallery"),
        ("coco-5k", 5000, 5000, 1, "MS-COCO 5K, 5,000 images and 25,000 captions in one gallery"),
        ("coco-1k-5fold", 5000, 1000, 5, "MS-COCO 1K, mean of five folds of 1,000 images in file order"),
        ("coco-1k-first", 5000, 1000, 1, "MS-COCO 1K, the first 1,000 images alone"),
    )
}


def protocol_named(name: str) -> Protocol:
    """Return a protocol by its name, or by another name of its dataset.

    Raises:
        InputError: If there is none, or the name stands for several.
    """
    if isinstance(name, Mapping):
        raise InputError("is a dictionary", where=Argument("protocol"), cure="pass phi as phis={'cider': phi}")
    meant = [name] if name in PROTOCOLS else datasets_called(name) if isinstance(name, str) else []
    if len(meant) != 1:
        choices = f"is {name!r}; it is one of {', '.join(meant or PROTOCOLS)}"
        guess = None if meant else did_you_mean(str(name), [*PROTOCOLS, *CATALOGUE_NAMES.values()])
        raise InputError(choices if guess else f"{choices}.", where=Argument("protocol"), cure=guess)
    return PROTOCOLS[meant[0]]


def refuse_evaluation(similarity: object, name: str) -> None:
    """Refuse what ``evaluate`` returned where a similarity is needed.

    Raises:
        InputError: If it is an evaluation.
    """
    if isinstance(similarity, Evaluation):
        what = "is an evaluation, and not a similarity"
        raise InputError(what, where=Argument(name), cure="give what it was made of, [images, captions] or a Gallery")


def checked_gallery(
    similarity: Similarity,
    image_of_caption: ArrayLike | None,
    phis: Mapping[str, ArrayLike] | ArrayLike | None,
    protocol: Protocol | None,
    *,
    more_rows: bool = False,
    first_captions: int | None = None,
    name: str = "similarity",
) -> Gallery:
    """Check the whole split, also against the protocol; arguments and errors are those of ``evaluate``."""
    refuse_evaluation(similarity, name)
    gallery = Gallery.of(similarity, image_of_caption, name=name)
    if phis is not None:
        gallery = gallery.with_phis(phis, more_rows=more_rows, split=None if protocol is None else protocol.split)
    gallery = gallery.first_captions(first_captions)
    if protocol is not None:
        protocol.check(gallery)
    return gallery


def evaluate(
    similarity: Similarity,
    texts_or_phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
    protocol: str | None = None,
    image_of_caption: ArrayLike | None = None,
    *,
    texts: ArrayLike | None = None,
    phis: Mapping[str, ArrayLike] | ArrayLike | None = None,
    t2i: Similarity | None = None,
    first_captions: int | None = None,
    ideal_pool: str = "gallery",
    inference: str | Inference = "naive",
    in_blocks: bool | None = None,
    progress: Callable[[], object] | None = None,
    **options: Any,
) -> Evaluation:
    """Compute every number of a similarity matrix or of embeddings, under a protocol if one is named::

        from fivesentences.evaluation import evaluate
        result = evaluate(similarity, {"cider": phi}, protocol="f30k")
        print(result)
        result["R@1", "i2t"]
        evaluate(images, texts, phis={"cider": phi})  # embeddings

    Embeddings of images and captions have equally many columns, by which they are recognised. They are normalised, so
    that their cosine is the similarity; the notes say so.

    Where there are several galleries, each is re-scored and scored by itself and every number, including medians and
    sums, is the mean over them, as in the released evaluations. A phi is cut with the similarity; its document
    frequencies stay those of the captions that it was made of.

    Args:
        similarity: ``[images, captions]``, larger is more similar; an array, a memory map or a torch tensor. Or a
            ``Gallery``. With texts ``[images, dim]``, embeddings of the images. Or the first items of every query,
            ``retrieval.ItemLists.of(...)``.
        texts_or_phis: One of the next two, if shapes say which.
        texts: ``[captions, dim]``, embeddings of the captions.
        phis: ``{name: [captions, images]}``, one matrix, or nothing for instance recall alone.
        t2i: ``[images, captions]``, the similarity for caption queries, where it differs from that for image queries:
            that of a reranker, or of an encoder that is given an instruction with the query.
        protocol: A name in ``PROTOCOLS``; default: the whole matrix is one gallery.
        image_of_caption: ``[captions]`` image index of each caption; default equal image-major blocks.
        first_captions: Use the first so many captions of each image alone, such as 5 of COCO's 5 to 7; a phi that was
            made of all of them keeps what it knows of the others.
        ideal_pool: "gallery", or "given_rows" to take an image's ideal of NCS over all rows that phi has. It may then
            have rows after those of similarity; and where the protocol scores a part, the ideal is taken over the
            captions of the whole split, as the released evaluation of the first 1,000 images does.
        inference: How each gallery is read, such as "csls" or "csls,k=5"; see ``retrieval.rescoring``.
        in_blocks: Whether cosines of embeddings are computed where they are read, and not held; default where there are
            more than 150 million pairs. Metrics of whole rankings (ASP, PMRP, mAP) are then left out, and said so.
        progress: Called after each gallery.
        options: Further arguments of ``ProtocolScorer``: ``labels``, ``categories``, ``caption_categories`` and
            ``positives``; and of ``metrics.Evaluator``: cut-offs, variants, tie rules, hubs.

    Raises:
        InputError: If shapes disagree or do not fit the protocol, a value is not finite, an option is out of range, or
            the second matrix may be texts as well as phi.
    """
    chosen = None if protocol is None else protocol_named(protocol)
    more_rows = ideal_pool == "given_rows"
    if texts_or_phis is not None:
        texts, phis = _told_apart(similarity, texts_or_phis, texts, phis, image_of_caption, more_rows)
    if texts is not None:
        if isinstance(similarity, Gallery):
            raise InputError("a gallery has a similarity already; give embeddings of the images with texts.")
        similarity = gallery_of_embeddings(similarity, texts, image_of_caption, ("images", "texts"), in_blocks)
        image_of_caption = None  # which the gallery knows
    how: dict[str, Any] = {"more_rows": more_rows, "first_captions": first_captions}
    whole = checked_gallery(similarity, image_of_caption, phis, chosen, **how)
    if not isinstance(similarity, Gallery):
        whole = _noted(whole)
    if t2i is not None and not isinstance(t2i, Gallery):
        t2i = _noted(whole.with_similarity(t2i, "t2i"))
    scorer = ProtocolScorer(whole, chosen, ideal_pool=ideal_pool, **options)
    return replace(scorer(whole, t2i=t2i, inference=inference, progress=progress), chance=scorer.by_chance())


def _noted(gallery: Gallery) -> Gallery:
    """Return the gallery with a note on its similarity, where it looks like products of embeddings."""
    if isinstance(gallery.similarity, Unheld | ItemLists):
        return gallery
    return replace(gallery, notes=(*gallery.notes, *note_on_products(gallery.similarity, gallery.name)))


def _told_apart(
    similarity: Similarity,
    given: Mapping[str, ArrayLike] | ArrayLike,
    texts: ArrayLike | None,
    phis: Mapping[str, ArrayLike] | ArrayLike | None,
    image_of_caption: ArrayLike | None,
    more_rows: bool,
) -> tuple[Any, Any]:
    """Return texts and phis, of which the second argument of ``evaluate`` is one.

    Raises:
        InputError: If it may be either, or what it is was given by name too.
    """
    if isinstance(given, Mapping) or isinstance(similarity, Gallery) or texts is not None:
        if phis is not None:
            raise InputError("phis are given twice, by position and by name; leave one out.")
        return texts, given
    first, second = as_array(similarity, "similarity"), as_array(given, "the second matrix")
    if second.ndim != 2 and second.size:
        checked_matrix(second, "the second matrix")
    if first.ndim != 2 or second.ndim != 2 or not (first.size and second.size):
        return (None, given) if phis is None else (given, phis)
    owners = None if image_of_caption is None else as_array(image_of_caption, "image_of_caption")
    owners = owners if owners is not None and owners.ndim == 1 and owners.dtype.kind in "iu" else None
    embeddings = are_embeddings(first, second, owners)
    (n_images, n_captions), (rows, columns) = first.shape, second.shape
    if phis is None:
        further = more_rows and columns == n_images and rows > n_captions
        if further or (not embeddings and (rows, columns) == (n_captions, n_images)):
            return None, given
    if embeddings:
        return given, phis
    if columns != n_captions:
        is_similarity = n_captions % n_images == 0 if owners is None else len(owners) == n_captions
        # What neither is fits nothing, which the cosine of these embeddings, or the check of this phi, says.
        return (None, given) if is_similarity and phis is None else (given, phis)
    raise InputError(
        f"similarity is {[n_images, n_captions]} and texts or phi is {[rows, columns]}, which may be embeddings of "
        "images and captions, two similarities, or a similarity and a phi of which one is transposed",
        cure="name the second, texts=... for embeddings of captions and t2i=... for the similarity of caption queries; "
        "a similarity is [images, captions], and its phi [captions, images]",
    )


# Arguments that others have, or the command line.
CURES = {
    "captions": 'give phi of them, such as phis={"cider": cider_matrix(captions)} of fivesentences.semantics',
    "dataset": 'name its protocol, such as protocol="f30k"',
    "metric": 'give its matrix, such as phis={"cider": cider_matrix(captions)} of fivesentences.semantics',
    "per_image": "give image_of_caption, the image index of each caption",
}


ITS_ORDER = "which image each caption belongs to (image_of_caption; --image-of-caption FILE)"


class ProtocolScorer:
    """Scores any number of similarities of the same images and captions, as ``evaluate`` scores one.

    What depends on phi alone is computed once; a similarity is not kept.

    Args:
        whole: Images, captions and phi matrices; its similarity is not read.
        protocol: A protocol, or its name in ``PROTOCOLS``; default: the whole matrix is one gallery.
        ideal_pool: "gallery" or "given_rows".
        labels: ``[images, classes]`` 0/1, for PMRP.
        categories: ``[images]``, for mAP and R-precision.
        caption_categories: ``[captions]``; default that of the caption's image.
        positives: ``{"CxC": ..., "ECCV": ...}``; only where the whole matrix is one gallery.
        options: Further arguments of ``metrics.Evaluator``.

    Raises:
        InputError: If something does not fit, or an option is out of range.
    """

    def __init__(
        self,
        whole: Gallery,
        protocol: Protocol | str | None = None,
        *,
        ideal_pool: str = "gallery",
        labels: ArrayLike | None = None,
        categories: ArrayLike | None = None,
        caption_categories: ArrayLike | None = None,
        positives: Mapping[str, Positives] | None = None,
        **options: Any,
    ):
        known = inspect.signature(Evaluator).parameters
        for name in options:
            if name not in known:
                cure = CURES.get(name) or did_you_mean(name, ["phis", *known]) or f"there are {', '.join(known)}"
                raise InputError("is no argument of an evaluation", where=Argument(name), cure=cure)
        self.protocol = chosen = protocol_named(protocol) if isinstance(protocol, str) else protocol
        # Nothing but the shape is asked of it.
        self.whole = replace(whole, similarity=np.broadcast_to(np.float32(0), whole.shape))
        parts = [slice(0, whole.n_images)] if chosen is None else chosen.parts(whole.n_images)
        if positives and chosen is not None and parts != [slice(0, whole.n_images)]:
            raise InputError(f"positives are defined for the whole gallery; {chosen.name} scores parts of it.")
        if options.get("judged") and parts != [slice(0, whole.n_images)]:
            raise InputError(
                f"judgements are of the whole gallery; {chosen.name if chosen else ''} scores parts of it."
            )
        of_images = {"labels": labels, "categories": categories}
        checked = {name: _checked(name, values, whole.n_images, "image") for name, values in of_images.items()}
        of_captions = _checked("caption_categories", caption_categories, whole.n_captions, "caption")
        options |= {"positives": positives, "ideal_pool": ideal_pool}
        self.parts = []
        for images in parts:
            own = whole.captions_of(images)
            cut: dict[str, Any] = {name: None if values is None else values[images] for name, values in checked.items()}
            cut["caption_categories"] = None if of_captions is None else of_captions[own]
            self.parts.append((images, own, Evaluator(**cut, **options)))
        self._every_row = ideal_pool == "given_rows"
        given = checked | {f"the positives {name}": one for name, one in (positives or {}).items()}
        self._alike = {name: alike_by(one, whole.image_of_caption) for name, one in given.items() if one is not None}
        self._first: tuple[str | Path, ImageOrder] | None = None  # the first similarity whose own items rank well
        self._galleries: dict[int, Gallery] = {}

    def __call__(
        self,
        similarity: Similarity,
        *,
        t2i: Similarity | None = None,
        inference: str | Inference = "naive",
        queries: bool = False,
        progress: Callable[[], object] | None = None,
        visit: Visit | None = None,
    ) -> Evaluation:
        """Compute every number of a similarity.

        Args:
            similarity: ``[images, captions]`` of the same images and captions.
            t2i: Another one that scores caption queries; ``similarity`` then scores image queries alone.
            inference: How each gallery is read, see ``evaluate``.
            queries: True to return the values of every query too.
            progress: Called after each gallery.
            visit: Called with each gallery as it is read, and the directions that are read from it.

        Raises:
            InputError: If it is not a matrix of finite real numbers, looks transposed, or is of another shape.
        """
        found, how, given = [], Inference.of(inference), [self.whole.with_similarity(similarity)]
        lists = given[0].similarity if isinstance(given[0].similarity, ItemLists) else None
        if lists is not None:
            lists.check_reach(max(self.parts[0][2].ks))
        scored = DIRECTIONS if lists is None else tuple(lists.directions)
        sides: list[Sequence[Direction]] = [scored]
        if t2i is not None:
            given, sides = [*given, self.whole.with_similarity(t2i, "t2i")], [[side] for side in DIRECTIONS]
        for at, (images, captions, evaluator) in enumerate(self.parts):
            read: dict[str, Any] = {"inference": how.of_part(images, captions), "visit": visit}
            found.append(
                Evaluation.joined(
                    [
                        evaluator.with_queries(self.gallery(one, at), of, **read)
                        for one, of in zip(given, sides, strict=True)
                    ]
                )
            )
            if progress is not None:
                progress()
        named = () if self.protocol is None else (self.protocol.name, self.protocol.words)
        sizes = [(one.about["images"], one.about["captions"]) for one in found]
        about = {**about_of(self.whole.shape, sizes, *named), "phis": list(self.whole.phis), **how.about}
        joined: list[Any] = []  # of the queries of all galleries, those of the first gallery first
        for same in zip(*(one.queries if queries else () for one in found), strict=True):
            joined.append({**same[0], "values": np.concatenate([one["values"] for one in same])})
        values = averaged([[value for value in one.values if value["direction"]] for one in found])
        placements = {side: Placement.joined([one.placements[side] for one in found]) for side in scored}
        whole = [(one, of) for one, of in zip(given, sides, strict=True) if lists is None]
        notes = [note for one in given for note in one.notes]
        notes += [note for one, _ in whole for note in note_on_equal_rows(one.similarity, one.name)]
        for one, of in whole:
            notes += self.notes_on_order(one, all(placements[side].ranks_well for side in of))
        notes += [] if self.protocol is None else self.protocol.note(self.whole)
        if t2i is not None:
            notes.append(f"Image queries are scored by {given[0].name}, caption queries by {given[1].name}.")
        notes += [sentence for one in given for sentence in self.parts[0][2].left_out(one)]
        about["notes"] = [*notes, *self.parts[0][2].notes_of(placements)]
        values += sums_of(values) if len(scored) == len(DIRECTIONS) else []
        if lists is not None:
            values, notes = beyond_lists(values, lists)
            about["notes"] = [*notes, *about["notes"]]
        return Evaluation(values, about, joined, {side: self.scored[side] for side in scored} if queries else {})

    def by_chance(self) -> Evaluation:
        """Compute what a ranking in random order reaches, of every number that has a closed form."""
        found = [evaluator.by_chance(self.gallery(self.whole, at)) for at, (*_, evaluator) in enumerate(self.parts)]
        values = averaged([[value for value in one if value["direction"]] for one in found])
        return Evaluation(values + sums_of(values), about_of(self.whole.shape, [self.whole.shape]))

    def notes_on_order(self, given: Gallery, ranks_well: bool) -> list[str]:
        """Return sentences on captions that seem to belong to other images than the pairing says.

        Args:
            given: A similarity, with the phi matrices.
            ranks_well: Whether its own items rank far better than by chance, so that phi can be compared with it.
        """
        if isinstance(given.similarity, ReadBefore):
            return []  # its parts say so
        order = ImageOrder(given.similarity, given.image_of_caption)
        own = order.where_own_apart(given.similarity)
        notes = [f"{given.name}: {own}: check {ITS_ORDER}."] if own else []
        return [*notes, *self._on_order(given, order)] if ranks_well else notes

    def _on_order(self, given: Gallery, order: ImageOrder) -> list[str]:
        """Return sentences on what has its images in another order than a similarity whose own items rank well."""
        called = "the similarity"
        phis = {name: phi[: given.n_captions].T for name, phi in given.phis.items()}
        apart = {f"phi {name}": order.where_apart(phi) for name, phi in phis.items()}
        apart |= {name: order.where_labels_apart(alike) for name, alike in self._alike.items()}
        if self._first is None:
            self._first = given.name, order
        elif words := self._first[1].where_apart(given.similarity):
            apart[str(self._first[0])], called = words, str(given.name)
        return [
            f"{name} and {called} agree only by chance, apart from own items, on {words}: check that both are in the "
            f"same order, and {ITS_ORDER}."
            for name, words in apart.items()
            if words
        ]

    def galleries(self, similarity: Similarity) -> Iterator[Gallery]:
        """Yield the galleries that the protocol scores, one after the other."""
        given = self.whole.with_similarity(similarity)
        for at in range(len(self.parts)):
            yield self.gallery(given, at)

    def gallery(self, given: Gallery, at: int) -> Gallery:
        """Return one of the galleries that the protocol scores, of a gallery of the whole."""
        images, captions, _ = self.parts[at]
        # The pairing and the phi matrices of a gallery stay the same objects, by which its evaluator knows them.
        if at not in self._galleries:
            part = self.whole.part(images, self._every_row)
            self._galleries[at] = replace(part, similarity=np.broadcast_to(np.float32(0), part.shape))
        matrix = given.similarity[images][:, captions]
        return replace(self._galleries[at], similarity=matrix, name=given.name)

    @property
    def scored(self) -> dict[str, NDArray[np.int64]]:
        """By direction, ``[queries]`` index of each query that the protocol scores."""
        every = np.arange(self.whole.n_captions)
        return {
            "i2t": np.concatenate([np.arange(images.start, images.stop) for images, _, _ in self.parts]),
            "t2i": np.concatenate([every[captions] for _, captions, _ in self.parts]),
        }


def _checked(name: str, values: ArrayLike | None, size: int, what: str) -> NDArray[Any] | None:
    """Return what belongs to the images or captions of a split as an array of one row each."""
    if values is None:
        return None
    array = as_array(values, name)
    if array.ndim < 1 or len(array) != size:
        raise InputError(f"{name} is {list(array.shape)} but there are {size} {what}s; give one row per {what}.")
    return array


def beyond_lists(values: Sequence[MetricValue], lists: ItemLists) -> tuple[list[MetricValue], list[str]]:
    """Return the numbers that lists tell exactly, and sentences on how long they are and on the others."""
    known = [value for value in values if not np.isnan(value["value"])]
    out = [value for value in values if np.isnan(value["value"])]
    notes = []
    for side, items in lists.items.items():
        notes.append(f"{side}: lists of the first {items.shape[1]:,} items of every query ({lists.names[side]}).")
    if out:
        names = dict.fromkeys(f"{shown_name(one['metric'])} {one['ground_truth']}".strip() for one in out)
        notes.append(f"Left out, since they read items behind the ends of lists: {', '.join(names)}.")
    return known, notes


def averaged(of_galleries: Sequence[Sequence[MetricValue]]) -> list[MetricValue]:
    """Return the mean over galleries of each number."""
    found = [same[0].copy() for same in zip(*of_galleries, strict=True)]
    for mean, same in zip(found, zip(*of_galleries, strict=True), strict=True):
        mean["value"] = float(np.mean([value["value"] for value in same]))
    return found

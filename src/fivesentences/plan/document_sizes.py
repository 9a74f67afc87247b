"""How many documents of category retrieval there are, and how long their vectors, before they are here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fivesentences.arrays import read_npy
from fivesentences.config.documents import (
    AnyDocuments,
    CorpusDocuments,
    DivisionSpec,
    NusWideDocuments,
    WikipediaDocuments,
)
from fivesentences.corpus.documents import read_documents
from fivesentences.plan.resolved import Resolved
from fivesentences.plan.sizes import Size, sizes_of

# Numbers of NUS-WIDE's low-level features (Chua et al. 2009) and of Wikipedia's (Rasiwasia et al. 2010).
NUS_WIDE = {"CH": 64, "CM55": 225, "CORR": 144, "EDH": 73, "WT": 128}
WIKIPEDIA = 128, 10


@dataclass(frozen=True)
class DocumentSizes:
    """A division of some documents.

    Attributes:
        train: Documents to train on.
        validation: Documents that choose an epoch.
        test: Documents that are searched and search.
        image: Numbers of an image's vector.
        text: Numbers of a text's vector.
    """

    train: int
    validation: int
    test: int
    image: int
    text: int

    @property
    def pairs(self) -> int:
        """Of an image and a text of test documents."""
        return self.test**2


def document_sizes(
    plan: Resolved, documents: str, division: str, features: Sequence[int] | None
) -> DocumentSizes | None:
    """Sizes of a division: of the documents themselves if they are made, otherwise as configuration tells.

    Args:
        plan: Of a scale with these documents.
        documents: Their name.
        division: One of theirs.
        features: Shape of an image's features, for documents that are images of a corpus; None: not known.

    Returns:
        None if nothing tells: the whole of NUS-WIDE and a user's own documents are counted when they are made.
    """
    categories = plan.scale.categories
    spec = None if categories is None else categories.documents.get(documents)
    if spec is None:
        return None
    known = _made(plan, documents, spec) or _told(plan, spec, features)
    return None if known is None else _divided(*known, spec.divisions[division])


Known = tuple[Mapping[str, int], int, int]  # documents of each published part, numbers of an image, of a text


def _made(plan: Resolved, name: str, spec: AnyDocuments) -> Known | None:
    places = plan.places
    image, text = (places.document_vectors(name, modality) for modality in ("image", "text"))
    if not (places.documents(name).is_file() and image.is_file()):
        return None
    parts = Counter(str(part or "train") for part in read_documents(places.documents(name)).parts)
    return parts, read_npy(image).shape[1], read_npy(text).shape[1] if text.is_file() else spec.words


def _told(plan: Resolved, spec: AnyDocuments, features: Sequence[int] | None) -> Known | None:
    match spec:
        case WikipediaDocuments():
            entry = plan.catalogue.datasets.get("wikipedia")
            if entry is None or entry.images is None:
                return None
            return {str(split): count for split, count in entry.images.items()}, *WIKIPEDIA
        case NusWideDocuments(per_category=int(each)) if set(spec.features) <= set(NUS_WIDE):
            return {"train": each * spec.categories}, sum(NUS_WIDE[one] for one in spec.features), spec.words
        case CorpusDocuments():
            sizes = sizes_of(plan, spec.corpus)
            if sizes is None or features is None:
                return None
            none = Size(0, 0)
            parts = {"train": sizes.get("train", none).images + sizes.get("dev", none).images}
            return parts | {"test": sizes.get("test", none).images}, features[-1], spec.words
    return None


def _divided(parts: Mapping[str, int], image: int, text: int, spec: DivisionSpec) -> DocumentSizes:
    """See ``corpus.divisions.divide``."""
    train, test = parts.get("train", 0), parts.get("test", 0)
    match spec.validation_from:
        case "train":
            train -= spec.validation
        case "test":
            test -= spec.validation
        case "all":
            total, test = train + test, spec.test if isinstance(spec.test, int) else test
            train = total - spec.validation - test
    return DocumentSizes(max(0, train), spec.validation, max(0, test), image, text)

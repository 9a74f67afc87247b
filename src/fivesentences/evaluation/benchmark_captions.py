"""The captions of a benchmark, in the order in which its protocol expects them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fivesentences.config.datasets import Catalogue, CatalogueData, CatalogueLoader
from fivesentences.corpus import Corpus, load, take_captions
from fivesentences.corpus.catalogue import files_to_read
from fivesentences.errors import Cure, InputError, counted, say_left_out
from fivesentences.evaluation.protocols import protocol_named

# How each dataset of the catalogue is read, and which of its files holds captions.
SOURCES: dict[str, tuple[CatalogueLoader, str]] = {
    "flickr8k": ("flickr8k", "text"),
    "flickr30k": ("karpathy", "captions"),
    "coco": ("karpathy", "captions"),
}


def benchmark_split(protocol: str, split: str, catalogue: Catalogue, folders: Sequence[Path]) -> Corpus:
    """Read images of a benchmark and the first captions of each, as many as its protocol has (five).

    The order is that of the published split: the images of Karpathy's JSON (or of Flickr8k's list of test images), and
    the captions of an image one after the other. Protocols that cut the split into parts have the order of the whole.

    Args:
        protocol: A name in ``protocols.PROTOCOLS``.
        split: ``train``, ``dev`` or ``test``.
        catalogue: The list of downloads.
        folders: Where the files may be, the first of them first: the data folder, a mirror.

    Raises:
        InputError: If the protocol is unknown, a file is in none of the folders or is damaged, there is no such split,
            or the test split has not the protocol's number of images and captions.
    """
    expected = protocol_named(protocol)
    dataset = expected.dataset
    loader, kind = SOURCES[dataset]
    (file,) = files_to_read(catalogue, dataset, kind, [split], folders)
    path = next((folder / file for folder in folders if (folder / file).is_file()), None)
    if path is None:
        places = " or ".join(str(folder) for folder in folders)
        fetch = f"fetch it with `fivesentences download {dataset} --file {kind}`"
        raise InputError(
            f"the captions of {protocol} are in {file}, which is not below {places}",
            cure=Cure(f"{fetch}, or pass another folder", f"{fetch}, or name a folder with copies by --mirror"),
        )
    whole = load(dataset, CatalogueData(loader=loader), path).split(split)
    corpus = take_captions(whole, expected.captions // expected.images)
    further = {
        f"beyond the first {expected.captions // expected.images} of an image": whole.n_captions - corpus.n_captions
    }
    say_left_out(f"{path}, {split}", counted(corpus.n_captions, "caption"), further)
    found = (corpus.n_images, corpus.n_captions)
    if split == "test" and found != expected.split:
        raise InputError(
            f"it holds {found[0]:,} test images with {found[1]:,} captions, but {protocol} has {expected.images:,} "
            f"with {expected.captions:,}",
            where=path,
            cure="use the file of the catalogue",
        )
    return corpus

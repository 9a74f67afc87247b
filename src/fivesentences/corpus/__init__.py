"""Datasets as one typed table of images and captions, and the photographs beside it.

A ``Corpus`` has one row per caption; the captions of an image are adjacent. Loaders of published datasets return one.
"""

# Names are imported when they are first asked for: processes that only decode photographs need no pandas, which takes a
# second to import.

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.corpus.decoding import decode
    from fivesentences.corpus.download import fetch, find_mirror
    from fivesentences.corpus.flickr8k import load_flickr8k
    from fivesentences.corpus.folder import load_folder
    from fivesentences.corpus.fractions import take_captions, take_fraction, training_part
    from fivesentences.corpus.judgements import Judgements, load_judgements
    from fivesentences.corpus.karpathy import load_karpathy
    from fivesentences.corpus.loading import load
    from fivesentences.corpus.photographs import Photographs
    from fivesentences.corpus.precomp import load_precomp
    from fivesentences.corpus.table import COLUMNS, Corpus, CorpusSizes, clean_caption

__all__ = [
    "COLUMNS", "Corpus", "CorpusSizes", "Judgements", "Photographs", "clean_caption", "decode", "fetch", "find_mirror",
    "load", "load_flickr8k", "load_folder", "load_judgements", "load_karpathy", "load_precomp", "take_captions",
    "take_fraction", "training_part",
]  # fmt: skip

__getattr__ = lazily(__name__)

"""Datasets as one typed table of images and captions, and the photographs beside it."""

from fivesentences.corpus.photographs import Photographs, decode
from fivesentences.corpus.table import COLUMNS, Corpus, clean_caption

__all__ = ["COLUMNS", "Corpus", "Photographs", "clean_caption", "decode"]

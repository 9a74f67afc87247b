"""`fivesentences jars`: what SPICE's parser needs."""

from __future__ import annotations

from fivesentences.commands.arguments import Mirror, Quiet
from fivesentences.semantics.java import jars as java_jars


def jars(*, mirror: Mirror = None, quiet: Quiet = False) -> None:
    """Fetch Stanford CoreNLP 3.6.0, which SPICE's parser needs: 385 MB, once; a stopped download is resumed.

    It is kept in FIVESENTENCES_CACHE, or else in the user's cache folder; the
    jars of a mirror are used where they are.

    Args:
        mirror: A folder with copies of the downloads, used first.
        quiet: No progress bar, and no names of files.

    Example:

        fivesentences jars
    """
    paths = java_jars.corenlp(mirror)
    for path in paths:
        print(path)

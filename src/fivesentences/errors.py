"""The one exception that a user is meant to read."""

from __future__ import annotations


class InputError(ValueError):
    """Something that was given is wrong; the message is one sentence: what, where, which value, what to do.

    The command line and the workflow print it without a traceback and end with exit code 1.
    """

"""The embedded corpus: pictures drawn and captioned by a program, so that a demo needs no download.

``world`` says what exists, ``drawing`` makes the picture of a scene, ``wording`` its captions, ``truth`` how much of
a caption is true of an image, and ``generate`` writes the files.
"""

from fivesentences.scenes.generate import DescribedScene, compose, generate, truth_of

__all__ = ["DescribedScene", "compose", "generate", "truth_of"]

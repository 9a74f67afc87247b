"""The embedded corpus: pictures drawn and captioned by a program, so that a demo needs no download.

One subject per module, in the order in which a scene comes about:

* ``world``: what exists. ``sampling``: scenes at random. ``facts``: everything that is true of a scene.
* ``pen``, ``objects``, ``creatures``, ``backdrops``, ``drawing``: the picture of a scene.
* ``vocabulary``, ``mistakes``, ``narrator``, ``captions``: five captions of a scene, with what they claim.
* ``truth``: how much of a caption is true of an image. ``generation``: the files of the corpus.
"""

from fivesentences.reproduction.scenes.generation import DescribedScene, compose, generate, truth_of

__all__ = ["DescribedScene", "compose", "generate", "truth_of"]

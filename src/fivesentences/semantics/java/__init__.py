"""What runs the original Java classes: SPICE's parser, METEOR and the Penn Treebank tokenizer.

Java comes from the Python package index; nothing here starts a Java machine in the caller's process.
"""

from fivesentences.semantics.java.parsing import parse_captions, parse_scene_graphs

__all__ = ["parse_captions", "parse_scene_graphs"]

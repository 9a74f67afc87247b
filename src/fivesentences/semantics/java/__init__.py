"""Programs written in Java, run as released: SPICE's parser, METEOR and the Penn Treebank tokenizer.

Java comes from the Python package index; nothing here starts a JVM in the caller's process.
"""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.semantics.java.scene_graph_parser import parse_captions, parse_scene_graphs

__all__ = ["parse_captions", "parse_scene_graphs"]

__getattr__ = lazily(__name__)

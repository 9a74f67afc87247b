"""Today's dual encoders: images and captions as vectors of one space, and folders of such vectors.

Importing this needs neither torch nor a library of models; loading an encoder does.
"""

# The names below are imported when they are first asked for: reading a folder of vectors needs no encoder.

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fivesentences.encoders.embedding import Run, embed
    from fivesentences.encoders.encoder import Encoder, Settings
    from fivesentences.encoders.folder import EmbeddingFolder, is_embedding_folder
    from fivesentences.encoders.loading import load_encoder
    from fivesentences.encoders.naming import EncoderName, parse_encoder
    from fivesentences.encoders.subject import CaptionedImages

__all__ = [
    "CaptionedImages",
    "EmbeddingFolder",
    "Encoder",
    "EncoderName",
    "Run",
    "Settings",
    "embed",
    "is_embedding_folder",
    "load_encoder",
    "parse_encoder",
]

_MODULES = {
    "embedding": ("Run", "embed"),
    "encoder": ("Encoder", "Settings"),
    "folder": ("EmbeddingFolder", "is_embedding_folder"),
    "loading": ("load_encoder",),
    "naming": ("EncoderName", "parse_encoder"),
    "subject": ("CaptionedImages",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value

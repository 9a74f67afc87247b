"""Today's dual encoders: images and captions as vectors of one space, and folders of such vectors.

Importing this needs neither torch nor a library of models; loading an encoder does.
"""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.encoders.embedding import Run, embed
    from fivesentences.encoders.encoder import Encoder, Settings, load_encoder
    from fivesentences.encoders.folder import EmbeddingFolder, is_embedding_folder
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

__getattr__ = lazily(
    __name__,
    {
        "embedding": ("Run", "embed"),
        "encoder": ("Encoder", "Settings", "load_encoder"),
        "folder": ("EmbeddingFolder", "is_embedding_folder"),
        "naming": ("EncoderName", "parse_encoder"),
        "subject": ("CaptionedImages",),
    },
)

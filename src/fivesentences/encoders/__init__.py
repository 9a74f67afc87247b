"""Today's dual encoders: images and captions as vectors of one space, and folders of such vectors.

Importing this needs neither torch nor a library of models; loading an encoder does.
"""

from fivesentences.encoders.embedding import Run, embed
from fivesentences.encoders.encoder import Encoder, EncoderName, Settings, load_encoder, parse_encoder
from fivesentences.encoders.folder import EmbeddingFolder, is_embedding_folder
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

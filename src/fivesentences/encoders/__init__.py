"""Today's dual encoders: images and captions as vectors of one space, and folders of such vectors.

Importing this needs neither torch nor a library of models; loading an encoder does.
"""

from typing import TYPE_CHECKING

from fivesentences.lazy import lazily

if TYPE_CHECKING:
    from fivesentences.encoders.embedding import embed, load_encoder
    from fivesentences.encoders.folder import EmbeddingFolder
    from fivesentences.encoders.spec import EncoderSpec
    from fivesentences.encoders.subject import CaptionedImages

__all__ = ["CaptionedImages", "EmbeddingFolder", "EncoderSpec", "embed", "load_encoder"]

__getattr__ = lazily(__name__)

"""An encoder by its name."""

from __future__ import annotations

from fivesentences.encoders.encoder import Encoder, Settings
from fivesentences.encoders.naming import EncoderName
from fivesentences.errors import InputError


def load_encoder(name: EncoderName, settings: Settings, sha256: str | None = None) -> Encoder:
    """Load an encoder; nothing that a model brings along is run.

    Weights are read from safetensors, or by ``torch.load`` with ``weights_only``; ``trust_remote_code`` is never set.

    Args:
        name: Which one.
        settings: How to run it.
        sha256: What the SHA-256 of its weights must be (of the file, or of the list of files).

    Raises:
        InputError: If its library is not installed, it cannot be found or loaded, is no dual encoder, or has other
            weights.
    """
    encoder = _loaded(name, settings)
    found = encoder.facts["weights_sha256"]
    if sha256 is not None and sha256.lower() != found:
        raise InputError(f"the SHA-256 of the weights of {name} is {found}, not {sha256}; these are other weights.")
    return encoder


def _loaded(name: EncoderName, settings: Settings) -> Encoder:
    if name.library == "open_clip":
        from fivesentences.encoders.of_open_clip import OpenClipEncoder

        return OpenClipEncoder(name, settings)
    if name.library == "transformers":
        from fivesentences.encoders.of_transformers import TransformersEncoder

        return TransformersEncoder(name, settings)
    from fivesentences.encoders.of_sentence_transformers import SentenceTransformersEncoder

    return SentenceTransformersEncoder(name, settings)

"""Weights that timm and torchvision download, fetched ahead of the work that needs them."""

from __future__ import annotations

from fivesentences.storage import sha256_of


def fetch_network(extractor: str) -> dict[str, str]:
    """Let a network's library fetch its weights into its own cache; what is there already is not fetched again.

    Args:
        extractor: The name of a timm network, or ``faster_rcnn``.

    Returns:
        Which weights they are: their names and checksums.

    Raises:
        InputError: If there is no such network, or its weights cannot be fetched.
    """
    if extractor == "faster_rcnn":
        from fivesentences.features.detectors.faster_rcnn import PUBLISHED, download

        path = download(PUBLISHED.url)
        return {"name": f"torchvision: {path.name}", "file_sha256": sha256_of(path)}
    from fivesentences.features.networks import facts_of_weights, load

    module, _ = load(extractor, None)
    return facts_of_weights(module, None)

"""What folders of embeddings say about the captions that are scored, and whether the other options agree with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fivesentences.commands.given_models import Model
from fivesentences.errors import InputError

if TYPE_CHECKING:
    from fivesentences.encoders import EmbeddingFolder
    from fivesentences.evaluation.protocols import Protocol


@dataclass(frozen=True)
class Scored:
    """Which captions and images are scored, as far as a folder of embeddings says it.

    Attributes:
        captions: File of the captions; None where no folder says them.
        image_of_caption: File of whose caption each one is.
        notes: Sentences on the models and on what was scored.
        about: The same for JSON: dataset, split, captions_file, captions_sha256, image_of_caption_sha256.
    """

    captions: Path | None
    image_of_caption: Path | None
    notes: list[str]
    about: dict[str, str | None]


def scored_by(
    models: Sequence[Model], captions: Path | None, image_of_caption: Path | None, protocol: Protocol | None
) -> Scored:
    """What the models were embedded on, after it has been compared with the other options.

    Args:
        models: All models.
        captions: That of ``--captions``.
        image_of_caption: That of ``--image-of-caption``.
        protocol: That of ``--dataset``.

    Raises:
        InputError: If two models were embedded on other captions, images or splits, the captions or their images are
            not those of the options, or the protocol is about another data set or split.
    """
    from fivesentences.semantics.caption_file import read_captions, read_pairing
    from fivesentences.semantics.phi_file import pairing_sha256

    folders = [model.folder for model in models if model.folder is not None]
    if not folders:
        return Scored(captions, image_of_caption, [], {})
    first = folders[0]
    for other in folders[1:]:
        first.check_same(other)
    note = first.note
    if captions is not None:
        first.check_captions(read_captions(captions), captions)
    if image_of_caption is not None:
        pairing = read_pairing(image_of_caption, note["captions"])
        if pairing_sha256(pairing) != note["image_of_caption_sha256"]:
            raise InputError(
                f"it gives captions to other images than {first.path} does; leave it out.", where=image_of_caption
            )
    if protocol is not None:
        _check_split(folders, protocol)
    notes = list(dict.fromkeys(sentence for folder in folders for sentence in folder.sentences()))
    if silent := [model.words for model in models if model.folder is None]:
        notes.append(f"{', '.join(silent)}: nothing says which captions these are; {first.path} says its own.")
    keys = ("dataset", "split", "captions_file", "captions_sha256", "image_of_caption_sha256")
    return Scored(
        captions or first.captions, image_of_caption or first.image_of_caption, notes, {key: note[key] for key in keys}
    )


def _check_split(folders: Sequence[EmbeddingFolder], protocol: Protocol) -> None:
    from fivesentences.evaluation.benchmark_captions import SOURCES

    datasets = {name: source[0] for name, source in SOURCES.items()}
    for folder in folders:
        split, dataset = folder.note["split"], folder.note["dataset"]
        # Flickr8k and Flickr30K have test splits of the same size.
        if dataset in datasets.values() and dataset != datasets[protocol.name]:
            raise InputError(
                f"it holds embeddings of {dataset}, but --dataset {protocol.name} scores {protocol.words}",
                where=folder.path,
                cure="name the data set that was embedded, or leave --dataset out",
            )
        if split not in (None, "test"):
            raise InputError(
                f"it holds embeddings of the split '{split}', but --dataset {protocol.name} scores the test split "
                f"({protocol.words})",
                where=folder.path,
                cure="embed the test split, or leave --dataset out",
            )

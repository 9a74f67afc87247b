"""Models and captions that a command is given: similarities, embeddings or folders of `embed`, and phi."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

import typer

from fivesentences.commands import arguments as given
from fivesentences.commands.provenance import files_of
from fivesentences.encoders.folder import NOTE, EmbeddingFolder
from fivesentences.errors import InputError
from fivesentences.evaluation.gallery_files import read_gallery, with_computed_phis
from fivesentences.evaluation.protocols import Protocol
from fivesentences.retrieval import Gallery
from fivesentences.semantics.caption_file import read_captions, read_pairing
from fivesentences.semantics.phi_file import pairing_sha256


@dataclass(frozen=True)
class Model:
    """One model, by its files.

    Attributes:
        name: Its name in tables.
        matrix: The similarity, or the embeddings of the images.
        text: The embeddings of the captions; None for a similarity.
        is_named: Whether the user chose the name.
        folder: The folder that `embed` wrote, whose note says which captions these are; None for other files.
    """

    name: str
    matrix: Path
    text: Path | None = None
    is_named: bool = False
    folder: EmbeddingFolder | None = None

    @property
    def words(self) -> str:
        """Its files in words."""
        if self.folder is not None:
            return str(self.folder.path)
        return str(self.matrix) if self.text is None else f"{self.matrix}, {self.text}"

    @property
    def inputs(self) -> list[tuple[str, Path | str | None]]:
        """Its files, as ``provenance`` takes them."""
        files = [self.matrix, *([] if self.text is None else [self.text])]
        files += [] if self.folder is None else [self.folder.path / NOTE]
        return [("similarity" if self.text is None else "embeddings", file) for file in files]

    @property
    def _place(self) -> Path:
        return self.matrix.absolute().with_suffix("") if self.folder is None else self.folder.path.resolve()


@dataclass(frozen=True)
class Inputs:
    """Files of phi and captions, and how similarities are laid out: options of several commands."""

    phi: given.Phi = None
    captions: given.Captions = None
    metric: given.Metric = None
    image_of_caption: given.ImageOfCaption = None
    transposed: given.Transposed = False
    embeddings: Annotated[
        bool,
        typer.Option("--embeddings", help="two files are embeddings of images and of captions, as IMAGES,TEXTS"),
    ] = False

    @property
    def files(self) -> list[tuple[str, Path | str | None]]:
        """The files, as ``provenance`` takes them."""
        return [
            *files_of("phi", self.phi), ("captions", self.captions), ("image_of_caption", self.image_of_caption),
        ]  # fmt: skip

    def models(self, arguments: Sequence[str]) -> list[Model]:
        """The models that arguments name, each by a unique name.

        ``FILE`` is a similarity, ``IMAGES,TEXTS`` two files of embeddings, ``FOLDER`` what ``fivesentences embed``
        wrote, and ``NAME=...`` names any of these. The default name is that of the file, with as many folders before
        it as it takes.

        Raises:
            InputError: If an argument is malformed, or a name or a file is given twice.
        """
        if self.embeddings and len(arguments) != 2:
            raise InputError("--embeddings takes two files, IMAGES TEXTS; of several models, write IMAGES,TEXTS.")
        models = [_model(one) for one in ([",".join(arguments)] if self.embeddings else arguments)]
        if self.transposed and any(model.text for model in models):
            raise InputError(
                "--transposed is about a similarity; give image embeddings first, then those of the captions."
            )
        seen: dict[str, Model] = {}
        for model in models:
            if model.is_named and model.name in seen:
                raise InputError(f"two models are called '{model.name}'; give each a name of its own.")
            if model.words in seen and not model.is_named:
                cure = f"name the two, A={model.words} B={model.words}, if that is meant"
                raise InputError("it is given twice", where=model.words, cure=cure)
            seen |= {model.words: model, **({model.name: model} if model.is_named else {})}
        named = []
        for model in models:
            same = [other._place.parts for other in models if other.name == model.name]
            if len(same) > 1 and not model.is_named:
                depth = next((n for n in range(1, 99) if len({part[-n:] for part in same}) == len(same)), 0)
                model = replace(model, name="/".join(model._place.parts[-depth:]) if depth else model.words)
            named.append(model)
        return named

    def gallery(
        self,
        model: Model,
        scored: Scored,
        protocol: Protocol | None,
        *,
        computed: Sequence[str],
        more_rows: bool = False,
    ) -> tuple[Gallery, list[str]]:
        """Images, captions and phi, with the similarity of a model, and sentences on how it was computed.

        Args:
            model: The model.
            scored: Which captions are scored.
            protocol: The protocol.
            computed: Names of phi to compute from the captions.
            more_rows: As in ``read_gallery``.
        """
        gallery, notes = read_gallery(
            model.matrix,
            model.text,
            transposed=self.transposed,
            image_of_caption=scored.image_of_caption,
            protocol=protocol,
            phis=self.phi or (),
            captions=scored.captions,
            more_rows=more_rows,
        )
        if computed:
            if scored.captions is None:
                raise InputError("--metric says which phi of the captions; give --captions FILE, or a matrix by --phi.")
            gallery = with_computed_phis(gallery, scored.captions, computed)
        return gallery, notes


def _model(argument: str) -> Model:
    name, equals, files = argument.partition("=")
    if not equals or Path(argument).exists():
        name, files = "", argument
    elif not name.strip() or not files:
        raise InputError(f"'{argument}' is no NAME=FILE; write, for example, mine=sims.npy.")
    if Path(files).is_dir():
        folder = EmbeddingFolder.open(files)
        return Model(name.strip() or Path(files).resolve().name, folder.images, folder.vectors, bool(name), folder)
    parts = [files] if Path(files).exists() else files.split(",")
    if len(parts) > 2 or not all(parts):
        raise InputError(
            f"'{files}' is none of FILE, for a similarity, IMAGES,TEXTS, for embeddings of images and captions, and "
            "FOLDER, which 'fivesentences embed' wrote; separate models by spaces."
        )
    text = Path(parts[1]) if len(parts) == 2 else None
    return Model(name.strip() or Path(parts[0]).stem, Path(parts[0]), text, bool(equals and name))


@dataclass(frozen=True)
class Scored:
    """Which captions and images are scored, as far as options and folders of embeddings say it.

    Attributes:
        captions: File of the captions; None if unknown.
        image_of_caption: File with the image of each caption.
        notes: Sentences on the models and on what was scored.
        about: The same for JSON: dataset, split, captions_file, captions_sha256, image_of_caption_sha256.
    """

    captions: Path | None
    image_of_caption: Path | None
    notes: list[str] = field(default_factory=list)
    about: dict[str, str | None] = field(default_factory=dict)


def scored_by(models: Sequence[Model], inputs: Inputs, protocol: Protocol | None) -> Scored:
    """What the models were embedded on, compared with the other options.

    Raises:
        InputError: If two models were embedded on other captions, images or splits, the captions or their images are
            not those of the options, or the protocol is about another data set or split.
    """
    captions, image_of_caption = inputs.captions, inputs.image_of_caption
    folders = [model.folder for model in models if model.folder is not None]
    if not folders:
        return Scored(captions, image_of_caption)
    first = folders[0]
    note = first.note
    for other in folders[1:]:
        first.check_same(other)
    if captions is not None:
        first.check_captions(read_captions(captions), captions)
    if image_of_caption is not None:
        pairing = read_pairing(image_of_caption, note["captions"])
        if pairing_sha256(pairing) != note["image_of_caption_sha256"]:
            raise InputError(
                f"it gives captions to other images than {first.path} does; leave it out.", where=image_of_caption
            )
    if protocol is not None:
        for folder in folders:
            _check_split(folder, protocol)
    notes = list(dict.fromkeys(sentence for folder in folders for sentence in folder.sentences()))
    if silent := [model.words for model in models if model.folder is None]:
        notes.append(f"{', '.join(silent)}: nothing says which captions these are; {first.path} says its own.")
    keys = ("dataset", "split", "captions_file", "captions_sha256", "image_of_caption_sha256")
    about = {key: note[key] for key in keys}
    return Scored(captions or first.captions, image_of_caption or first.image_of_caption, notes, about)


def _check_split(folder: EmbeddingFolder, protocol: Protocol) -> None:
    split, dataset = folder.note["split"], folder.note["dataset"]
    # Flickr8k and Flickr30K have test splits of the same size.
    if dataset in ("flickr8k", "flickr30k", "coco") and dataset != protocol.dataset:
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

"""Models and captions that a command is given: similarities, embeddings or folders of `embed`, and phi."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer
from numpy.typing import NDArray

from fivesentences.commands.annotations import read_list
from fivesentences.commands.arguments import named
from fivesentences.commands.sheets import Read
from fivesentences.encoders.folder import NOTE, EmbeddingFolder
from fivesentences.errors import InputError
from fivesentences.evaluation.gallery_files import (
    read_gallery,
    read_gallery_of_lists,
    scores_of,
    with_computed_phis,
)
from fivesentences.evaluation.item_lists import is_lists, lists_of, read_lists
from fivesentences.evaluation.matrix_files import OpenedOnce
from fivesentences.evaluation.parts import model_of_part
from fivesentences.evaluation.protocols import Protocol
from fivesentences.retrieval import Gallery
from fivesentences.retrieval.arguments import DIRECTIONS
from fivesentences.retrieval.cosine import are_embeddings
from fivesentences.semantics.caption_file import read_captions, read_pairing
from fivesentences.semantics.phi_file import pairing_sha256
from fivesentences.semantics.registry import default_phis

T2I = ",t2i="  # before the files that score caption queries
KEYED = (".npz", ".pt", ".pth")  # files of several arrays, of which FILE:NAME is one
QUICK = (".npy", *KEYED)


@dataclass(frozen=True)
class Model:
    """One model, by its files.

    Attributes:
        name: Its name in tables.
        matrix: The similarity, or the embeddings of the images.
        text: The embeddings of the captions; None for a similarity.
        folder: The folder that `embed` wrote, whose note says which captions these are; None for other files.
        t2i: The files that score caption queries, where those above score image queries alone.
        further: Further files, where ``matrix`` is one of several parts of an evaluation.
    """

    name: str
    matrix: Path
    text: Path | None = None
    folder: EmbeddingFolder | None = None
    t2i: Model | None = None
    further: tuple[Path, ...] = ()

    @property
    def words(self) -> str:
        """Its files in words."""
        if self.is_parts:
            return ", ".join(map(str, self.files_of_parts))
        of_images = str(self.matrix) if self.text is None else f"{self.matrix}, {self.text}"
        of_images = of_images if self.folder is None else str(self.folder.path)
        return of_images if self.t2i is None else f"{of_images}, t2i: {self.t2i.words}"

    @property
    def is_lists(self) -> bool:
        """Whether it is lists of the first items of every query."""
        return self.text is None and self.folder is None and not self.is_parts and is_lists(self.matrix)

    @property
    def is_parts(self) -> bool:
        """Whether it is parts of an evaluation."""
        return self.text is None and self.folder is None and model_of_part(self.matrix) is not None

    @property
    def files_of_parts(self) -> list[Path]:
        """The files of its parts."""
        return [self.matrix, *self.further]

    @property
    def parts(self) -> list[Model]:
        """The model itself, and what scores caption queries if that is something else."""
        return [self, *([] if self.t2i is None else [self.t2i])]

    @property
    def read(self) -> Read:
        """Its files, as ``Outputs.check`` takes them."""
        note = None if self.folder is None else self.folder.path / NOTE
        kind = "similarity" if self.text is None else "embeddings"
        own: Read = [(kind, self.matrix), (kind, self.text), (kind, note), *(("part", one) for one in self.further)]
        return own if self.t2i is None else [*own, *self.t2i.read]


@dataclass(frozen=True)
class Given:
    """Models, and which captions and images are scored, as far as options and folders of embeddings say it.

    Attributes:
        models: The models.
        captions: File of the captions; None if unknown.
        image_of_caption: File with the image of each caption.
        notes: Sentences on the models and on what was scored.
        about: The same for JSON: dataset, split, captions_file, captions_sha256, image_of_caption_sha256.
    """

    models: Sequence[Model]
    captions: Path | None
    image_of_caption: Path | None
    notes: list[str] = field(default_factory=list)
    about: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True)
class ModelInputs:
    """Files of phi and captions, and how similarities are laid out.

    Attributes:
        phi: A phi matrix [captions, images], as 'fivesentences phi' writes it; repeat for more; NAME=FILE names it.
        captions: Captions, one per line, or a token file, CSV or JSON that names their images; phi is made of them.
        metric: Which phi of --captions; repeat for more. Default: cider, and without --phi embedding:wordllama too
            (extra words).
        image_of_caption: Index of each caption's image, from 0, one per line.
        transposed: Rows of the similarity are captions.
        first_captions: Use the first N captions of each image alone, such as 5 of COCO's 5 to 7.
        in_blocks: Compute cosines and phi where they are read, or hold whole matrices, which ASP, mAP by category and
            re-scoring need; default: whole up to 150 million pairs.
    """

    phi: list[str] | None = None
    captions: Path | None = None
    metric: list[str] | None = None
    image_of_caption: Path | None = None
    transposed: bool = False
    first_captions: Annotated[int | None, typer.Option(min=1, metavar="N")] = None
    in_blocks: Annotated[bool | None, typer.Option("--in-blocks/--whole")] = None

    @property
    def read(self) -> Read:
        """The files, as ``Outputs.check`` takes them."""
        phi = [("phi", named(one)[1]) for one in self.phi or ()]
        return [*phi, ("captions", self.captions), ("image_of_caption", self.image_of_caption)]

    def given(self, arguments: Sequence[str], protocol: Protocol | None) -> Given:
        """Return the models that arguments name, and what folders of `embed` among them say of the captions.

        ``FILE`` is a similarity, ``IMAGES,TEXTS`` two files of embeddings, ``FOLDER`` what ``fivesentences embed``
        wrote, and ``NAME=...`` names any of these. ``,t2i=...`` behind it scores caption queries by other files.

        Raises:
            InputError: If an argument is malformed, two models were embedded on other captions, images or splits, the
                captions or their images are not those of the options, or the protocol is about another data set or
                split.
        """
        for before, one in itertools.pairwise(["", *arguments]):
            if (direction := named(one)[0].strip()) in DIRECTIONS:
                file = named(one)[1]
                cure = f"write {before},{one}" if before and direction == "t2i" else f"write I2T,t2i={file}"
                cure = cure if direction == "t2i" else f"write {file},t2i=FILE"
                raise InputError(f"'{one}' names a direction, not a model", cure=f"{cure}, without a space")
        models = [_model(one) for one in arguments]
        if self.transposed and any(part.text for model in models for part in model.parts):
            what = "--transposed is about a similarity; give image embeddings first, then those of the captions."
            raise InputError(what)
        folders = [part.folder for model in models for part in model.parts if part.folder is not None]
        if not folders:
            return Given(models, self.captions, self.image_of_caption)
        first, note = folders[0], folders[0].note
        for other_folder in folders[1:]:
            first.check_same(other_folder)
        if self.captions is not None:
            first.check_captions(read_captions(self.captions), self.captions)
        if self.image_of_caption is not None:
            pairing = read_pairing(self.image_of_caption, note["captions"])
            if pairing_sha256(pairing) != note["image_of_caption_sha256"]:
                what = f"it gives captions to other images than {first.path} does; leave it out."
                raise InputError(what, where=self.image_of_caption)
        for folder in folders:
            _check_split(folder, protocol)
        notes = list(dict.fromkeys(sentence for folder in folders for sentence in folder.sentences()))
        if silent := [model.words for model in models if model.folder is None]:
            notes.append(f"{', '.join(silent)}: nothing says which captions these are; {first.path} says its own.")
        keys = ("dataset", "split", "captions_file", "captions_sha256", "image_of_caption_sha256")
        pairing_file = self.image_of_caption or first.image_of_caption
        return Given(models, self.captions or first.captions, pairing_file, notes, {key: note[key] for key in keys})

    def gallery(
        self,
        given: Given,
        protocol: Protocol | None,
        read: OpenedOnce,
        *,
        more_rows: bool = False,
        ids: tuple[Path | None, Path | None] = (None, None),
    ) -> tuple[Gallery, list[str], list[str] | None]:
        """Return images, captions and phi, with the similarity of the first model, and more as ``read_gallery``.

        Args:
            given: The models.
            protocol: The protocol.
            read: Matrices that were opened already.
            more_rows: True if phi may have more captions, as in ``read_gallery``.
            ids: Files of the ids of images and captions, by which lists name them.
        """
        model = given.models[0]
        if model.is_lists:
            if self.transposed or self.first_captions is not None:
                raise InputError("--transposed and --first-captions are about a similarity, and these are lists")
            gallery, notes, lines = read_gallery_of_lists(
                [Path(part.matrix) for part in model.parts], image_of_caption=given.image_of_caption, protocol=protocol,
                phis=self.phi or (), captions=given.captions, image_ids=ids[0], caption_ids=ids[1],
            )  # fmt: skip
            return *self._with_computed(gallery, given, lines, notes), lines
        gallery, notes, lines = read_gallery(
            model.matrix, model.text, transposed=self.transposed, image_of_caption=given.image_of_caption,
            protocol=protocol, phis=self.phi or (), captions=given.captions, more_rows=more_rows,
            first_captions=self.first_captions, in_blocks=self.in_blocks, read=read,
        )  # fmt: skip
        return *self._with_computed(gallery, given, lines, notes), lines

    def another(
        self,
        model: Model,
        whole: Gallery,
        read: OpenedOnce,
        id_files: tuple[Path | None, Path | None] = (None, None),
        reach: int = 1,
    ) -> tuple[Gallery, list[str]]:
        """Return the gallery of another model of the same images, captions and phi, and sentences on it.

        Args:
            model: The model.
            whole: The gallery of the first.
            read: Matrices that were opened already.
            id_files: Files of the ids of images and captions, by which lists name them.
            reach: The largest cut-off, which lists must reach.

        Raises:
            InputError: If a file is missing or damaged, or is of other images or captions.
        """
        if model.is_lists:
            sides = zip(id_files, whole.shape, ("images", "captions"), strict=True)
            image_ids, caption_ids = (read_list(file, number, "ids", of) for file, number, of in sides)
            lists = lists_of([read_lists(part.matrix) for part in model.parts], whole.shape, (image_ids, caption_ids))
            lists.check_reach(reach)
            return whole.with_similarity(lists, model.matrix), []  # type: ignore[arg-type]
        rows, vectors = read(model.matrix), None if model.text is None else read(model.text)
        how: dict[str, Any] = {"transposed": self.transposed, "image_of_caption": whole.image_of_caption}
        how["in_blocks"] = self.in_blocks
        matrix, of_matrix = scores_of(rows, vectors, model.matrix, model.text, **how)
        return whole.with_similarity(matrix, model.matrix), of_matrix

    def _with_computed(
        self, gallery: Gallery, given: Given, lines: list[str] | None, notes: list[str]
    ) -> tuple[Gallery, list[str]]:
        """Add phi of the captions: those of --metric, or else the default ones that --phi does not give already."""
        computed = self.metric or []
        if not computed and self.captions is not None:
            by_default, left_out = (["cider"], []) if self.phi else default_phis()
            computed, notes = [name for name in by_default if name not in gallery.phis], [*notes, *left_out]
        if not computed:
            return gallery, notes
        if given.captions is None or lines is None:
            raise InputError("--metric says which phi of the captions; give --captions FILE, or a matrix by --phi.")
        return with_computed_phis(gallery, lines, given.captions, computed, self.in_blocks), notes


def with_pairs(arguments: Sequence[str], read: OpenedOnce) -> tuple[list[str], list[str]]:
    """Join neighbours that are embeddings of images and of captions: ``img.npy txt.npy`` means ``img.npy,txt.npy``.

    Args:
        arguments: The models as they were given.
        read: Matrices of the command.

    Returns:
        The arguments, and a sentence on each that was joined.

    Raises:
        InputError: If two may be embeddings or similarities that are both transposed.
    """
    if len(arguments) < 2:
        return [*arguments], []
    found: list[str] = []
    notes: list[str] = []
    before: NDArray[Any] | None = None  # the matrix of the argument found last, if it is one
    for argument in arguments:
        matrix = _alone(argument, before, read)
        seen: bool | None = False
        if before is not None and matrix is not None and not named(argument)[0]:
            seen = are_embeddings(before, matrix)
            file = named(found[-1])[1]
            if seen is False and before.shape[1] != matrix.shape[1] and _tall(before) and _tall(matrix):
                raise InputError(
                    f"{file} is {list(before.shape)} but {argument} is {list(matrix.shape)}; embeddings of images and "
                    "captions have the same number of columns, and two similarities have the same shape."
                )
        if seen is False:
            found.append(argument)
            before = matrix
            continue
        file = named(found[-1])[1]
        if seen is None:
            raise InputError(
                f"{file} and {argument} have one shape and more rows than columns, so they may be embeddings of images "
                "and captions, or two similarities whose rows are captions",
                cure=f"write {file},{argument} for embeddings, or give --transposed",
            )
        notes.append(f"{file} and {argument} are taken for embeddings of images and of captions: {file},{argument}.")
        found[-1] += f",{argument}"
        before = None
    return found, notes


def with_parts(arguments: Sequence[str]) -> list[str]:
    """Join files that are parts of the evaluation of one model: ``a.json b.json`` means ``a.json,b.json``."""
    found: list[str] = []
    place: dict[str, int] = {}  # of the parts of each model
    for argument in arguments:
        model = None if named(argument)[0] else model_of_part(Path(argument))
        if model is not None and model in place:
            found[place[model]] += f",{argument}"
            continue
        if model is not None:
            place[model] = len(found)
        found.append(argument)
    return found


def _tall(matrix: NDArray[Any]) -> bool:
    """Return True for more rows than columns, which no similarity has unless it is transposed."""
    return bool(len(matrix) > matrix.shape[1])


def _alone(argument: str, before: NDArray[Any] | None, read: OpenedOnce) -> NDArray[Any] | None:
    """Return the matrix in the only file of an argument, if it is quickly read.

    Raises:
        InputError: If it is not a matrix, and the one before is no similarity, whose error would hide this one.
    """
    file = named(argument)[1]
    if (
        "," in argument
        or is_lists(Path(file))
        or not {Path(file).suffix, Path(file.rpartition(":")[0]).suffix} & {*QUICK}
    ):
        return None
    try:
        return read(file)
    except InputError:
        if before is not None and _tall(before):
            raise
        return None  # the error is raised where the file is used


def _model(argument: str) -> Model:
    argument, directed, of_captions = argument.partition(T2I)
    if directed and T2I in of_captions:
        raise InputError(f"'{argument}{T2I}{of_captions}' names twice what scores caption queries; leave one out.")
    if directed:
        return replace(_model(argument), t2i=_model(of_captions))
    name, files = named(argument)
    if files != argument and not (name.strip() and files):
        raise InputError(f"'{argument}' is no NAME=FILE; write, for example, mine=sims.npy.")
    name = name.strip()
    if files and Path(files).is_dir():
        folder = EmbeddingFolder.open(files)
        return Model(name or Path(files).resolve().name, folder.images, folder.vectors, folder)
    parts = [Path(part) for part in ([files] if Path(files).exists() else files.split(","))]
    if (model := model_of_part(parts[0])) is not None and all(model_of_part(part) is not None for part in parts):
        return Model(name or Path(model.partition(",")[0]).stem, parts[0], further=tuple(parts[1:]))
    if len(parts) > 2 or not files or not files.strip(",") == files:
        raise InputError(
            f"'{files}' is none of FILE, for a similarity, IMAGES,TEXTS, for embeddings of images and captions, and "
            "FOLDER, which 'fivesentences embed' wrote; separate models by spaces. Behind any of these, "
            f"'{T2I}FILE' names what scores caption queries."
        )
    stem, _, key = str(parts[0]).rpartition(":") if not parts[0].exists() else ("", "", "")
    default = f"{Path(stem).stem}:{key}" if len(parts) == 1 and Path(stem).suffix in KEYED else parts[0].stem
    return Model(name or default, parts[0], parts[1] if len(parts) == 2 else None)


def _check_split(folder: EmbeddingFolder, protocol: Protocol | None) -> None:
    """Refuse embeddings of another data set or split than the protocol scores."""
    if protocol is None:
        return
    split, dataset = folder.note["split"], folder.note["dataset"]
    # Flickr8k and Flickr30K have test splits of the same size.
    if dataset in ("flickr8k", "flickr30k", "coco") and dataset != protocol.dataset:
        held, scored, cure = dataset, protocol.words, "name the data set that was embedded"
    elif split not in (None, "test"):
        held, scored, cure = f"the split '{split}'", f"the test split ({protocol.words})", "embed the test split"
    else:
        return
    what = f"it holds embeddings of {held}, but --dataset {protocol.name} scores {scored}"
    raise InputError(what, where=folder.path, cure=f"{cure}, or leave --dataset out")

"""Which models the arguments of `evaluate` name: similarities, embeddings, or folders that `embed` wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fivesentences.errors import InputError

if TYPE_CHECKING:
    from fivesentences.encoders import EmbeddingFolder
    from fivesentences.evaluation.protocols import Protocol

ROWS = 1000  # that are looked at to tell embeddings from similarities
CAPTIONS_OF_AN_IMAGE = 5  # in the data sets of the field
NOTE = "embed.json"  # of embeddings


@dataclass(frozen=True)
class Model:
    """One model, by its files.

    Attributes:
        name: What tables call it.
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
    def files(self) -> list[Path]:
        """Its files."""
        note = [] if self.folder is None else [self.folder.path / NOTE]
        return [self.matrix, *([] if self.text is None else [self.text]), *note]


@dataclass(frozen=True)
class Surroundings:
    """What other options say about the images and captions, by which two files are told apart.

    Attributes:
        transposed: Whether rows of a similarity are captions.
        protocol: Whose size a similarity must have.
        captions: How many captions there are, each function by the file that says so; called if it matters.
        has_pairing: Whether a file says whose caption each one is.
    """

    transposed: bool
    protocol: Protocol | None
    captions: Sequence[Callable[[], int]]
    has_pairing: bool


def models_of(given: Sequence[str], known: Surroundings) -> tuple[list[Model], list[str]]:
    """The models that the arguments name.

    ``FILE`` is a similarity, ``IMAGES,TEXTS`` two files of embeddings, ``FOLDER`` what ``fivesentences embed`` wrote,
    and ``NAME=...`` names any of these. Two plain files
    may also be embeddings: then the shapes decide, other options, lengths of the rows, and repeated images.

    Args:
        given: The arguments.
        known: What other options say.

    Returns:
        The models, each with a name of its own, and sentences on how two files were read.

    Raises:
        InputError: If an argument is malformed, a name or a file is given twice, or two files may be read in two ways.
    """
    models = [_model(one) for one in given]
    notes: list[str] = []
    if len(models) == 2 and not any(model.is_named or model.text for model in models):
        of_embeddings, notes = _are_embeddings(models[0].matrix, models[1].matrix, known)
        if of_embeddings:
            models = [Model(models[0].name, models[0].matrix, models[1].matrix)]
    if known.transposed and any(model.text for model in models):
        raise InputError("--transposed is about a similarity; give image embeddings first, then those of the captions.")
    _check_captions(models)
    return _with_names(models), notes


def _check_captions(models: Sequence[Model]) -> None:
    """Check that similarities have a column for each caption that others embed, before any is taken for transposed.

    Raises:
        InputError: If one has another number of columns.
    """
    from fivesentences.evaluation.matrix_files import read_matrix

    texts = next((model.text for model in models if model.text is not None), None)
    if texts is None:
        return
    n_captions = len(read_matrix(texts))
    for model in models:
        if model.text is None and (shape := read_matrix(model.matrix).shape)[1] != n_captions:
            raise InputError(
                f"{model.matrix} is {list(shape)}, so it has {shape[1]:,} captions, but {texts} has {n_captions:,}",
                cure="save its transpose" if shape[0] == n_captions else "give models of the same captions",
            )


def _model(given: str) -> Model:
    name, equals, files = given.partition("=")
    if not equals or Path(given).exists():
        name, files = "", given
    elif not name.strip() or not files:
        raise InputError(f"'{given}' is no NAME=FILE; write, for example, mine=sims.npy.")
    if Path(files).is_dir():
        from fivesentences.encoders import EmbeddingFolder

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


def _with_names(models: Sequence[Model]) -> list[Model]:
    """Every model with a name of its own: that of its file, with so many folders before it as it takes."""
    seen: dict[str, Model] = {}
    for model in models:
        if model.is_named and model.name in seen:
            raise InputError(f"two models are called '{model.name}'; give each a name of its own.")
        if model.words in seen and not model.is_named:
            cure = f"name the two, A={model.words} B={model.words}, if that is meant"
            raise InputError("it is given twice", where=model.words, cure=cure)
        seen |= {model.words: model, **({model.name: model} if model.is_named else {})}
    names = [model.name for model in models]
    named = []
    for model in models:
        name = model.name
        if not model.is_named and names.count(name) > 1:
            same = [other for other in models if other.name == name]
            parts = [_place(other).parts for other in same]
            depth = next((n for n in range(1, 99) if len({part[-n:] for part in parts}) == len(parts)), 0)
            name = "/".join(_place(model).parts[-depth:]) if depth else model.words
        named.append(replace(model, name=name))
    return named


def _place(model: Model) -> Path:
    return model.matrix.absolute().with_suffix("") if model.folder is None else model.folder.path.resolve()


def _are_embeddings(first: Path, second: Path, known: Surroundings) -> tuple[bool, list[str]]:
    """Whether two files are embeddings of images and of captions, rather than the similarities of two models."""
    from fivesentences.evaluation.matrix_files import read_matrix

    left, right = read_matrix(first), read_matrix(second)
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"{first} is {list(left.shape)} but {second} is {list(right.shape)}; similarities of two models have the "
            "same shape, and embeddings of images and captions have the same number of columns."
        )
    if left.shape != right.shape or not _may_be_similarity(left.shape, known):
        return True, []  # or a mistake about embeddings, of which the sentence is as good as any
    if not _may_be_embeddings(left.shape[0], known):
        return False, []
    if _repeats_its_rows(left) or (_has_unit_rows(left) and _has_unit_rows(right)):
        return True, []
    n_images, n_captions = left.shape[::-1] if known.transposed else left.shape
    what = f"{first} and {second} are both {list(left.shape)}"
    as_models = f"name them for two similarities, A={first} B={second}"
    as_pair = f"join them by a comma for embeddings, {first},{second}"
    if known.transposed:
        return False, []
    if n_captions == CAPTIONS_OF_AN_IMAGE * n_images:
        return False, [f"{what}, five captions per image, and were read as the similarities of two models; {as_pair}."]
    raise InputError(
        f"{what}: they may be the similarities of two models, or embeddings of {n_images} images and as many captions; "
        f"{as_models}, or {as_pair}."
    )


def _may_be_similarity(shape: tuple[int, ...], known: Surroundings) -> bool:
    n_images, n_captions = shape[::-1] if known.transposed else shape
    if known.protocol is not None and not known.protocol.accepts(n_images, n_captions):
        return False
    if any(count() != n_captions for count in known.captions):
        return False
    return n_captions >= n_images and (known.has_pairing or n_captions % n_images == 0)


def _may_be_embeddings(n_rows: int, known: Surroundings) -> bool:
    """Whether as many captions as rows fit what else is known."""
    if known.transposed or (known.protocol is not None and n_rows != known.protocol.captions):
        return False
    return all(count() == n_rows for count in known.captions)


def _repeats_its_rows(matrix: NDArray[Any]) -> bool:
    from fivesentences.retrieval.gallery import repeats

    return repeats(matrix) > 1


def _has_unit_rows(matrix: NDArray[Any]) -> bool:
    """Whether every row has length 1, as normalised embeddings have and similarities do not."""
    rows = np.asarray(matrix[:ROWS], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((np.abs(np.linalg.norm(rows, axis=1) - 1) < 1e-2).all())

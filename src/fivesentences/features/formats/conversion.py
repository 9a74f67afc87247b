"""The formats by name, and from one to another: image by image, all or nothing."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fivesentences.console import Bar
from fivesentences.documents import check_file
from fivesentences.errors import Argument, InputError, did_you_mean
from fivesentences.features.files import all_files, images_beside
from fivesentences.features.formats.precomp import SUFFIX, PrecompArray, ids_beside, padded, read_ids, writing_precomp
from fivesentences.features.formats.record import FACTS, RECOGNISED, FeatureSource, ImageFeatures, Outline, check_ids
from fivesentences.features.formats.table import NpyTable, writing_table
from fivesentences.features.formats.tsv import Tsv, writing_tsv
from fivesentences.features.unfinished import OF_IMAGES
from fivesentences.storage import check_outputs, remove_partial, sha256_of

Storage = Literal["as_stored", "float16", "float32"]
MOST_REPEATED = 1000
HDF5 = (".h5", ".hdf5")


@dataclass(frozen=True)
class Format:
    """A format of features.

    Attributes:
        read: Opens a file.
        write: Opens a file for writing: path, outline, where the features come from, rows per image.
        suffixes: Endings of its files.
        files: All files that writing it may create.
        holds: The facts of ``record.FACTS`` that it can hold.
        needs: Facts that it cannot do without; it then holds float32 regions alone.
        repeats: Whether it can hold every image's row several times.
    """

    read: Callable[[Path], FeatureSource]
    write: Callable[[Path, Outline, Mapping[str, Any], int], AbstractContextManager[Callable[[ImageFeatures], None]]]
    suffixes: tuple[str, ...]
    files: Callable[[Path], list[Path]]
    holds: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    repeats: bool = False


_PRECOMP = Format(
    PrecompArray, writing_precomp, (f"{SUFFIX}.npy",), lambda path: [path, ids_beside(path)], repeats=True
)
_BOXED = frozenset({"boxes", "sizes"})
FORMATS = {
    "table": Format(NpyTable, writing_table, (".npy",), all_files, holds=frozenset(FACTS)),
    "precomp": _PRECOMP,
    "tsv": Format(Tsv, writing_tsv, (".tsv",), lambda path: [path], holds=_BOXED | {"counts"}, needs=_BOXED),
    "daa": replace(_PRECOMP, suffixes=HDF5),
}


@dataclass(frozen=True)
class Conversion:
    """Outcome of a conversion.

    Attributes:
        outline: The outline of the images that were written.
        written: The format of the result.
        dropped: Parts that were left out, as asked.
    """

    outline: Outline
    written: str
    dropped: tuple[str, ...]


def open_features(path: Path, name: str | None = None) -> FeatureSource:
    """Open features in any format for reading.

    Args:
        path: The file.
        name: The format, if its name does not tell it.

    Raises:
        InputError: If there is no such format, or the file is not recognised or damaged.
    """
    check_file(path)
    return FORMATS[_name_of(path, name)].read(path)


def convert(
    sources: Sequence[Path],
    out: Path,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    drop: Collection[str] = (),
    ids: Path | None = None,
    repeat: int = 1,
    storage: Storage = "as_stored",
) -> Conversion:
    """Convert features from one format into another, or join several files of one kind.

    Nothing is lost silently: what the new format cannot hold must be named in ``drop``. Memory holds the features of
    one image (and the ids, boxes and scores of all). The result appears when all of it is written.

    Args:
        sources: Files; several are joined in this order, and no image may be in two.
        out: File to write.
        source_format: The format of the sources, one of ``FORMATS``; default what their names tell.
        target_format: The format of the result, likewise.
        drop: Facts of ``record.FACTS`` to leave out; "counts" means that images with fewer regions get rows of zeros.
        ids: A file with ids of images, one per line: these images alone, in this order. An id may stand several times
            in a row, as in precomp folders.
        repeat: Rows per image (precomp and DAA).
        storage: The type of the numbers in the result.

    Returns:
        What was done.

    Raises:
        InputError: If a source is damaged, the new format cannot hold it or needs more, or a file cannot be written.
    """
    if not sources:
        raise InputError("there is nothing to convert; name a file and then the result.")
    if unknown := [fact for fact in drop if fact not in FACTS]:
        cure = did_you_mean(unknown[0], FACTS) or f"it may be {', '.join(FACTS)}"
        raise InputError(f"is '{unknown[0]}'", where=Argument("drop"), cure=cure)
    if not 1 <= repeat <= MOST_REPEATED:
        raise InputError(f"is {repeat}; it must be from 1 to {MOST_REPEATED:,}.", where=Argument("repeat"))
    with ExitStack() as stack:
        opened = [stack.enter_context(open_features(path, source_format)) for path in sources]
        read = [_name_of(path, source_format) for path in sources]
        whole = _Joined(opened)
        rows = np.arange(len(whole.outline)) if ids is None else _chosen(whole.outline, ids)
        found = whole.outline.chosen(rows)
        counts = found.counts
        if counts is not None and "counts" in drop:
            counts = np.full_like(counts, counts.max())
        dtype = found.dtype if storage == "as_stored" else np.dtype(storage)
        outline = replace(found, counts=counts, dtype=dtype, facts=found.facts - frozenset(drop))
        name = _name_of(out, target_format)
        target = FORMATS[name]
        dropped = tuple(fact for fact in FACTS if fact in drop and fact in found.known)
        _check_fits(outline, name, out, repeat, drop)
        files = target.files(out)
        sources_read = [*(one for source in opened for one in source.files()), ids]
        check_outputs({path.name: path for path in files}, sources_read, out)
        origin = {
            "converted_from": [_origin(*pair) for pair in zip(opened, read, strict=True)] if name == "table" else [],
            "dropped": list(dropped),
            "storage": storage,
            "fivesentences": importlib.metadata.version("fivesentences"),
        }
        remove_partial(*files)
        title = f"{' and '.join(dict.fromkeys(read))} to {name}"
        with target.write(out, outline, origin, repeat) as add, Bar(title, len(rows)) as bar:
            for place, row in enumerate(rows):
                add(_converted(whole.read(int(row)).without(drop), outline, place))
                bar.advance()
    return Conversion(outline, name, dropped)


def _converted(record: ImageFeatures, outline: Outline, place: int) -> ImageFeatures:
    """Return an image in the type and with the number of regions that will be written."""
    with np.errstate(over="ignore"):
        features = record.features.astype(outline.dtype, copy=False)
    if not np.isfinite(features).all():
        raise InputError(f"a feature of image '{record.image_id}' is too large for {outline.dtype}; keep float32.")
    if outline.counts is not None:
        features = padded(features, (int(outline.counts[place]), outline.dim))
    return replace(record, features=features)


def _name_of(path: Path, name: str | None) -> str:
    """Return the format that was asked for, or else the one that the name of a file tells."""
    if name is not None:
        if name not in FORMATS:
            cure = did_you_mean(name, FORMATS) or f"give one of {', '.join(FORMATS)}"
            raise InputError(f"'{name}' is no format of features", cure=cure)
        return name
    if re.fullmatch(r".*\.tsv(\.\d+)?", path.name, re.IGNORECASE):
        return "tsv"
    if path.suffix == ".npy":
        return "precomp" if path.stem.endswith(SUFFIX) and not images_beside(path).exists() else "table"
    if path.suffix in HDF5:
        return "daa"
    raise InputError("the name does not tell its format", where=path, cure=f"give one of {', '.join(FORMATS)}")


class _Joined:
    """Several sources as one."""

    def __init__(self, sources: Sequence[FeatureSource]):
        self._sources = sources
        self._ends = np.cumsum([len(source.outline) for source in sources])
        first = sources[0].outline
        for source in sources[1:]:
            if _said(source.outline) != _said(first):
                raise InputError(
                    f"it holds {_said(source.outline)}, but {sources[0].path} {_said(first)}",
                    where=source.path,
                    cure="files that are joined must hold the same",
                )
            if _extractor_of(source.origin()) != _extractor_of(sources[0].origin()):
                raise InputError(
                    f"its features come from another source than those of {sources[0].path} (see .source.json)",
                    where=source.path,
                    cure="features of different extractors must not be mixed",
                )
        if len(sources) > 1:
            ids = [image_id for source in sources for image_id in source.outline.ids]
            check_ids(ids, " and ".join(str(source.path) for source in sources))
            parts = [source.outline.counts for source in sources]
            counts = None if first.counts is None else np.concatenate([part for part in parts if part is not None])
            first = replace(first, ids=ids, counts=counts)
        self.outline = first

    def read(self, row: int) -> ImageFeatures:
        """Read one image, by its number among all."""
        number = int(np.searchsorted(self._ends, row, side="right"))
        source = self._sources[number]
        return source.read(row - int(self._ends[number]) + len(source.outline))


def _extractor_of(origin: dict[str, Any] | None) -> Any:
    """Return what must be equal in the origins of features that are joined: all but images and files on the way."""
    while isinstance(origin, dict) and "converted_from" in origin:
        files = origin["converted_from"]
        origin = files[0].get("source") if isinstance(files, list) and files and isinstance(files[0], dict) else None
    return {key: value for key, value in origin.items() if key not in OF_IMAGES} if origin else origin


def _said(outline: Outline) -> str:
    kind = "vectors" if outline.counts is None else "regions"
    facts = ", ".join(fact for fact in FACTS if fact in outline.facts)
    return f"{kind} of {outline.dim} numbers ({outline.dtype}) with {facts or 'nothing else'}"


def _chosen(outline: Outline, ids: Path) -> NDArray[np.intp]:
    wanted = read_ids(ids)
    row_of = {image_id: row for row, image_id in enumerate(outline.ids)}
    missing = [image_id for image_id in wanted if image_id not in row_of]
    if missing:
        raise InputError(
            f"{len(missing):,} of its {len(wanted):,} images, such as '{missing[0]}', have no features here; ids there "
            f"look like '{outline.ids[0]}'.",
            where=ids,
        )
    return np.array([row_of[image_id] for image_id in wanted], dtype=np.intp)


def _check_fits(outline: Outline, name: str, out: Path, repeat: int, drop: Collection[str]) -> None:
    """Check that nothing would be lost or is missing.

    Raises:
        InputError: If so; the sentence says what to do.
    """
    target = FORMATS[name]
    if not out.name.endswith(target.suffixes):
        form = " or ".join(target.suffixes)
        raise InputError(f"the name of a file in the format {name} ends in {form}.", where=out)
    if lost := outline.known - target.holds:
        said = "; rows of zeros would fill up images with fewer regions" if "counts" in lost else ""
        cure = f"give --drop {','.join(_in_order({*lost, *drop}))} to leave them out, or choose another format"
        raise InputError(f"the format {name} cannot hold {' and '.join(_in_order(lost))}{said}", where=out, cure=cure)
    if missing := target.needs - outline.facts:
        what = f"the format {name} needs {' and '.join(_in_order(missing))}, which these features lack"
        raise InputError(what, where=out, cure="choose another format, such as table")
    if target.needs and outline.dtype != np.float32:
        what = f"the format {name} holds float32, and these features are {outline.dtype}"
        raise InputError(what, where=out, cure="give --as float32, which loses nothing")
    if repeat > 1 and not target.repeats:
        raise InputError(f"the format {name} has one entry per image; leave --repeat out.", where=out)
    if "counts" in drop and (of_regions := outline.facts & {"boxes", *RECOGNISED}):
        cure = f"give --drop {','.join(_in_order({*of_regions, *drop}))}, or keep counts"
        raise InputError(f"rows of zeros have no {' and '.join(_in_order(of_regions))}", where=out, cure=cure)


def _in_order(facts: Collection[str]) -> list[str]:
    return [fact for fact in FACTS if fact in facts]


def _origin(source: FeatureSource, name: str) -> dict[str, Any]:
    """Say what a file was, for the note beside our own format."""
    known = source.origin()
    file = {"file": source.path.name, "format": name, "sha256": sha256_of(source.path)}
    return file if known is None else {**file, "source": known}

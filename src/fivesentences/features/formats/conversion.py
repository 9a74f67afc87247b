"""From one format of features to another: image by image, in constant memory, all or nothing."""

from __future__ import annotations

import hashlib
import importlib.metadata
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fivesentences.console import Bar
from fivesentences.errors import Argument, InputError, InputErrors, did_you_mean
from fivesentences.features.formats.known import Format, format_for, format_of
from fivesentences.features.formats.precomp_arrays import once, read_ids
from fivesentences.features.formats.record import FACTS, RECOGNISED, ImageFeatures, Outline, Source, check_ids
from fivesentences.features.identity import OF_IMAGES
from fivesentences.storage import check_outputs, check_writable, remove_partial, sha256_of

Storage = Literal["as_stored", "float16", "float32"]
MOST_REPEATED = 1000
_PIECE = 1 << 20  # bytes


@dataclass(frozen=True)
class Conversion:
    """What was converted.

    Attributes:
        outline: Of the images that were written.
        read: The format of each source.
        written: The format of the result.
        dropped: What was left out, as asked.
    """

    outline: Outline
    read: tuple[str, ...]
    written: str
    dropped: tuple[str, ...]


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

    Nothing is lost silently: what the new format cannot hold must be named in ``drop``. Memory holds one image (and the
    ids and numbers of regions of all). The result appears when all of it is written.

    Args:
        sources: Files or folders; several are joined in this order, and no image may be in two.
        out: What to write.
        source_format: Of the sources, one of ``known.FORMATS``; default what names and contents tell.
        target_format: Of the result, likewise.
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
    _check_arguments(sources, out, drop, repeat, storage)
    with ExitStack() as stack:
        opened, read = [], []
        for path in sources:
            found = format_of(path, source_format)
            opened.append(stack.enter_context(found.read(path)))
            read.append(_exact_name(found, opened[-1]))
        whole = _Joined(opened)
        rows = np.arange(len(whole.outline)) if ids is None else _chosen(whole.outline, ids)
        outline = _with(whole.outline.chosen(rows), drop, storage)
        target = format_for(out, outline, target_format)
        dropped = tuple(fact for fact in FACTS if fact in drop and fact in whole.outline.chosen(rows).known)
        _check_fits(outline, target, out, repeat, drop)
        _check_paths(target, opened, out, ids)
        origin = _origin(opened, read, dropped, storage) if target.notes_source else {}
        remove_partial(*target.files(out))
        with (
            target.write(out, outline, origin, repeat) as writer,
            Bar(f"{' and '.join(dict.fromkeys(read))} to {target.name}", len(rows)) as bar,
        ):
            for record in _records(whole, rows, frozenset(drop), outline):
                writer.add(record)
                bar.advance()
    return Conversion(outline, tuple(read), target.name, dropped)


class _Joined:
    """Several sources as one."""

    def __init__(self, sources: Sequence[Source]):
        self._sources = sources
        self._ends = np.cumsum([len(source.outline) for source in sources])
        first = sources[0].outline
        for source in sources[1:]:
            other = source.outline
            if (first.dim, first.dtype, first.facts, first.counts is None) != (
                *(other.dim, other.dtype, other.facts, other.counts is None),
            ):
                raise InputError(
                    f"it holds {_said(other)}, but {sources[0].path} {_said(first)}",
                    where=source.path,
                    cure="files that are joined must hold the same",
                )
            if _kind_of(source.origin()) != _kind_of(sources[0].origin()):
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
        """One image, by its number among all."""
        number = int(np.searchsorted(self._ends, row, side="right"))
        source = self._sources[number]
        return source.read(row - int(self._ends[number]) + len(source.outline))


def _kind_of(origin: dict[str, Any] | None) -> Any:
    """What must be equal in the origins of features that are joined: all but images and files on the way."""
    while isinstance(origin, dict) and "converted_from" in origin:
        files = origin["converted_from"]
        origin = files[0].get("source") if isinstance(files, list) and files and isinstance(files[0], dict) else None
    return {key: value for key, value in origin.items() if key not in OF_IMAGES} if origin else origin


def _said(outline: Outline) -> str:
    kind = "vectors" if outline.counts is None else "regions"
    facts = ", ".join(fact for fact in FACTS if fact in outline.facts)
    return f"{kind} of {outline.dim} numbers ({outline.dtype}) with {facts or 'nothing else'}"


def _check_arguments(sources: Sequence[Path], out: Path, drop: Collection[str], repeat: int, storage: str) -> None:
    errors = []
    if not sources:
        errors.append(InputError("there is nothing to convert; name a file or folder and then the result."))
    for fact in drop:
        if fact not in FACTS:
            cure = did_you_mean(fact, FACTS) or f"it may be {', '.join(FACTS)}"
            errors.append(InputError(f"is '{fact}'", where=Argument("drop"), cure=cure))
    if not 1 <= repeat <= MOST_REPEATED:
        errors.append(InputError(f"is {repeat}; it must be from 1 to {MOST_REPEATED:,}.", where=Argument("repeat")))
    if storage not in ("as_stored", "float16", "float32"):
        errors.append(InputError(f"storage is '{storage}'; it must be as_stored, float16 or float32."))
    if errors:
        raise InputErrors(errors) if len(errors) > 1 else errors[0]


def _exact_name(found: Format, source: Source) -> str:
    """The name of what was read, where a reader reads two formats."""
    facts = source.outline.facts
    if found.name in ("tsv", "lxmert"):
        return "lxmert" if "scores" in facts else "tsv"
    if found.name in ("npy", "npz"):
        return source.files()[0].suffix.removeprefix(".")
    return found.name


def _chosen(outline: Outline, ids: Path) -> NDArray[np.intp]:
    wanted = once(read_ids(ids))
    check_ids(wanted, ids)
    row_of = {image_id: row for row, image_id in enumerate(outline.ids)}
    missing = [image_id for image_id in wanted if image_id not in row_of]
    if missing:
        raise InputError(
            f"{len(missing):,} of its {len(wanted):,} images, such as '{missing[0]}', have no features here; ids there "
            f"look like '{outline.ids[0]}'.",
            where=ids,
        )
    return np.array([row_of[image_id] for image_id in wanted], dtype=np.intp)


def _with(outline: Outline, drop: Collection[str], storage: Storage) -> Outline:
    """The outline of what will be written."""
    counts = outline.counts
    if counts is not None and "counts" in drop:
        counts = np.full_like(counts, counts.max())
    dtype = outline.dtype if storage == "as_stored" else np.dtype(storage)
    return replace(outline, counts=counts, dtype=dtype, facts=outline.facts - frozenset(drop))


def _check_fits(outline: Outline, target: Format, out: Path, repeat: int, drop: Collection[str]) -> None:
    """Check that nothing would be lost or is missing.

    Raises:
        InputError: If so; the sentence says what to do.
    """
    lost = [fact for fact in FACTS if fact in outline.known - target.holds]
    if lost:
        assert outline.counts is not None or lost != ["counts"]
        said = "; rows of zeros would fill up images with fewer regions" if "counts" in lost else ""
        options = ",".join(fact for fact in FACTS if fact in lost or fact in drop)
        raise InputError(
            f"the format {target.name} cannot hold {_and(lost)}{said}",
            where=out,
            cure=f"give --drop {options} to leave them out, or choose another format",
        )
    if missing := [fact for fact in FACTS if fact in target.needs - outline.facts]:
        raise InputError(
            f"the format {target.name} needs {_and(missing)}, which these features lack",
            where=out,
            cure="choose another format, such as table",
        )
    if outline.counts is None and not target.vectors:
        raise InputError(
            f"the format {target.name} holds regions, and these features are one vector per image",
            where=out,
            cure="choose another format, such as table",
        )
    if target.float32 and outline.dtype != np.float32:
        raise InputError(
            f"the format {target.name} holds float32, and these features are {outline.dtype}",
            where=out,
            cure="give --as float32, which loses nothing",
        )
    if repeat > 1 and not target.repeats:
        raise InputError(f"the format {target.name} has one entry per image; leave --repeat out.", where=out)
    if "counts" in drop and (of_regions := outline.facts & {"boxes", *RECOGNISED}):
        options = ",".join(fact for fact in FACTS if fact in of_regions or fact in drop)
        raise InputError(
            f"rows of zeros have no {_and([fact for fact in FACTS if fact in of_regions], 'or')}",
            where=out,
            cure=f"give --drop {options}, or keep counts",
        )


def _and(names: Sequence[str], last: str = "and") -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"


def _check_paths(target: Format, sources: Sequence[Source], out: Path, ids: Path | None) -> None:
    check_writable(out) if target.suffixes else check_writable(out / "x")
    read = [file for source in sources for file in source.files()]
    check_outputs({path.name: path for path in target.files(out)}, [*read, ids])


def _origin(sources: Sequence[Source], read: Sequence[str], dropped: Sequence[str], storage: str) -> dict[str, Any]:
    """What our own format says about where the features come from."""
    files = []
    for source, name in zip(sources, read, strict=True):
        file: dict[str, Any] = {"file": source.path.name, "format": name, "sha256": _digest(source)}
        if (known := source.origin()) is not None:
            file["source"] = known
        files.append(file)
    return {
        "converted_from": files,
        "dropped": list(dropped),
        "storage": storage,
        "fivesentences": importlib.metadata.version("fivesentences"),
    }


def _digest(source: Source) -> str:
    """SHA-256 of the file; of a folder, of the names of its files and their SHA-256."""
    if source.sha256 is not None:
        return source.sha256
    total = hashlib.sha256()
    if source.path.is_file():
        with (
            Bar(f"checksum of {source.path.name}", source.path.stat().st_size) as bar,
            source.path.open("rb") as stream,
        ):
            while piece := stream.read(_PIECE):
                total.update(piece)
                bar.advance(len(piece))
        return total.hexdigest()
    files = source.files()
    with Bar(f"checksum of {source.path.name}", len(files)) as bar:
        for file in files:
            total.update(f"{file.relative_to(source.path).as_posix()}\0{sha256_of(file)}\n".encode())
            bar.advance()
    return total.hexdigest()


def _records(whole: _Joined, rows: NDArray[np.intp], drop: frozenset[str], outline: Outline) -> Iterator[ImageFeatures]:
    for place, row in enumerate(rows):
        record = whole.read(int(row)).without(drop)
        features = record.features
        if features.dtype != outline.dtype:
            with np.errstate(over="ignore"):
                features = features.astype(outline.dtype)
            if not np.isfinite(features).all():
                raise InputError(
                    f"a feature of image '{record.image_id}' is too large for {outline.dtype}; keep float32."
                )
        if outline.counts is not None and len(features) < outline.counts[place]:
            features = np.concatenate(
                [features, np.zeros((outline.counts[place] - len(features), outline.dim), features.dtype)]
            )
        yield replace(record, features=features)

"""The formats by name: what each can hold, which files are recognised as one, and how it is opened and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from fivesentences.documents import check_file
from fivesentences.errors import InputError, did_you_mean
from fivesentences.features.files import images_beside
from fivesentences.features.formats.folders import Folder, Kind, writing_folder
from fivesentences.features.formats.hdf5_rows import Hdf5File
from fivesentences.features.formats.npy_rows import SUFFIX
from fivesentences.features.formats.precomp_arrays import PrecompArray, ids_beside, writing_precomp
from fivesentences.features.formats.record import FACTS, ImageFeatures, Outline, Source
from fivesentences.features.formats.table import Table, all_files, writing_table
from fivesentences.features.formats.tsv import FACTS as TSV_FACTS
from fivesentences.features.formats.tsv import Tsv, writing_tsv
from fivesentences.features.formats.vqa_hdf5 import FEATURES as VQA_FEATURES
from fivesentences.features.formats.vqa_hdf5 import VqaHdf5, pickle_beside, writing_vqa_hdf5
from fivesentences.features.precomp import DATASET

HDF5 = (".h5", ".hdf5")
TSV = re.compile(r".*\.tsv(\.\d+)?", re.IGNORECASE)
SIZED = frozenset({"boxes", "sizes"})


class Writer(Protocol):
    """What appends one image after the other."""

    def add(self, record: ImageFeatures) -> None:
        """Append one image."""


Writing = Callable[[Path, Outline, Mapping[str, Any], int], AbstractContextManager[Writer]]


def _alone(path: Path) -> list[Path]:
    return [path]


@dataclass(frozen=True)
class Format:
    """A format of features.

    Attributes:
        name: As in ``--to``.
        what: One line about it.
        read: Opens it.
        write: Opens it for writing: the path, the outline, where the features come from, rows per image.
        holds: The facts of ``record.FACTS`` that it can hold.
        needs: Those that it cannot do without.
        suffixes: Of its files; empty for a folder.
        vectors: Whether it can hold one vector per image in place of regions.
        float32: Whether it holds float32 alone.
        repeats: Whether it can hold every image's row several times.
        notes_source: Whether it says where features come from.
        files: All files that writing it may create.
    """

    name: str
    what: str
    read: Callable[[Path], Source]
    write: Writing
    holds: frozenset[str] = frozenset()
    needs: frozenset[str] = frozenset()
    suffixes: tuple[str, ...] = ()
    vectors: bool = True
    float32: bool = False
    repeats: bool = False
    notes_source: bool = False
    files: Callable[[Path], list[Path]] = _alone


def _table(out: Path, outline: Outline, source: Mapping[str, Any], repeat: int) -> AbstractContextManager[Writer]:
    return writing_table(out, outline, source)


def _precomp(out: Path, outline: Outline, source: Mapping[str, Any], repeat: int) -> AbstractContextManager[Writer]:
    return writing_precomp(out, outline, repeat)


def _vqa(out: Path, outline: Outline, source: Mapping[str, Any], repeat: int) -> AbstractContextManager[Writer]:
    return writing_vqa_hdf5(out, outline)


def _tsv(columns: int) -> Writing:
    return lambda out, outline, source, repeat: writing_tsv(out, columns)


def _folder(kind: Kind) -> Writing:
    return lambda out, outline, source, repeat: writing_folder(out, kind)


def _with_ids(path: Path) -> list[Path]:
    return [path, ids_beside(path)]


def _with_pickle(path: Path) -> list[Path]:
    return [path, pickle_beside(path)]


_ALL = frozenset(FACTS)
_KNOWN = (
    Format(
        "table",
        "X.npy with X.images.parquet, X.regions.parquet and X.source.json: what training reads",
        Table,
        _table,
        holds=_ALL,
        suffixes=(".npy",),
        notes_source=True,
        files=all_files,
    ),
    Format(
        "precomp",
        "SPLIT_ims.npy with SPLIT_ids.txt, of SCAN, VSRN, CVSE and SGRAF",
        PrecompArray,
        _precomp,
        suffixes=(".npy",),
        repeats=True,
        files=_with_ids,
    ),
    Format(
        "tsv",
        "bottom-up attention's TSV with 6 columns",
        Tsv,
        _tsv(6),
        holds=TSV_FACTS[6],
        needs=SIZED,
        suffixes=(".tsv",),
        vectors=False,
        float32=True,
    ),
    Format(
        "lxmert",
        "LXMERT's TSV with 10 columns",
        Tsv,
        _tsv(10),
        holds=TSV_FACTS[10],
        needs=TSV_FACTS[10] - {"counts"},
        suffixes=(".tsv",),
        vectors=False,
        float32=True,
    ),
    Format("npy", "a folder with an .npy per image", Folder, _folder("npy"), holds=frozenset({"counts"})),
    Format(
        "npz",
        "a folder with an .npz per image, as MILVLG's extractor writes it",
        Folder,
        _folder("npz"),
        holds=_ALL - {"filenames"},
    ),
    Format(
        "daa",
        "SPLIT.h5 with the dataset feat, of DAA, with SPLIT_ids.txt",
        PrecompArray,
        _precomp,
        suffixes=HDF5,
        repeats=True,
        files=_with_ids,
    ),
    Format(
        "vqa",
        "HDF5 of VQA models: image_features, image_bb, spatial_features and pos_boxes",
        VqaHdf5,
        _vqa,
        holds=frozenset({"counts", *SIZED}),
        needs=SIZED,
        suffixes=HDF5,
        vectors=False,
        files=_with_pickle,
    ),
)
FORMATS = {known.name: known for known in _KNOWN}


def format_of(path: Path, name: str | None = None) -> Format:
    """The format of a file or folder that is there, by its name and contents.

    Args:
        path: The file or folder.
        name: The format, if it is known.

    Raises:
        InputError: If there is no such format, or the file is not recognised.
    """
    if name is not None:
        return named(name)
    if path.is_dir():
        return FORMATS["npy"]  # whose reader reads npz too
    if TSV.fullmatch(path.name):
        return FORMATS["tsv"]  # whose reader reads 10 columns too
    if path.suffix == ".npy":
        return FORMATS["precomp" if not images_beside(path).exists() and path.stem.endswith(SUFFIX) else "table"]
    if path.suffix in HDF5:
        with closing(Hdf5File(path)) as file:
            names = file.names()
        if VQA_FEATURES in names or DATASET in names:
            return FORMATS["vqa" if VQA_FEATURES in names else "daa"]
        shown = ", ".join(sorted(names)[:5]) or "nothing"
        raise InputError(
            f"it holds {shown}, but neither {VQA_FEATURES} nor {DATASET}; no HDF5 layout of features is recognised.",
            where=path,
        )
    check_file(path)
    raise InputError("the name does not tell its format", where=path, cure=f"give --from, one of {', '.join(FORMATS)}")


def format_for(path: Path, outline: Outline, name: str | None = None) -> Format:
    """The format in which to write a file: the one asked for, or the richest that its name allows and that is filled.

    Args:
        path: The file or folder.
        outline: What will be written.
        name: The format, if it was asked for.

    Raises:
        InputError: If there is no such format, or the name does not fit or does not tell.
    """
    if name is not None:
        asked = named(name)
        if asked.suffixes and path.suffix not in asked.suffixes:
            raise InputError(
                f"the name of a file in the format {name} ends in {' or '.join(asked.suffixes)}.", where=path
            )
        if name == "precomp" and not path.stem.endswith(SUFFIX):
            raise InputError(
                f"the name of a precomp array is SPLIT{SUFFIX}.npy, such as train{SUFFIX}.npy.", where=path
            )
        return asked
    if path.suffix == ".npy":
        return FORMATS["precomp" if path.stem.endswith(SUFFIX) else "table"]
    if path.suffix == ".tsv":
        return FORMATS["lxmert" if FORMATS["lxmert"].needs <= outline.facts else "tsv"]
    if path.suffix in HDF5:
        return FORMATS["vqa" if FORMATS["vqa"].needs <= outline.facts else "daa"]
    if not path.suffix:
        return FORMATS["npz" if outline.facts & FORMATS["npz"].holds else "npy"]
    raise InputError(
        "the name does not tell in which format to write", where=path, cure=f"give --to, one of {', '.join(FORMATS)}"
    )


def named(name: str) -> Format:
    """A format by name.

    Raises:
        InputError: If there is no such format.
    """
    if name not in FORMATS:
        cure = did_you_mean(name, FORMATS) or f"give one of {', '.join(FORMATS)}"
        raise InputError(f"'{name}' is no format of features", cure=cure)
    return FORMATS[name]

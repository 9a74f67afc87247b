"""`fivesentences checkpoint import`: weights that others have trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.commands.arguments import Out
from fivesentences.errors import InputError, need
from fivesentences.retrieval.arguments import setting_of, settings_of
from fivesentences.storage import check_outputs


def import_(
    file: Annotated[Path, typer.Argument(metavar="MODEL.pth.tar")],
    *,
    out: Out,
    model: str,
    concept_vectors: Path | None = None,
    option: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE")] = None,
) -> None:
    """Turn a released .pth.tar into safetensors, without running what is in it.

    A .pth.tar is a pickle: a program written by whoever made the file. It is
    read by torch's weights-only reader, which creates tensors, plain containers,
    numbers and the command line of the training, and refuses everything else.

    The folder then holds released.safetensors (weights under their released
    names) and checkpoint.json (settings, epoch, SHA-256 of the source):

        from fivesentences.models.released_checkpoints import load_imported
        model = load_imported("FOLDER")

    Args:
        file: A checkpoint of a released code.
        out: Folder for safetensors and settings.
        model: vsepp, scan, vsrn, cvse, sgr, saf or vse_infinity.
        concept_vectors: cvse: vectors of the concepts, .npy, which no checkpoint contains.
        option: A setting of the model that the file lacks; repeat for more.

    Example:

        fivesentences checkpoint import model_best.pth.tar -o scan --model scan
    """
    options = _options(option or [])
    for package in ("torch", "safetensors"):
        need(package, "train", "importing a checkpoint")
    from fivesentences.models.released_checkpoints import SETTINGS, WEIGHTS, import_checkpoint  # needs torch

    check_outputs({f"{name} in --out": out / name for name in (WEIGHTS, SETTINGS)}, [file, concept_vectors], out)
    vectors = None if concept_vectors is None else _vectors(concept_vectors)
    made = import_checkpoint(file, out, model, options, vectors)
    sizes = [parameter.numel() for parameter in made.parameters()]
    print(f"{out}: {model}, {sum(sizes):,} numbers in {len(sizes)} weights")


def _vectors(path: Path) -> NDArray[np.float32]:
    vectors = read_npy(path)
    if vectors.dtype.kind not in "fiu" or vectors.ndim != 2:
        raise InputError(f"it holds {vectors.dtype} of shape {list(vectors.shape)}; give [C, dim] numbers.", where=path)
    return vectors.astype(np.float32)


def _options(pairs: list[str]) -> dict[str, Any]:
    """Parse ``name=value``, see ``settings_of``."""
    for pair in pairs:
        if not setting_of(pair)[0].isidentifier():
            raise InputError(f"--option is '{pair}'; give NAME=VALUE, such as direction=i2t.")
    return settings_of(pairs, "--option")

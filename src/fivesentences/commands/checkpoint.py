"""`fivesentences checkpoint ...`: weights that others have trained."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from fivesentences.arrays import read_npy
from fivesentences.commands import arguments as given
from fivesentences.errors import InputError, need
from fivesentences.storage import check_outputs

checkpoint = typer.Typer(no_args_is_help=True, epilog=given.WORDS)


@checkpoint.callback()
def _root() -> None:
    """Import weights that others have trained.

    Example:

        fivesentences checkpoint import model_best.pth.tar -o scan --model scan
    """


@checkpoint.command("import", epilog=given.WORDS)
def import_(
    file: Annotated[Path, typer.Argument(metavar="MODEL.pth.tar", help="a checkpoint of a released code")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="where safetensors and settings go")],
    model: Annotated[str, typer.Option(help="vsepp, scan, vsrn, cvse, sgr or saf")],
    concept_vectors: Annotated[
        Path | None,
        typer.Option(metavar="FILE.npy", help="cvse: vectors of the concepts, which no checkpoint contains"),
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option", metavar="NAME=VALUE", help="a setting of the model that the file lacks; repeat for more"
        ),
    ] = None,
) -> None:
    """Turn a released .pth.tar into safetensors, without running what is in it.

    A .pth.tar is a pickle: a program written by whoever made the file. It is
    read by torch's weights-only reader, which creates tensors, plain containers,
    numbers and the command line of the training, and refuses everything else.

    The folder then holds released.safetensors (weights under their released
    names) and checkpoint.json (settings, epoch, SHA-256 of the source):

        from fivesentences.models.released_checkpoints import load_imported
        model = load_imported("FOLDER")

    Example:

        fivesentences checkpoint import model_best.pth.tar -o scan --model scan
    """
    need("torch", "train", "importing a checkpoint")
    need("safetensors", "train", "importing a checkpoint")
    # torch takes seconds to import; the other commands do not wait for it.
    from fivesentences.models.released_checkpoints import SETTINGS, WEIGHTS, import_checkpoint

    check_outputs({f"{name} in --out": out / name for name in (WEIGHTS, SETTINGS)}, [file, concept_vectors])
    vectors = None if concept_vectors is None else _vectors(concept_vectors)
    made = import_checkpoint(file, out, model, _options(option or []), vectors)
    numbers = sum(parameter.numel() for parameter in made.parameters())
    print(f"{out}: {model}, {numbers:,} numbers in {sum(1 for _ in made.parameters())} weights")


def _vectors(path: Path) -> NDArray[np.float32]:
    """``[C, dim]`` numbers.

    Raises:
        InputError: If the file is missing or holds something else.
    """
    vectors = read_npy(path)
    if vectors.dtype.kind not in "fiu" or vectors.ndim != 2:
        raise InputError(f"it holds {vectors.dtype} of shape {list(vectors.shape)}; give [C, dim] numbers.", where=path)
    return vectors.astype(np.float32)


def _options(pairs: list[str]) -> dict[str, object]:
    """``name=value`` pairs; a value is a number, true, false or text.

    Raises:
        InputError: If there is no ``=``.
    """
    options: dict[str, object] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.isidentifier():
            raise InputError(f"--option is '{pair}'; give NAME=VALUE, such as direction=i2t.")
        try:
            options[name] = json.loads(value)
        except (ValueError, RecursionError):  # no JSON, or beyond what its reader takes
            options[name] = value
    return options

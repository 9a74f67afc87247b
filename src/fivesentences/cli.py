"""`fivesentences ...`: what can be done without the workflow."""

from __future__ import annotations

import errno
import importlib
import importlib.metadata
import io
import keyword
import os
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from fivesentences.commands.arguments import HELP, WORDS, as_command
from fivesentences.console import Visible
from fivesentences.errors import InputError, cure_of, in_shell, shortage, visible

# What `--help` says of every command, by the heading above it. The first word is the module, the last one the function.
COMMANDS = {
    "Score models": {
        "evaluate": "Score models and compare them: recall, ranks, and with phi also NCS, semantic recall and ASP.",
        "look": "Write a page on which models can be seen: what they retrieve for which queries, beside photographs.",
        "pairs": "Score a model on rated or contrasted pairs: CxC within a modality, Winoground, SugarCrepe.",
        "captioning": "Score captions that systems made, one per image, against references, and compare the systems.",
        "metrics": "List every metric that evaluate reports.",
        "published": 'List recall and NCS that papers published, by the names that "evaluate --beside" takes.',
    },
    "Prepare data": {
        "example": "Write a similarity matrix, embeddings, captions and pictures to try the other commands on.",
        "download": "Fetch the files of a dataset; they are checked, and a stopped download is resumed.",
        "captions": 'Write the captions of a dataset, in the order that "evaluate --dataset" expects.',
        "phi": "Score every caption against every image by a semantic metric.",
        "jars": "Fetch Stanford CoreNLP 3.6.0, which SPICE's parser needs.",
        "features extract": "Describe every photograph of a folder or archive by a network.",
        "features regions": "Find regions and describe them, for every photograph of a folder or archive.",
        "features convert": "Convert features between the formats that the community has.",
        "features show": "Draw photographs with the boxes of their regions, or beside their nearest neighbours.",
        "features compare": "Compare two sets of features region by region: are ours those that were released?",
    },
    "Train and apply models": {
        "train": "Train one run, or every run of a scale; what was stopped is resumed.",
        "embed": 'Embed images and captions by CLIP, SigLIP or BLIP, for "fivesentences evaluate".',
        "similarity": "Score every image of a split with every caption of it, by a run or an imported checkpoint.",
        "checkpoint import": "Turn a released .pth.tar into safetensors, without running what is in it.",
    },
    "Check and report": {
        "doctor": "Report what works here, what is wrong and what is optional, each with the command that changes it.",
        "report": "Redraw the tables, figures and pages of a scale from saved results.",
    },
}
# Modules in `reproduction/commands`; the others, in `commands`, belong to the scoring library.
OF_REPRODUCTION = ("checkpoint", "doctor", "embed", "features", "report", "similarity", "train")
GROUPS = {
    "features": "Make files of image features, convert them and look at them.",
    "checkpoint": "Import weights that others have trained.",
}


def home_of(module: str) -> str:
    """Return the full name of the module of a command."""
    return f"fivesentences.{'reproduction.' if module in OF_REPRODUCTION else ''}commands.{module}"


class Later(TyperCommand):
    """A command whose module is imported when it is used, since some modules take seconds."""

    def loaded(self, module: str) -> TyperCommand:
        """Return the command itself."""
        name = str(self.name)
        home = importlib.import_module(home_of(module))
        return as_command(getattr(home, name + "_" * keyword.iskeyword(name)))

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Go on with the command itself; called for running it, its ``--help``, and completion."""
        module = parent.info_name if parent.info_name in GROUPS else str(self.name)
        try:
            return self.loaded(module).make_context(info_name, args, parent, **extra)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix("Value error, ")  # pydantic's, before the sentence of a choice
            if error.message.startswith("Input should") and (mistakes := getattr(error.__cause__, "errors", None)):
                given = visible(str(mistakes()[0]["input"])[:60])
                error.message = error.message.replace("Input", f"it is '{given}'; it", 1)
            raise


def _version(asked: bool) -> None:
    if asked:
        print(f"fivesentences {importlib.metadata.version('fivesentences')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Train, score and compare image-text matching models without the workflow (Snakemake), step by step.

    Example:

        fivesentences evaluate sims.npy --captions captions.txt
    """


def command_line(*, later: bool = False) -> TyperGroup:
    """Return the root of all commands.

    Args:
        later: True to import the module of the command in use alone; False to import all, as the documentation does.
    """
    empty = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, epilog=WORDS, context_settings=HELP)
    empty.callback()(_root)
    root = typer.main.get_command(empty)
    assert isinstance(root, TyperGroup)
    for panel, commands in COMMANDS.items():
        for words, text in commands.items():
            module, name = words.partition(" ")[0], words.rpartition(" ")[2]
            command = Later(name, help=text, rich_help_panel=panel)
            home = root
            if module in GROUPS:
                home = root.commands.setdefault(  # type: ignore[assignment]
                    module, TyperGroup(name=module, help=GROUPS[module], rich_help_panel=panel, no_args_is_help=True)
                )
            home.add_command(command if later else command.loaded(module), name)
    return root


app = command_line(later=True)


def main() -> None:
    """Run the command line; an ``InputError`` is one sentence on standard error and exit code 1."""
    _prepare_streams()
    streams = sys.stdout, sys.stderr
    try:
        try:
            sys.stdout, sys.stderr = Visible(sys.stdout), Visible(sys.stderr)  # type: ignore[assignment]
            _check_arguments()
            with in_shell():
                app(prog_name="fivesentences")
        finally:
            sys.stdout, sys.stderr = streams
            sys.stdout.flush()  # here, where an error can still be reported
    except InputError as error:
        _end(str(error))
    except BrokenPipeError:  # whoever read the output has seen enough, such as head
        _end()
    except Exception as error:
        if short := shortage(error):
            _end(str(short))
        if not isinstance(error, OSError):
            raise
        # A disk that fills up, a file that may not be read.
        if error.filename is not None and error.strerror is not None:
            cure = cure_of(error)
            _end(f"{visible(str(error.filename))}: {error.strerror}{cure and f'; {cure}'}.")
        try:
            Path.cwd()
        except FileNotFoundError:
            _end("the current folder has been deleted; change to another one.")
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EBADF, errno.EFBIG):
            raise
        _end(f"standard output cannot be written ({error.strerror}); make room, or write to another file.")


def _prepare_streams() -> None:
    """Replace streams that were closed (``>&-``), and let none fail at a character that it cannot show."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (used to the end)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _check_arguments() -> None:
    """Reject names that are not valid UTF-8, which tables and notes could not hold."""
    for argument in sys.argv[1:]:
        if any("\ud800" <= letter <= "\udfff" for letter in argument):
            shown = ascii(argument if len(argument) <= 80 else f"{argument[:80]}...")
            raise InputError(f"{shown} is not text in this locale; rename the file, or set LC_ALL=C.UTF-8.")


def _end(sentence: str | None = None) -> NoReturn:
    """End with exit code 1, after a sentence if there is one."""
    if sentence is not None:
        print(f"Error: {sentence}", file=sys.stderr)
    try:
        sys.stdout.flush()
    except OSError:  # what is left has nowhere to go, and Python would complain about it at its own end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(1) from None

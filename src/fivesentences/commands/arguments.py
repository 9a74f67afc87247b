"""A function as a command, and the options that several commands share."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import inspect
import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperOption
from typer.models import ParameterInfo

from fivesentences.choices import CATALOGUE_NAMES, Split, datasets_called, each_once, split_named
from fivesentences.choices import Dataset as Dataset
from fivesentences.choices import Precision as Precision
from fivesentences.errors import did_you_mean

LARGEST = 1_000_000_000  # number in a list, such as a cut-off
HELP = {"help_option_names": ["-h", "--help"]}
# Below every help.
WORDS = (
    "phi: how well a caption describes an image. GT: ground truth, the query's own items. "
    "i2t: images are queries; t2i: captions are. Scale: a configuration of the workflow."
)
_LISTED = re.compile(r"^(?:Args|Attributes):\n((?:(?: {4}.*)?\n?)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)

SPLITS = f"<{'|'.join(get_args(Split))}>"  # in help
Device = Literal["auto", "cpu", "cuda"]
Mirror = Annotated[Path | None, typer.Option(envvar="FIVESENTENCES_MIRROR")]
Out = Annotated[Path, typer.Option("--out", "-o")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q")]


@dataclasses.dataclass(frozen=True)
class Downloads:
    """Where files of data sets are.

    Attributes:
        data: Folder of downloads.
        mirror: A folder with copies of the downloads, used first.
        catalogue: List of downloads; default: config/datasets.yaml of this folder, or the package's own.
    """

    data: Path = Path("data")
    mirror: Mirror = None
    catalogue: Path | None = None


@dataclasses.dataclass(frozen=True)
class Resampling:
    """How models are tested.

    Attributes:
        method: Random sign flips, or a bootstrap.
        resamples: Number of sign flips or draws.
        confidence: Confidence of the intervals.
        seed: Seed of the flips or draws.
    """

    method: Literal["permutation", "bootstrap"] = "permutation"
    resamples: Annotated[int, typer.Option(min=1)] = 10_000
    confidence: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.95
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1)] = 0


class Once(TyperCommand):
    """A command that takes an option once, unless it may be repeated: of two values one would count for nothing."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments of the command line, as click does."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option in each_once(given):
            single = isinstance(option, TyperOption) and not (option.multiple or option.is_flag or option.count)
            if single and given.count(option) > 1 and not ctx.resilient_parsing:
                raise typer.BadParameter("it is given twice; give it once.", param_hint=option.opts[-1])
        return super().parse_args(ctx, args)


def as_command(function: Callable[..., None]) -> TyperCommand:
    """Make a command of a function.

    Parameters that may be given by position are arguments; those that follow a ``*`` are options. One whose type is a
    dataclass stands for an option per field, in a panel of the help with the parameter's name. Its docstring is the
    help, where examples come first; ``Args`` there, and ``Attributes`` of the dataclasses, describe the options.
    ``quiet`` silences standard error while the function runs, and standard output too unless it is a field of a
    dataclass.
    """
    text, described = _documented(function)
    hints, groups, panels, parameters = get_type_hints(function, include_extras=True), {}, {}, []
    for name, parameter in inspect.signature(function).parameters.items():
        if not dataclasses.is_dataclass(hints[name]):
            parameters.append(parameter.replace(annotation=hints[name]))
            continue
        groups[name] = kind = hints[name]
        described |= _documented(kind)[1]
        kinds = get_type_hints(kind, include_extras=True)
        for field in dataclasses.fields(kind):
            panels[field.name] = name.capitalize()
            of_field = {"default": field.default, "annotation": kinds[field.name]}
            parameters.append(inspect.Parameter(field.name, parameter.KEYWORD_ONLY, **of_field))

    def run(**given: Any) -> None:
        quiet = given.get("quiet", False)
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in dataclasses.fields(kind)})
        with contextlib.ExitStack() as silence:
            if quiet:
                silence.enter_context(contextlib.redirect_stderr(io.StringIO()))
            if quiet and "quiet" in given:
                silence.enter_context(contextlib.redirect_stdout(io.StringIO()))
            function(**given)

    run.__doc__, run.__name__ = text, function.__name__
    run.__annotations__ = {one.name: _annotated(one, described[one.name], panels.get(one.name)) for one in parameters}
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=one.KEYWORD_ONLY, annotation=run.__annotations__[one.name]) for one in parameters]
    )
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    alone.command(cls=Once, epilog=WORDS, context_settings=HELP)(run)
    command = typer.main.get_command(alone)
    assert isinstance(command, TyperCommand)
    return command


def _documented(documented: Any) -> tuple[str, dict[str, str]]:
    """Return a docstring without its list of arguments or attributes, examples first, and the text of each of these."""
    text = (inspect.getdoc(documented) or "").replace("[", r"\[")  # typer takes square brackets for markup
    listed = _LISTED.search(text)
    entries = _ENTRY.findall(listed[1]) if listed else []
    text, examples, of_examples = _LISTED.sub("", text).partition("\nExample")
    first, *more = text.strip().split("\n\n")
    shown = f"\n\nExample{of_examples}".rstrip() if examples else ""
    return "\n\n".join([first + shown, *more]), {name: " ".join(words.split()) for name, words in entries}


def _annotated(parameter: inspect.Parameter, text: str, panel: str | None) -> Any:
    """Return a parameter's type with all that typer shall know: what its annotation says already, text and panel."""
    kind = parameter.annotation
    given = [one for one in getattr(kind, "__metadata__", ()) if isinstance(one, ParameterInfo)]
    if given:
        kind, info = kind.__origin__, copy.copy(given[0])
    elif parameter.kind is not parameter.KEYWORD_ONLY:
        info = typer.Argument()
    else:  # a flag that is off has no --no-FLAG
        info = typer.Option(*([f"--{parameter.name.replace('_', '-')}"] if parameter.default is False else []))
    info.help, info.rich_help_panel = text, info.rich_help_panel or panel
    return Annotated[kind, info]


def numbers_of(text: str, option: str, words: Mapping[str, Any] = MappingProxyType({})) -> tuple[Any, ...]:
    """Return whole numbers from 1 to ``LARGEST`` that are separated by commas, each once.

    Args:
        text: Text that was typed.
        option: The option that it was typed after.
        words: Words that are accepted too, and their values.

    Raises:
        typer.BadParameter: If it is something else.
    """
    found = []
    for part in [part.strip() for part in text.split(",") if part.strip()] or [""]:
        if part in words:
            found.append(words[part])
        elif re.fullmatch("0{0,9}[1-9][0-9]{0,9}", part) and int(part) <= LARGEST:
            found.append(int(part))
        else:
            shown = text if len(text) <= 60 else f"{text[:60]}..."
            also = "".join(f" or '{word}'" for word in words)
            wanted = f"whole numbers from 1 to {LARGEST:,}{also}, separated by commas, such as 1,5,10."
            raise typer.BadParameter(f"it is '{shown}'; give {wanted}", param_hint=option)
    return each_once(found)


def names_typed(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return names that were typed in one or several lists, separated by commas, each once."""
    texts = [texts] if isinstance(texts, str) else texts or ()
    return each_once(name.strip() for text in texts for name in text.split(",") if name.strip())


def dataset_named(text: str) -> Dataset:
    """Return the name of a protocol that was typed after ``--dataset``, or that another name of its dataset means.

    Raises:
        typer.BadParameter: If there is none, or the name stands for several.
    """
    meant = datasets_called(text)
    if len(meant) == 1:
        return meant[0]
    if meant:
        what = f"'{text}' is scored in {len(meant)} ways; give one of {', '.join(meant)}."
    else:
        guess = did_you_mean(text, [*CATALOGUE_NAMES, *CATALOGUE_NAMES.values()])
        what = f"'{text}' is not one of {', '.join(CATALOGUE_NAMES)}{f'; {guess}' if guess else '.'}"
    raise typer.BadParameter(what, param_hint="--dataset")


def split_asked(text: str) -> Split:
    """Return the split that was typed after ``--split``; releases and papers call ``dev`` also ``val``.

    Raises:
        typer.BadParameter: If it is none.
    """
    known: tuple[Split, ...] = get_args(Split)
    for split in known:
        if split == split_named(text):
            return split
    raise typer.BadParameter(f"'{text}' is not one of {', '.join(map(repr, known))}.", param_hint="--split")


def named(text: str) -> tuple[str, str]:
    """Split ``NAME=FILE`` into both; the name of a file that holds an equals sign, or none, is empty."""
    name, equals, file = text.partition("=")
    return (name, file) if equals and not Path(text).exists() else ("", text)

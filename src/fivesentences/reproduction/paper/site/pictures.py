"""Pictures on the pages, and sheets of photographs and of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from fivesentences.documents import read_json
from fivesentences.errors import InputError
from fivesentences.reproduction.paper.tables.writing import read_texts


@dataclass(frozen=True)
class Picture:
    """A picture with the text below it.

    Attributes:
        path: An SVG, PNG or JPEG file below the folder of the page.
        title: Its heading.
        caption: One sentence or two.
        notes: Further sentences for a reader.
        links: (label, address) of its other forms.
        name: Its anchor on a page; empty for none.
        photographs: Whether it shows photographs, whose colours stay in dark mode.
    """

    path: Path
    title: str
    caption: str
    notes: Sequence[str] = ()
    links: Sequence[tuple[str, str]] = ()
    name: str = ""
    photographs: bool = False

    @property
    def narrow(self) -> Path | None:
        """The drawing for narrow screens beside it; None if there is none."""
        beside = self.path.with_suffix(".narrow.svg")
        return beside if not self.photographs and self.path.suffix == ".svg" and beside.is_file() else None


def addresses_in(folder: Path) -> Callable[[Path], str]:
    """Return what gives the address of a picture on a page in ``folder``, below which it must lie.

    Raises:
        InputError: If the file is missing.
    """

    def address(path: Path) -> str:
        if not path.is_file():
            raise InputError(f"{path}: there is no such picture.")
        return quote(path.relative_to(folder).as_posix())

    return address


def read_examples(path: Path) -> Picture:
    """Read the sheet as a picture for the page, from the ``.json`` beside it.

    Raises:
        InputError: If the file is missing.
    """
    shown = read_json(path, "make it again")
    caption = f"{shown['images']} of the {shown['of']} test images of {shown['dataset']}, each with its captions."
    title, name = f"What {shown['dataset']} looks like", f"examples-{path.stem}"
    return Picture(path.with_suffix(".png"), title, caption, name=name)


def read_features_sheet(path: Path) -> Picture:
    """Read the picture for the page, from the ``.json`` beside it.

    Raises:
        InputError: If the file is missing.
    """
    texts = read_texts(path)
    return Picture(path.with_suffix(".png"), texts.title, texts.caption, texts.notes, name=path.stem)

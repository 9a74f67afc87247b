"""What all figures share: type, lines and colours, places in inches, and the files a figure becomes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fivesentences.errors import InputError
from fivesentences.paper.kinds import Drawing
from fivesentences.storage import read_json, replacing, write_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

# Okabe and Ito's colours, dark enough for thin lines and text on white; told apart by the colour-blind.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#A0527F", "#B07D00", "#3A3A3A", "#2E8FC0")
FOREIGN, OWN = COLOURS[0], COLOURS[1]
SOFT = "#6b6b6b"
WIDTH = 7.4  # inches
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "pdf.fonttype": 42,
    "svg.hashsalt": "fivesentences",
}


def write_drawing(stem: Path | str, title: str, caption: str, drawing: Drawing) -> None:
    """Write ``stem`` with the suffixes .png (200 dpi), .pdf, .csv (what is drawn) and .json (its texts).

    Equal drawings give equal bytes: no date and no version is stored.

    Args:
        stem: Path without a suffix.
        title: Of the figure.
        caption: What it shows.
        drawing: Its numbers, notes and how it is drawn.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.figure import Figure

    stem = Path(stem)
    png, pdf, csv, json = (stem.with_name(f"{stem.name}.{suffix}") for suffix in ("png", "pdf", "csv", "json"))
    with matplotlib.rc_context(STYLE), replacing(png) as new_png, replacing(pdf) as new_pdf, replacing(csv) as new_csv:
        canvas = Figure(figsize=(WIDTH, 1.0))
        (drawing.draw or _nothing)(canvas)
        FigureCanvasAgg(canvas)
        canvas.savefig(new_png, format="png", dpi=200, metadata={"Software": None})
        FigureCanvasPdf(canvas)
        canvas.savefig(new_pdf, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None})
        drawing.data.to_csv(new_csv, index=False, lineterminator="\n")
    write_json(json, {"title": title, "caption": caption, "notes": list(drawing.notes)})


def read_texts(path: Path | str) -> tuple[str, str, list[str]]:
    """Title, caption and notes of a written figure, from its .json.

    Raises:
        InputError: If the file is missing or holds something else.
    """
    texts = read_json(path)
    try:
        return str(texts["title"]), str(texts["caption"]), [str(note) for note in texts["notes"]]
    except (KeyError, TypeError):
        raise InputError(f"{path}: these are not the texts of a figure; draw it again.") from None


def _nothing(canvas: Canvas) -> None:
    canvas.text(0.5, 0.5, "Nothing of this figure is made at this scale.", ha="center", va="center")


def panel_at(canvas: Canvas, left: float, top: float, width: float, height: float) -> Any:
    """Axes at a place in inches from the canvas's upper left corner."""
    across, down = canvas.get_size_inches()
    return canvas.add_axes((left / across, 1 - (top + height) / down, width / across, height / down))


def text_at(canvas: Canvas, left: float, top: float, text: str, **how: Any) -> Any:
    """Text whose upper left corner is at a place in inches; a dollar sign is a dollar sign."""
    across, down = canvas.get_size_inches()
    style: Any = {"va": "top", "ha": "left", "parse_math": False} | how
    return canvas.text(left / across, 1 - top / down, text, **style)


def key(canvas: Canvas, left: float, top: float, entries: Sequence[tuple[str, str, str]], apart: float = 0.16) -> None:
    """What signs mean: (sign, its colour, text), one below the other."""
    for index, (sign, colour, text) in enumerate(entries):
        text_at(canvas, left, top + index * apart, sign, color=colour, fontsize=8)
        text_at(canvas, left + 0.16, top + index * apart, text, fontsize=7.5)

"""Text that LaTeX prints as it stands; apart from the tables' other forms, since it needs no jinja2."""

from __future__ import annotations

from fivesentences.paper.tables.table import MINUS

# What LaTeX would read as a command, and signs that plain pdflatex does not know.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\rightarrow$", "φ": r"$\varphi$",
    "τ": r"$\tau$", MINUS: "$-$", "·": r"$\cdot$", "×": r"$\times$", "–": "--", "“": "``", "”": "''", "’": "'",
    "†": r"$\dagger$", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(letter, letter) for letter in text)

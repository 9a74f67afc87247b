"""Text for LaTeX; a module of its own because it needs no jinja2."""

from __future__ import annotations

from fivesentences.paper.text.numbers import MINUS

# Characters that LaTeX would read as a command, or that plain pdflatex does not know.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\rightarrow$", "φ": r"$\varphi$",
    "τ": r"$\tau$", MINUS: "$-$", "·": r"$\cdot$", "×": r"$\times$", "–": "--", "“": "``", "”": "''", "’": "'",
    "†": r"$\dagger$", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text with everything escaped that LaTeX would not print as it is."""
    return "".join(_LATEX.get(letter, letter) for letter in text)

"""Text and tables for LaTeX, without jinja2."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

# Characters that LaTeX would read as a command, or that plain pdflatex does not know.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "→": r"$\rightarrow$", "φ": r"$\varphi$",
    "τ": r"$\tau$", "\N{MINUS SIGN}": "$-$", "·": r"$\cdot$", "×": r"$\times$", "–": "--", "“": "``", "”": "''",
    "’": "'", "†": r"$\dagger$", "<": r"\textless{}", ">": r"\textgreater{}",
}  # fmt: skip


def escape_latex(text: str) -> str:
    """Text with everything escaped that LaTeX would not print as it is."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def tabular(
    stub: Sequence[str],
    columns: Sequence[tuple[str, str]],
    rows: Sequence[Sequence[str]],
    title: str = "",
    notes: Sequence[str] = (),
) -> str:
    """A ``tabular`` for a document that loads booktabs.

    Args:
        stub: Headings of the columns that say what a row is.
        columns: Group (may be empty) and heading of each further column.
        rows: Cells of each row, stub first, as LaTeX.
        title: A comment above it.
        notes: Comments below it.
    """
    lines = [r"% needs \usepackage{booktabs}"]
    lines += [f"% {' '.join(title.split())}"] if title else []
    lines += [rf"\begin{{tabular}}{{@{{}}{'l' * len(stub)}{'r' * len(columns)}@{{}}}}", r"\toprule"]
    if any(group for group, _ in columns):
        cells, rules, start = [""] * len(stub), [], len(stub) + 1
        for group, same in itertools.groupby(group for group, _ in columns):
            width = len(list(same))
            end = start + width - 1
            cells.append(rf"\multicolumn{{{width}}}{{c}}{{{escape_latex(group)}}}" if group else "")
            rules += [rf"\cmidrule(lr){{{start}-{end}}}"] if group else []
            start = end + 1
        lines.append(" & ".join(cells) + r" \\ " + "".join(rules))
    lines.append(" & ".join(map(escape_latex, [*stub, *(name for _, name in columns)])) + r" \\")
    lines.append(r"\midrule")
    lines += [" & ".join(row) + r" \\" for row in rows]
    lines += [r"\bottomrule", r"\end{tabular}", *(f"% {' '.join(note.split())}" for note in notes)]
    return "\n".join(lines) + "\n"

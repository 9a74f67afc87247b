"""Text for LaTeX."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

# Characters that LaTeX would read as a command, or that plain pdflatex does not know.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "\N{NO-BREAK SPACE}": "~", "\N{THIN SPACE}": r"\,", "\N{NARROW NO-BREAK SPACE}": r"\,",
    "\N{MINUS SIGN}": "$-$", "±": r"$\pm$", "·": r"$\cdot$", "×": r"$\times$", "÷": r"$\div$", "√": r"$\surd$",
    "\N{FRACTION SLASH}": "/", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "≈": r"$\approx$", "∞": r"$\infty$",
    "∈": r"$\in$", "∑": r"$\sum$", "∆": r"$\Delta$", "°": r"$^{\circ}$", "‖": r"$\Vert$", "•": r"$\bullet$",
    "→": r"$\rightarrow$", "←": r"$\leftarrow$", "↔": r"$\leftrightarrow$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
    "φ": r"$\varphi$", "ϕ": r"$\phi$", "ε": r"$\varepsilon$", "ϵ": r"$\epsilon$", "µ": r"$\mu$", "ς": r"$\varsigma$",
    "ο": "o", "–": "--", "—": "---", "‑": "-", "‐": "-", "“": "``", "”": "''", "„": ",,", "‘": "`", "’": "'",
    "…": r"\ldots{}", "†": r"$\dagger$", "‡": r"$\ddagger$", "§": r"\S{}", "ß": r"\ss{}", "æ": r"\ae{}",
    "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
}  # fmt: skip
# Accents that LaTeX's own fonts have, by their combining characters.
_ACCENTS = {
    "\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": ".",
    "\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c",
}  # fmt: skip
_SCRIPTS = {"<sub>": "subscript", "<super>": "superscript"}
_GREEK = re.compile("GREEK (SMALL|CAPITAL) LETTER ([A-Z]+)")
_LATIN = re.compile("LATIN (SMALL|CAPITAL) LETTER ([A-Z])( WITH .*)?")
_LOOK_LATIN = dict(zip("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX", strict=True))  # capitals that LaTeX has no command for


def escape_latex(text: str) -> str:
    """Write text as LaTeX prints it: in ASCII, without a command, for any engine and any packages.

    Line breaks and other white space become single spaces. A letter with an accent that LaTeX's own fonts lack loses
    it; a character of another alphabet is printed as its code point, such as U+4E2D.
    """
    words = re.sub(r"[ \t-\r]+", " ", unicodedata.normalize("NFC", text))
    # Two hyphens would become a dash.
    return "{}".join("".join(map(_escaped, part)) for part in re.split(r"(?<=-)(?=-)", words))


def latex_row(cells: Sequence[str]) -> str:
    r"""Make a line of a ``tabular`` from cells in LaTeX; the ``\\`` above it takes no ``[`` or ``*`` as its option."""
    first, *others = cells
    return " & ".join([f"{{{first[0]}}}{first[1:]}" if first[:1] in ("[", "*") else first, *others]) + r" \\"


def _escaped(letter: str) -> str:
    """Return one character; see ``escape_latex``."""
    if letter in _LATEX:
        return _LATEX[letter]
    if letter.isascii():
        return letter if letter.isprintable() else ""
    if unicodedata.category(letter) in ("Mn", "Cf", "Cc"):
        return ""  # an accent without a letter, or something that nobody sees
    parts = unicodedata.decomposition(letter).split()
    if parts and parts[0].startswith("<"):  # ₁, ², ﬁ, ½, ...
        plain = "".join(_escaped(chr(int(code, 16))) for code in parts[1:])
        return rf"\text{_SCRIPTS[parts[0]]}{{{plain}}}" if parts[0] in _SCRIPTS else plain
    if len(parts) == 2 and (accent := _ACCENTS.get(chr(int(parts[1], 16)))) and int(parts[0], 16) < 128:
        base = chr(int(parts[0], 16))
        dotless = "\\" if base in "ij" and accent not in "dc" else ""
        return rf"\{accent}{{{dotless}{base}}}"
    name = unicodedata.name(letter, "")
    if "Α" <= letter <= "ω" and (greek := _GREEK.fullmatch(name)):
        command = greek[2].replace("LAMDA", "LAMBDA")
        return _LOOK_LATIN.get(letter) or rf"$\{command.lower() if greek[1] == 'SMALL' else command.capitalize()}$"
    if latin := _LATIN.fullmatch(name):
        return latin[2].lower() if latin[1] == "SMALL" else latin[2]
    return f"U+{ord(letter):04X}"

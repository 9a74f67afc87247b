"""SVG of matplotlib's made small: text as text with the glyphs in use embedded, and short numbers."""

from __future__ import annotations

import base64
import io
import re
from html import unescape

from fontTools import subset
from matplotlib import font_manager

FAMILY = "Source Sans 3"
# Text between tags, numbers with more digits than anybody sees, and the white space with which matplotlib indents.
TEXT, LONG, SPACE = re.compile(r"(<text[^>]*>)([^<]*)<"), re.compile(r"(\d\.\d\d)\d+"), re.compile(r"\s*\n\s*")
UNSEEN = re.compile(r"^.*?(?=<svg\b)|<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)  # XML needs none of it
DATA = re.compile(r'(?<=["(])data:[^")]*')
ZEROS, LEVEL = re.compile(r"(\.\d*?[1-9])0+\b|\.0+\b"), re.compile(r' transform="rotate\(-?0 [^"]*"')
PATH, COMMAND, GROUP = (
    re.compile(r'(?<= d=")[^"]*'),
    re.compile(r"([A-Za-z])([^A-Za-z]*)"),
    re.compile(r"(</?g\b[^>]*>)"),
)
STYLE, ID, REFERENCE = (
    re.compile(r' style="([^"]*)"'),
    re.compile(r' id="([^"]*)"'),
    re.compile(r'(?:"|\()#([\w.-]+)[")]'),
)
WORDS = re.compile(r"(?<=>)[^<>]+(?=</text>)")
BOLD = re.compile(r"font-weight: (?:bold|[6-9]00)|font: (?:bold|[6-9]00)")


def slim(svg: str) -> str:
    """Return a figure whose text is text (``svg.fonttype: none``) with its typeface, in fewer bytes.

    A picture on a page loads no fonts, so that the glyphs in use are part of the file; where a sign is missing in the
    typeface, the reader's sans serif stands in.
    """
    untouched: list[str] = []  # numbers in an embedded picture, or in words, are left alone

    def kept(match: re.Match[str]) -> str:
        untouched.append(match[0])
        return f"\0{len(untouched) - 1}\0"

    svg = DATA.sub(kept, UNSEEN.sub("", svg))
    used = {"normal": "", "bold": ""}
    for tag, text in TEXT.findall(svg):
        used["bold" if BOLD.search(tag) else "normal"] += unescape(text)
    if any(used.values()):
        faces = "".join(_face(weight, text) for weight, text in used.items() if text)
        svg = svg.replace("'DejaVu Sans'", "sans-serif").replace("</style>", f"{faces}</style>", 1)
    svg = _shortened(WORDS.sub(kept, svg))
    svg = SPACE.sub(" ", ZEROS.sub(r"\1", LONG.sub(r"\1", svg))).replace("> <", "><")
    svg = _without_bare_groups(PATH.sub(_terse, LEVEL.sub("", svg)))
    return re.sub("\0(\\d+)\0", lambda match: untouched[int(match[1])], svg) + "\n"


def _shortened(svg: str) -> str:
    """Name each style once, and drop or shorten ids: matplotlib repeats the first and gives every group one."""
    styles: dict[str, str] = {}
    svg = STYLE.sub(lambda match: f' class="{styles.setdefault(match[1], f"s{len(styles)}")}"', svg)
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    svg = svg.replace("</style>", f"{rules}</style>", 1)  # before ids: a hatch is one that a style refers to
    ids = set(ID.findall(svg))  # what else a # begins is a colour
    names = {one: f"i{place}" for place, one in enumerate(dict.fromkeys(REFERENCE.findall(svg))) if one in ids}
    svg = ID.sub(lambda match: f' id="{names[match[1]]}"' if match[1] in names else "", svg)
    return re.sub(r"#([\w.-]+)(?=[\")])", lambda match: f"#{names.get(match[1], match[1])}", svg)


def _terse(path: re.Match[str]) -> str:
    """Leave out of a path what SVG takes for granted: a repeated command, and a line after a move."""
    parts, last = [], ""
    for command, numbers in COMMAND.findall(path[0]):
        implied = command == last != "M" or last + command == "ML"
        parts.append((" " if implied else command) + numbers.strip())
        last = command
    return "".join(parts)


def _without_bare_groups(svg: str) -> str:
    """Remove groups that are empty or have no attribute."""
    parts: list[str] = []
    bare: list[bool] = []
    for part in GROUP.split(svg):
        if part == "</g>":
            part = "" if bare.pop() else part
        elif part.startswith("<g") and not part.endswith("/>"):
            bare.append(part == "<g>")
            part = "" if bare[-1] else part
        parts.append("" if part == "<g/>" else part)
    return "".join(parts)


def _face(weight: str, used: str) -> str:
    """Return the rule that brings the glyphs of some characters in one weight."""
    file = font_manager.findfont(font_manager.FontProperties(family=FAMILY, weight=weight))
    options = subset.Options(flavor="woff", layout_features=[], name_IDs=[], hinting=False)
    font = subset.load_font(file, options)
    chosen = subset.Subsetter(options)
    chosen.populate(text=used)
    chosen.subset(font)
    packed = io.BytesIO()
    subset.save_font(font, packed, options)
    address = "data:font/woff;base64," + base64.b64encode(packed.getvalue()).decode("ascii")
    return f"@font-face{{font-family:'{FAMILY}';font-weight:{weight};src:url({address})}}"

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
COMMENT, DATA, EMPTY = re.compile(r"<!--.*?-->", re.DOTALL), re.compile(r'(?<=["(])data:[^")]*'), re.compile(r"\.00\b")
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

    svg = DATA.sub(kept, COMMENT.sub("", svg))
    used = {"normal": "", "bold": ""}
    for tag, text in TEXT.findall(svg):
        used["bold" if BOLD.search(tag) else "normal"] += unescape(text)
    if any(used.values()):
        faces = "".join(_face(weight, text) for weight, text in used.items() if text)
        svg = svg.replace("'DejaVu Sans'", "sans-serif").replace("</style>", f"{faces}</style>", 1)
    svg = _shortened(WORDS.sub(kept, svg))
    svg = SPACE.sub(" ", EMPTY.sub("", LONG.sub(r"\1", svg))).replace("> <", "><")
    return re.sub("\0(\\d+)\0", lambda match: untouched[int(match[1])], svg) + "\n"


def _shortened(svg: str) -> str:
    """Name each style once, and drop or shorten ids: matplotlib repeats the first and gives every group one."""
    styles: dict[str, str] = {}
    svg = STYLE.sub(lambda match: f' class="{styles.setdefault(match[1], f"s{len(styles)}")}"', svg)
    rules = "".join(f".{name}{{{style}}}" for style, name in styles.items())
    names = {one: f"i{place}" for place, one in enumerate(dict.fromkeys(REFERENCE.findall(svg)))}
    svg = ID.sub(lambda match: f' id="{names[match[1]]}"' if match[1] in names else "", svg)
    svg = re.sub(r"#([\w.-]+)(?=[\")])", lambda match: f"#{names.get(match[1], match[1])}", svg)
    return svg.replace("</style>", f"{rules}</style>", 1)


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

"""Bytes of a photograph to 8-bit RGB pixels: the one place where every feature, figure and preview gets its picture."""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
from collections import Counter

import numpy as np
from PIL import Image, UnidentifiedImageError

from fivesentences.errors import InputError

VERSION = 2  # of the pixels; features that were made of other pixels are not continued
# For some formats (EPS) Pillow starts other programs; photographs need none of those.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
MOST_PIXELS = 100_000_000  # per photograph; anything larger is considered a decompression bomb
MOST_ELONGATED = 200  # longer side over shorter; networks enlarge the shorter side to some 256 pixels

# What may be done to a photograph besides decoding it, in words that follow a number of photographs.
UPRIGHT = "turned upright by the EXIF orientation"
ON_WHITE = "with transparency, put on white"
SCALED = "scaled from 16 bits to 8"
FIRST_FRAME = "with several frames or pages, of which the first is used"

_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_TIFF_BITS, _TIFF_PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0
_WRONG = (OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, ArithmeticError, struct.error)
_SAVE = "save the photograph as 8-bit JPEG or PNG"


def decode(data: bytes, where: str, treated: Counter[str] | None = None) -> Image.Image:
    """Decode a photograph completely, as upright 8-bit RGB.

    The pixels of 8-bit images without transparency and orientation are those that Pillow's ``convert("RGB")`` gives.
    Otherwise:

    - An EXIF (or XMP) orientation is applied.
    - Transparent pixels are blended with white, whatever carries the transparency: an alpha channel, a palette, or a
      colour declared transparent.
    - Grey values of 16 bits are scaled so that 65,535 becomes 255, and rounded (12-bit TIFF: 4,095). Of 16-bit colours
      Pillow keeps the upper byte, which differs from that by at most 1.
    - Of several frames or pages the first is decoded.

    Args:
        data: Bytes of a JPEG, PNG, WebP, BMP, GIF, TIFF or PPM/PGM file.
        where: What to call the photograph in an error.
        treated: Counts the photographs that were turned upright, put on white, scaled from 16 bits, or of which the
            first frame was taken; its keys are sentences. Default: nothing is counted.

    Raises:
        InputError: If the bytes are not such an image or are truncated, the image has more than 100 million pixels or
            is extremely elongated, or its values are floating-point, signed or 32-bit numbers: white is unknown there.
    """
    treated = Counter() if treated is None else treated
    image = _open(data, where)
    try:
        before = _orientation(image)
        image.load()
        orientation = _orientation(image)  # of a TIFF, Pillow has applied and removed it
        if getattr(image, "is_animated", False) and image.format != "MPO":  # of which phones make their JPEGs
            treated[FIRST_FRAME] += 1
        if before in _TURNS or orientation in _TURNS:
            treated[UPRIGHT] += 1
        image = _of_8_bits(image, where, treated)
        image = _on_white(image, treated) if image.has_transparency_data else image.convert("RGB")
        return image.transpose(_TURNS[orientation]) if orientation in _TURNS else image
    except InputError:
        raise
    except _WRONG as error:
        raise _undecodable(data, where, str(error)) from None


def words_of(treated: Counter[str]) -> str:
    """What was done to how many photographs, such as ``3 scaled from 16 bits to 8``; empty if nothing was."""
    known = (UPRIGHT, ON_WHITE, SCALED, FIRST_FRAME)
    return "; ".join(f"{treated[what]:,} {what}" for what in known if treated[what])


def _open(data: bytes, where: str) -> Image.Image:
    """The image, not yet decoded, after what its header says has been checked."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image = Image.open(io.BytesIO(data), formats=FORMATS)
    except Image.DecompressionBombError:
        raise InputError(f"{where}: more than {MOST_PIXELS} pixels; the image is refused.") from None
    except UnidentifiedImageError:
        raise _unidentified(data, where) from None
    except _WRONG as error:
        raise _undecodable(data, where, str(error)) from None
    width, height = image.size
    if width * height > MOST_PIXELS:
        raise InputError(f"{where}: {width} x {height} pixels are more than {MOST_PIXELS}; the image is refused.")
    if max(image.size) > MOST_ELONGATED * min(image.size):
        raise InputError(
            f"{where}: of {width} x {height} pixels one side is more than {MOST_ELONGATED} times the other; "
            "the image is refused."
        )
    return image


def _unidentified(data: bytes, where: str) -> InputError:
    """Why Pillow does not know the format, where the first bytes tell."""
    if data[4:8] == b"ftyp":
        return InputError("is HEIC, AVIF or a video, whatever it is named, which is not read", where=where, cure=_SAVE)
    if data[:4] in (b"II*\0", b"MM\0*"):
        return InputError(
            "cannot be decoded (a TIFF of a kind that is not read, such as floating-point colours)",
            where=where,
            cure=_SAVE,
        )
    return _undecodable(data, where, "not an image" if data else "not an image but an empty file")


def _undecodable(data: bytes, where: str, reason: str) -> InputError:
    first = reason.split("\n")[0].rstrip(". ")[:200] or "damaged"
    return InputError(f"{where} cannot be decoded ({first}, {len(data)} bytes); fetch it again.")


def _orientation(image: Image.Image) -> int:
    """The orientation tag, 1 to 8; 1 where there is none or its block is damaged, as other programs take it."""
    with contextlib.suppress(*_WRONG), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = image.getexif().get(_ORIENTATION)
        return value if isinstance(value, int) and value in _TURNS else 1
    return 1


def _of_8_bits(image: Image.Image, where: str, treated: Counter[str]) -> Image.Image:
    """The image with values of 8 bits; Pillow's ``convert`` would make everything above 255 white."""
    if image.mode == "F":
        raise InputError(
            "holds floating-point values, and which of them is white is unknown",
            where=where,
            cure=f"scale them to 0..255 and {_SAVE}",
        )
    tags = getattr(image, "tag_v2", {})
    if image.mode == "I" and image.format != "PPM":  # Pillow has scaled what a PGM holds to 65,535
        raise InputError(
            "holds signed or 32-bit integers, and which of them is white is unknown",
            where=where,
            cure=f"scale them to 0..255 and {_SAVE}",
        )
    if image.mode != "I" and not image.mode.startswith("I;16"):
        return image
    treated[SCALED] += 1
    values = np.asarray(image).astype(np.uint32)
    white = 4095 if tags.get(_TIFF_BITS, (16,))[0] == 12 else 65535
    grey = ((510 * values + white) // (2 * white)).astype(np.uint8)
    if tags.get(_TIFF_PHOTOMETRIC) == _WHITE_IS_ZERO:
        grey = 255 - grey
    scaled = Image.fromarray(grey)
    clear = image.info.get("transparency")
    if isinstance(clear, int):
        scaled.putalpha(Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8)))
    return scaled


def _on_white(image: Image.Image, treated: Counter[str]) -> Image.Image:
    """The image as RGB, blended with white where it is transparent."""
    opaque = image.convert("RGBA")
    if opaque.getchannel("A").getextrema() == (255, 255):
        return image.convert("RGB")
    treated[ON_WHITE] += 1
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), opaque).convert("RGB")

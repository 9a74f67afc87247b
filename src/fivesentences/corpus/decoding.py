"""Bytes of a photograph to 8-bit RGB pixels: the one place where every feature, figure and preview gets its picture."""

from __future__ import annotations

import contextlib
import io
import struct
import warnings

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError

from fivesentences.errors import InputError, reason_of

VERSION = 2  # of the pixels; features that were made of other pixels are not continued
# For some formats (EPS) Pillow starts other programs; photographs need none of those.
FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
MOST_PIXELS = 100_000_000  # per photograph; anything larger is considered a decompression bomb
MOST_ELONGATED = 200  # longer side over shorter; networks enlarge the shorter side to some 256 pixels

_TIFF_BITS, _TIFF_PHOTOMETRIC, _WHITE_IS_ZERO = 258, 262, 0
_WRONG = (OSError, SyntaxError, ValueError, EOFError, LookupError, TypeError, ArithmeticError, struct.error)
_SAVE = "save the photograph as 8-bit JPEG or PNG"


def decode(data: bytes, where: str) -> Image.Image:
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
        where: Name of the photograph in an error.

    Raises:
        InputError: If the bytes are not such an image or are truncated, the image has more than 100 million pixels or
            is extremely elongated, or its values are floating-point, signed or 32-bit numbers: white is unknown there.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
            width, height = image.size
            if width * height > MOST_PIXELS or max(image.size) > MOST_ELONGATED * min(image.size):
                limits = f"more than {MOST_PIXELS:,}, or one side is more than {MOST_ELONGATED} times the other"
                raise InputError(f"{width} x {height} pixels are {limits}; the image is refused.", where=where)
            image.load()
            with contextlib.suppress(*_WRONG):  # a damaged block of EXIF is passed over, as by other programs
                ImageOps.exif_transpose(image, in_place=True)
            image = _of_8_bits(image, where)
            return _on_white(image) if image.has_transparency_data else image.convert("RGB")
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise InputError(f"more than {MOST_PIXELS:,} pixels; the image is refused.", where=where) from None
    except _WRONG as error:
        unknown = isinstance(error, UnidentifiedImageError)
        reason = f"not one of {', '.join(FORMATS)}" if unknown else reason_of(error)
        what = f"cannot be decoded ({reason}, {len(data)} bytes)"
        raise InputError(what, where=where, cure=f"fetch it again, or {_SAVE}") from None


def _of_8_bits(image: Image.Image, where: str) -> Image.Image:
    """Scale values to 8 bits; Pillow's ``convert`` would make everything above 255 white."""
    # What a PGM holds, Pillow has scaled to 65,535.
    if image.mode == "F" or (image.mode == "I" and image.format != "PPM"):
        what = "holds floating-point, signed or 32-bit numbers, and which of them is white is unknown"
        raise InputError(what, where=where, cure=f"scale them to 0..255 and {_SAVE}")
    if image.mode != "I" and not image.mode.startswith("I;16"):
        return image
    tags = getattr(image, "tag_v2", {})
    values = np.asarray(image).astype(np.uint32)
    white = 4095 if tags.get(_TIFF_BITS, (16,))[0] == 12 else 65535
    grey = ((510 * values + white) // (2 * white)).astype(np.uint8)
    scaled = Image.fromarray(255 - grey if tags.get(_TIFF_PHOTOMETRIC) == _WHITE_IS_ZERO else grey)
    if isinstance(clear := image.info.get("transparency"), int):
        scaled.putalpha(Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8)))
    return scaled


def _on_white(image: Image.Image) -> Image.Image:
    """Convert to RGB, blended with white where the image is transparent."""
    layered = image.convert("RGBA")
    if layered.getchannel("A").getextrema() == (255, 255):
        return image.convert("RGB")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), layered).convert("RGB")

"""Bytes of a photograph to 8-bit RGB pixels: the one place where every feature, figure and preview gets its picture."""

from __future__ import annotations

import contextlib
import io
import struct
import warnings
from collections import Counter

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

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
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            image: Image.Image = Image.open(io.BytesIO(data), formats=FORMATS)
            _check_size(image.size, where)
            turned = _orientation(image) != 1
            image.load()
            if getattr(image, "is_animated", False) and image.format != "MPO":  # of which phones make their JPEGs
                treated[FIRST_FRAME] += 1
            if turned:
                treated[UPRIGHT] += 1
                with contextlib.suppress(*_WRONG):  # a damaged block of EXIF is passed over, as by other programs
                    ImageOps.exif_transpose(image, in_place=True)
            image = _of_8_bits(image, where, treated)
            return _on_white(image, treated) if image.has_transparency_data else image.convert("RGB")
    except InputError:
        raise
    except Image.DecompressionBombError:
        raise InputError(f"more than {MOST_PIXELS:,} pixels; the image is refused.", where=where) from None
    except _WRONG as error:
        unknown = isinstance(error, UnidentifiedImageError)
        reason = f"not one of {', '.join(FORMATS)}" if unknown else str(error).split("\n")[0].rstrip(". ")[:200]
        what = f"cannot be decoded ({reason or 'damaged'}, {len(data)} bytes)"
        raise InputError(what, where=where, cure=f"fetch it again, or {_SAVE}") from None


def words_of(treated: Counter[str]) -> str:
    """Say what was done to how many photographs, such as ``3 scaled from 16 bits to 8``; empty if nothing was."""
    known = (UPRIGHT, ON_WHITE, SCALED, FIRST_FRAME)
    return "; ".join(f"{treated[what]:,} {what}" for what in known if treated[what])


def _check_size(size: tuple[int, int], where: str) -> None:
    if size[0] * size[1] > MOST_PIXELS or max(size) > MOST_ELONGATED * min(size):
        raise InputError(
            f"{size[0]} x {size[1]} pixels are more than {MOST_PIXELS:,}, or one side is more than {MOST_ELONGATED} "
            "times the other; the image is refused.",
            where=where,
        )


def _orientation(image: Image.Image) -> int:
    """Return the orientation tag, 1 to 8; 1 where there is none or its block is damaged."""
    with contextlib.suppress(*_WRONG):
        value: object = image.getexif().get(ExifTags.Base.Orientation)
        return value if isinstance(value, int) and 2 <= value <= 8 else 1
    return 1


def _of_8_bits(image: Image.Image, where: str, treated: Counter[str]) -> Image.Image:
    """Scale values to 8 bits; Pillow's ``convert`` would make everything above 255 white."""
    # What a PGM holds, Pillow has scaled to 65,535.
    if image.mode == "F" or (image.mode == "I" and image.format != "PPM"):
        raise InputError(
            "holds floating-point, signed or 32-bit numbers, and which of them is white is unknown",
            where=where,
            cure=f"scale them to 0..255 and {_SAVE}",
        )
    tags = getattr(image, "tag_v2", {})
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
    """Convert to RGB, blended with white where the image is transparent."""
    opaque = image.convert("RGBA")
    if opaque.getchannel("A").getextrema() == (255, 255):
        return image.convert("RGB")
    treated[ON_WHITE] += 1
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), opaque).convert("RGB")

"""Photographs become the pixels that a viewer shows: upright, on white, of 8 bits, or are refused in a sentence."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from PIL import Image, ImageOps

from fivesentences.corpus import Photographs, decode
from fivesentences.errors import InputError

RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (30, 40, 3), dtype=np.uint8)
ALPHA = RNG.integers(0, 256, (30, 40), dtype=np.uint8)
GREY = RNG.integers(0, 65536, (30, 40)).astype(np.uint16)
PICTURE = Image.fromarray(COLOURS)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(decode(data, "x")).astype(int)


def by_pillow(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def tiff(values: np.ndarray, bits: int, photometric: int = 1, sample_format: int = 1) -> bytes:
    """A grey TIFF, written by hand, since Pillow writes only some kinds."""
    raw, (height, width) = values.tobytes(), values.shape
    tags = {256: width, 257: height, 258: bits, 259: 1, 262: photometric, 273: 8, 277: 1, 278: height, 279: len(raw)}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in (tags | {339: sample_format}).items())
    return b"II*\0" + struct.pack("<I", 8 + len(raw)) + raw + struct.pack("<H", len(tags) + 1) + entries + bytes(4)


@pytest.mark.parametrize(
    "data",
    [
        encoded(Image.fromarray(GREY), "PNG"),
        encoded(Image.fromarray(GREY), "TIFF", compression="tiff_lzw"),
        encoded(Image.fromarray(GREY), "PPM"),
        encoded(Image.frombytes("I;16B", (40, 30), GREY.astype(">u2").tobytes()), "TIFF"),
    ],
    ids=["png", "lzw", "pgm", "big-endian tiff"],
)
def test_grey_of_16_bits_is_scaled_so_that_65535_is_white(data):
    np.testing.assert_array_equal(pixels(data), np.round(GREY / 257)[..., None].repeat(3, axis=2))


def test_12_bits_and_negatives_of_16_bits_are_scaled_by_what_the_tiff_says():
    np.testing.assert_array_equal(pixels(tiff(GREY, 16, photometric=0))[..., 0], 255 - np.round(GREY / 257))
    packed = bytes([0x00, 0x0F, 0xFF] * 20)  # 0 and 4095, alternating
    width = [struct.pack("<HHII", 256, 4, 1, length) for length in (60, 40)]
    assert set(pixels(tiff(np.frombuffer(packed, np.uint8).reshape(1, 60), 12).replace(*width)).ravel()) == {0, 255}


@pytest.mark.parametrize(
    "data",
    [
        tiff(GREY, 16, sample_format=2),
        b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 1 1\n",
        encoded(PICTURE, "PNG")[:500],
    ],
    ids=["signed", "eps", "cut png"],
)
def test_what_is_no_8_bit_photograph_is_refused_with_the_cure(data):
    with pytest.raises(InputError, match=r"^x\.tif: .*save the photograph as 8-bit JPEG or PNG\.$"):
        decode(data, "x.tif")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_the_exif_orientation_is_applied_as_pillow_does(kind):
    for orientation in (1, 3, 6, 7, *((0, 9) if kind == "JPEG" else ())):  # the last two do not exist
        exif = Image.Exif()
        exif[0x112] = orientation
        for options in ({}, {"compression": "tiff_lzw"}) if kind == "TIFF" else ({},):
            data = encoded(PICTURE, kind, exif=exif, **options)
            upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
            np.testing.assert_array_equal(pixels(data), np.asarray(upright))


def blended(values: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    share = alpha[..., None] / 255
    return np.round(values * share + 255 * (1 - share))


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_transparency_is_blended_with_white(kind):
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    data = encoded(Image.fromarray(np.dstack([COLOURS, ALPHA])), kind, **options)
    np.testing.assert_array_equal(pixels(data), blended(COLOURS, ALPHA))
    grey = encoded(Image.fromarray(np.dstack([COLOURS[..., 0], ALPHA])), "PNG")
    np.testing.assert_array_equal(pixels(grey), blended(COLOURS[..., :1].repeat(3, axis=2), ALPHA))


def test_a_transparent_colour_becomes_white_and_the_others_stay():
    indexed = PICTURE.quantize(16)
    clear, plain = np.asarray(indexed) == 3, np.asarray(indexed.convert("RGB"))
    for kind in ("PNG", "GIF"):
        found = pixels(encoded(indexed, kind, transparency=3))
        assert (found[clear] == 255).all() and (found[~clear] == plain[~clear]).all()
    for image, colour in (
        (Image.fromarray(COLOURS[..., 0]), int(COLOURS[0, 0, 0])),
        (Image.fromarray(GREY), int(GREY[0, 0])),
        (PICTURE, tuple(COLOURS[0, 0].tolist())),
    ):
        assert (pixels(encoded(image, "PNG", transparency=colour))[0, 0] == 255).all()


FRAMES = [Image.fromarray(np.roll(COLOURS, shift, axis=0)) for shift in (0, 5, 9)]


@pytest.mark.parametrize(
    "data",
    [
        *(encoded(PICTURE.convert(mode), "JPEG") for mode in ("RGB", "L", "CMYK")),
        *(encoded(FRAMES[0], kind, save_all=True, append_images=FRAMES[1:]) for kind in ("GIF", "PNG", "WEBP", "TIFF")),
        encoded(Image.fromarray(np.dstack([COLOURS, np.full_like(ALPHA, 255)])), "PNG"),
        encoded(Image.new("RGB", (1, 1)), "PNG"),
    ],
)
def test_other_pixels_are_pillows_bit_by_bit_and_of_several_frames_those_of_the_first(data):
    np.testing.assert_array_equal(pixels(data), by_pillow(data))


def test_damaged_bytes_end_in_one_sentence_or_an_image():
    files = [encoded(PICTURE, kind) for kind in ("JPEG", "PNG", "WEBP")]
    files += [encoded(FRAMES[0], "GIF", save_all=True, append_images=FRAMES[1:])]
    files += [encoded(Image.fromarray(GREY), kind) for kind in ("TIFF", "PPM")]
    rng, refused = np.random.default_rng(1), 0
    for number in range(300):
        data = bytearray(files[number % len(files)])
        for _ in range(3):
            data[rng.integers(0, min(len(data), 300))] = rng.integers(0, 256)
        try:
            assert decode(bytes(data), "x").mode == "RGB"
        except InputError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) < 400
    assert 25 < refused < 300


@pytest.mark.data
def test_flickr8k_photographs_have_the_pixels_that_pillow_gives(mirror):
    photographs = Photographs(mirror / "flickr8k" / "Flickr8k_Dataset.zip")
    assert len(photographs) == 8091
    for name in photographs.names()[::500]:
        np.testing.assert_array_equal(pixels(photographs.read(name)), by_pillow(photographs.read(name)))

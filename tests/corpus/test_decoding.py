"""Photographs become the pixels that a viewer shows: upright, on white, of 8 bits, or are refused in a sentence."""

from __future__ import annotations

import io
import struct
from collections import Counter

import numpy as np
import pytest
from PIL import Image, ImageOps

from fivesentences.corpus import Photographs, decode
from fivesentences.corpus.decoding import FIRST_FRAME, ON_WHITE, SCALED, UPRIGHT, words_of
from fivesentences.errors import InputError

RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (30, 40, 3), dtype=np.uint8)
ALPHA = RNG.integers(0, 256, (30, 40), dtype=np.uint8)
GREY = RNG.integers(0, 65536, (30, 40)).astype(np.uint16)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def pixels(data: bytes, treated: Counter[str] | None = None) -> np.ndarray:
    return np.asarray(decode(data, "x", treated)).astype(int)


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
        encoded(Image.fromarray(GREY), "TIFF"),
        encoded(Image.fromarray(GREY), "TIFF", compression="tiff_lzw"),
        encoded(Image.fromarray(GREY), "PPM"),
        encoded(Image.frombytes("I;16B", (40, 30), GREY.astype(">u2").tobytes()), "TIFF"),
    ],
    ids=["png", "tiff", "lzw", "pgm", "big-endian tiff"],
)
def test_grey_of_16_bits_is_scaled_so_that_65535_is_white(data):
    treated: Counter[str] = Counter()
    np.testing.assert_array_equal(pixels(data, treated), np.round(GREY / 257)[..., None].repeat(3, axis=2))
    assert treated == {SCALED: 1}


def test_12_bits_and_negatives_of_16_bits_are_scaled_by_what_the_tiff_says():
    np.testing.assert_array_equal(pixels(tiff(GREY, 16, photometric=0))[..., 0], 255 - np.round(GREY / 257))
    packed = bytes([0x00, 0x0F, 0xFF] * 20)  # 0 and 4095, alternating
    twelve = tiff(np.frombuffer(packed, np.uint8).reshape(1, 60), 12).replace(
        struct.pack("<HHII", 256, 4, 1, 60), struct.pack("<HHII", 256, 4, 1, 40)
    )
    assert set(pixels(twelve).ravel()) == {0, 255}


@pytest.mark.parametrize(
    "data",
    [
        encoded(Image.fromarray(GREY.astype(np.float32)), "TIFF"),
        encoded(Image.fromarray(GREY.astype(np.int32)), "TIFF"),
        tiff(GREY, 16, sample_format=2),
        tiff(GREY.astype(np.float64), 64, sample_format=3),
        b"\0\0\0\x18ftypheic" + bytes(40),
        b"",
    ],
    ids=["float", "32 bits", "signed", "double", "heic", "empty"],
)
def test_values_without_a_known_white_and_other_formats_are_refused_with_the_cure(data):
    with pytest.raises(InputError, match=r"^x\.tif: .*save the photograph as 8-bit JPEG or PNG\.$"):
        decode(data, "x.tif")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_the_exif_orientation_is_applied_as_pillow_does(kind, orientation):
    exif = Image.Exif()
    exif[0x112] = orientation
    for options in ({}, {"compression": "tiff_lzw"}) if kind == "TIFF" else ({},):
        data = encoded(Image.fromarray(COLOURS), kind, exif=exif, **options)
        treated: Counter[str] = Counter()
        upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB")
        np.testing.assert_array_equal(pixels(data, treated), np.asarray(upright))
        assert treated == ({UPRIGHT: 1} if orientation > 1 else {})


@pytest.mark.parametrize("orientation", [0, 9, 77])
def test_an_orientation_that_does_not_exist_and_a_damaged_block_change_nothing(orientation):
    plain = encoded(Image.fromarray(COLOURS), "JPEG")
    exif = Image.Exif()
    exif[0x112] = orientation
    np.testing.assert_array_equal(pixels(encoded(Image.fromarray(COLOURS), "JPEG", exif=exif)), pixels(plain))
    damaged = encoded(Image.fromarray(COLOURS), "JPEG", exif=b"Exif\0\0nonsense" + bytes(20))
    np.testing.assert_array_equal(pixels(damaged), pixels(plain))


def blended(values: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    share = alpha[..., None] / 255
    return np.round(values * share + 255 * (1 - share))


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "TIFF"])
def test_transparency_is_blended_with_white(kind):
    treated: Counter[str] = Counter()
    options = {"lossless": True, "exact": True} if kind == "WEBP" else {}
    data = encoded(Image.fromarray(np.dstack([COLOURS, ALPHA])), kind, **options)
    np.testing.assert_array_equal(pixels(data, treated), blended(COLOURS, ALPHA))
    assert treated == {ON_WHITE: 1}
    grey = encoded(Image.fromarray(np.dstack([COLOURS[..., 0], ALPHA])), "PNG")
    np.testing.assert_array_equal(pixels(grey), blended(COLOURS[..., :1].repeat(3, axis=2), ALPHA))


def test_a_transparent_colour_becomes_white_and_the_others_stay():
    indexed = Image.fromarray(COLOURS).quantize(16)
    clear, plain = np.asarray(indexed) == 3, np.asarray(indexed.convert("RGB"))
    for kind in ("PNG", "GIF"):
        found = pixels(encoded(indexed, kind, transparency=3))
        assert (found[clear] == 255).all() and (found[~clear] == plain[~clear]).all()
    grey, first = Image.fromarray(COLOURS[..., 0]), int(COLOURS[0, 0, 0])
    assert (pixels(encoded(grey, "PNG", transparency=first))[0, 0] == 255).all()
    assert (pixels(encoded(Image.fromarray(GREY), "PNG", transparency=int(GREY[0, 0])))[0, 0] == 255).all()
    colour = tuple(int(value) for value in COLOURS[0, 0])
    assert (pixels(encoded(Image.fromarray(COLOURS), "PNG", transparency=colour))[0, 0] == 255).all()


def test_an_opaque_alpha_channel_changes_no_pixel_and_is_not_counted():
    treated: Counter[str] = Counter()
    data = encoded(Image.fromarray(np.dstack([COLOURS, np.full_like(ALPHA, 255)])), "PNG")
    np.testing.assert_array_equal(pixels(data, treated), COLOURS)
    assert not treated


@pytest.mark.parametrize("kind", ["GIF", "PNG", "WEBP", "TIFF"])
def test_of_several_frames_the_first_is_decoded_and_counted(kind):
    frames = [Image.fromarray(np.roll(COLOURS, shift, axis=0)) for shift in (0, 5, 9)]
    data = encoded(frames[0], kind, save_all=True, append_images=frames[1:])
    treated: Counter[str] = Counter()
    np.testing.assert_array_equal(pixels(data, treated), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    assert treated == {FIRST_FRAME: 1}
    assert words_of(treated) == "1 with several frames or pages, of which the first is used"


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
def test_pixels_of_ordinary_jpegs_are_pillows_bit_by_bit(mode):
    data = encoded(Image.fromarray(COLOURS).convert(mode), "JPEG")
    treated: Counter[str] = Counter()
    np.testing.assert_array_equal(pixels(data, treated), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    assert not treated


def test_one_pixel_is_a_photograph_and_a_thread_of_pixels_is_not():
    assert decode(encoded(Image.new("RGB", (1, 1)), "PNG"), "x").size == (1, 1)
    with pytest.raises(InputError, match="1 x 300 pixels"):
        decode(encoded(Image.new("RGB", (1, 300)), "PNG"), "x")


def test_damaged_bytes_end_in_one_sentence_or_an_image():
    frames = [Image.fromarray(np.roll(COLOURS, shift, axis=0)) for shift in (0, 5)]
    files = [
        encoded(frames[0], "JPEG"),
        encoded(frames[0], "PNG"),
        encoded(frames[0], "GIF", save_all=True, append_images=frames[1:]),
        encoded(Image.fromarray(GREY), "TIFF"),
        encoded(frames[0], "WEBP"),
        encoded(Image.fromarray(GREY), "PPM"),
    ]
    rng, refused = np.random.default_rng(1), 0
    for number in range(600):
        data = bytearray(files[number % len(files)])
        for _ in range(3):
            data[rng.integers(0, min(len(data), 300))] = rng.integers(0, 256)
        try:
            assert decode(bytes(data), "x").mode == "RGB"
        except InputError as error:
            refused += 1
            assert "\n" not in str(error) and len(str(error)) < 400
    assert 50 < refused < 600


@pytest.mark.data
def test_flickr8k_photographs_have_the_pixels_that_they_had(mirror):
    photographs = Photographs(mirror / "flickr8k" / "Flickr8k_Dataset.zip")
    treated: Counter[str] = Counter()
    for name in photographs.names()[::200]:
        data = photographs.read(name)
        np.testing.assert_array_equal(pixels(data, treated), np.asarray(Image.open(io.BytesIO(data)).convert("RGB")))
    assert not treated

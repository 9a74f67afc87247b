"""What numpy.save writes is read as numpy.load does; any other header is one sentence."""

from __future__ import annotations

import io
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fivesentences.arrays import npy_header, read_npy
from fivesentences.errors import InputError


@given(
    arrays.arrays(
        st.sampled_from(["<f4", ">f8", "<i2", "|b1", "<f2", "<U3"]),
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    st.booleans(),
)
def test_every_array_comes_back(tmp_path_factory, array, fortran):
    path = tmp_path_factory.getbasetemp() / "a.npy"
    np.save(path, np.asfortranarray(array) if fortran else array)
    found, expected = read_npy(path), np.load(path)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


def _npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"0.1 0.2\n", "it begins with b'0.1 0.'"),
        (b"\x93NUMPY\x09\x00" + b"\0" * 80, "its header is damaged"),
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1" + "0" * 30 + ",), }"), r"its shape is \(1000000"),
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 100), }", b"\0" * 400), "its shape is"),
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }"), "its shape is"),
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }"), "it is cut"),
        (_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"\0" * 9), "1 bytes follow the array"),
        (_npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\x04N."), "it holds Python objects"),
        (_npy("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,), }"), "its header is damaged"),
        (_npy("{'descr': '<f4'}"), "its header is damaged"),
        (_npy("(" * 5000), "its header is damaged"),
        (_npy("[" + "-" * 9000 + "1]"), "its header is damaged"),
        (_npy("__import__('os').system('ls')"), "its header is damaged"),
    ],
)
def test_a_header_that_cannot_be_believed_is_one_sentence(tmp_path, content, says):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        read_npy(tmp_path / "a.npy")
    sentence = str(caught.value)
    assert sentence.endswith("; save an array of numbers with numpy.save.") and "\n" not in sentence
    assert "pickle" not in sentence


def test_a_header_leaves_the_file_where_the_data_begins():
    file = io.BytesIO()
    np.save(file, np.arange(6, dtype="<i4").reshape(2, 3))
    file.seek(0)
    assert npy_header(file, "x", "") == ((2, 3), False, np.dtype("<i4"))
    assert np.frombuffer(file.read(), "<i4").tolist() == [0, 1, 2, 3, 4, 5]

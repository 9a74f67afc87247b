"""What numpy.save writes is read as numpy.load does; any other header is one sentence."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fivesentences.arrays import read_npy, read_npz
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
    "content",
    [
        b"",
        b"0.1 0.2\n",
        b"\x93NUMPY\x09\x00" + b"\0" * 80,
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1" + "0" * 30 + ",), }"),
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 2), }"),
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000, 1000000), }"),
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", b"\0" * 9),
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", b"\0" * 9),
        _npy("{'descr': '<f4', 'fortran_order': False, 'shape': (True, 2), }", b"\0" * 8),
        _npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"\x80\x04N."),
        _npy("{'descr': 'nonsense', 'fortran_order': False, 'shape': (1,), }"),
        _npy("{'descr': '<f4'}"),
        _npy("(" * 5000),
        _npy("[" + "-" * 9000 + "1]"),
        _npy("__import__('os').system('ls')"),
    ],
    ids=range(15),
)
def test_a_file_that_is_not_what_its_header_says_is_refused(tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match=r"a\.npy.*; save an array of numbers with numpy\.save\.$") as caught:
        read_npy(tmp_path / "a.npy")
    assert "pickle" not in str(caught.value)


def test_arrays_of_an_npz_are_read_and_a_damaged_or_pickled_one_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, a=np.arange(3), b=np.eye(2))
    assert read_npz(path, ["b"], "regions", "make it again")[0].tolist() == [[1, 0], [0, 1]]
    with pytest.raises(InputError, match="holds no c"):
        read_npz(path, ["c"], "regions", "make it again")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="not a complete"):
        read_npz(path, ["b"], "regions", "make it again")
    np.savez(path, b=np.array([print]))
    with pytest.raises(InputError, match="not a complete"):
        read_npz(path, ["b"], "regions", "make it again")

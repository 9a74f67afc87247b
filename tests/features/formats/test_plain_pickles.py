"""Plain data comes out of a pickle as pickle itself gives it back; nothing else does, and nothing is run."""

from __future__ import annotations

import collections
import os
import pickle
import pickletools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fivesentences.errors import InputError
from fivesentences.features.formats.plain_pickles import plain_pickle

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.binary(max_size=300)
KEYS = st.integers() | TEXTS
PLAIN = st.recursive(
    LEAVES,
    lambda part: st.lists(part) | st.dictionaries(KEYS, part) | st.tuples(part, part) | st.tuples(part),
    max_leaves=20,
)
KINDS = st.sampled_from([np.dtype(name) for name in ("<f4", ">f4", "f2", "f8", "i8", "<i4", "u1", "?", "<U5", "S3")])


@given(content=PLAIN, protocol=st.sampled_from(PROTOCOLS))
@settings(deadline=None)
def test_plain_data_equals_that_of_pickle(content, protocol):
    data = pickle.dumps(content, protocol)
    assert plain_pickle(data, "x.pkl") == pickle.loads(data)


@given(array=arrays.arrays(KINDS, arrays.array_shapes(min_dims=0, min_side=0)), protocol=st.sampled_from(PROTOCOLS))
@settings(deadline=None)
def test_arrays_equal_those_of_pickle(array, protocol):
    found = plain_pickle(pickle.dumps({"a": array, "b": [array.T]}, protocol), "x.pkl")
    for ours, theirs in ((found["a"], array), (found["b"][0], array.T)):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numbers_of_numpy_and_ordered_dictionaries_and_arrays_of_objects_become_plain(protocol):
    given = collections.OrderedDict(a=np.float32(1.5), b=np.int64(7), c=np.array([None, "x"], dtype=object))
    assert plain_pickle(pickle.dumps(given, protocol), "x.pkl") == {"a": 1.5, "b": 7, "c": [None, "x"]}


def test_text_of_python_2_is_read():
    # What cPickle of Python 2 makes of {"a": 1L, u"b": numpy.arange(2)} by default, typed out.
    data = (
        b"(dp1\nS'a'\np2\nL1L\nsVb\np3\ncnumpy.core.multiarray\n_reconstruct\np4\n(cnumpy\nndarray\np5\n(I0\ntp6\n"
        b"S'b'\np7\ntRp8\n(I1\n(I2\ntp9\ncnumpy\ndtype\np10\n(S'i2'\np11\nI0\nI1\ntRp12\n(I3\nS'<'\np13\nNNNI-1\nI-1\n"
        b"I0\ntp14\nbI00\nS'\\x00\\x00\\x01\\x00'\np15\ntp16\nbs."
    )
    found = plain_pickle(data, "x.pkl")
    assert found["a"] == 1
    np.testing.assert_array_equal(found["b"], np.array([0, 1], np.int16))


class Runs:
    def __init__(self, function, *arguments):
        self._made = function, arguments

    def __reduce__(self):
        return self._made


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("made", "name"),
    [
        (Runs(os.system, "touch ran"), "system"),
        (Runs(subprocess.Popen, ["touch", "ran"]), "Popen"),
        (Runs(eval, "open('ran', 'w')"), "eval"),
        (Runs(getattr, "x", "upper"), "getattr"),
        (collections.Counter("x"), "collections.Counter"),
        (np.load, "numpy"),
    ],
)
def test_whatever_would_run_is_refused_by_name(made, name, protocol, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=rf"^x\.pkl: this pickle asks for '[^']*{name}.*only plain data"):
        plain_pickle(pickle.dumps({"a": made}, protocol), "x.pkl")
    assert not list(tmp_path.iterdir())


ARRAY = pickle.dumps(np.arange(6, dtype=np.int64), 2)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x80\x04",
        b"not a pickle",
        pickle.dumps([1, 2])[:-1],
        pickle.dumps([1, 2])[:-2] + b".",
        b"]q\x00h\x00a.",  # a list within itself
        b"}(]K\x01u.",  # a list as a key
        b"r\xff\xff\xff\x7f.",  # memory for two billion
        b"e.",
        b"K\x01\x85R.",
        b"I" + b"9" * 10_000 + b"\n.",
        ARRAY.replace(b"K\x06\x85", b"K\x07\x85"),  # a longer shape than there are bytes
        ARRAY.replace(b"i8", b"V8"),
    ],
)
def test_damaged_pickles_are_refused_in_one_sentence(data):
    with pytest.raises(InputError, match=r"^x\.pkl: this (is not a complete pickle|pickle holds the instruction)"):
        plain_pickle(data, "x.pkl")


@given(data=st.data(), protocol=st.sampled_from(PROTOCOLS))
@settings(max_examples=300, deadline=None)
def test_any_changed_byte_gives_plain_data_or_one_sentence(data, protocol):
    whole = bytearray(pickle.dumps({"a": [1, "x", 2.5, (None, True)], 7: np.arange(3)}, protocol))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        plain_pickle(bytes(whole), "x.pkl")
    except InputError as error:
        assert str(error).startswith("x.pkl: this ")


def test_the_reader_imports_nothing_that_a_pickle_names():
    code = """
import sys
from fivesentences.features.formats.plain_pickles import plain_pickle
try:
    plain_pickle(b"cantigravity\\ngeohash\\n.", "x")
except ValueError as error:
    print(error, "antigravity" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("x: this pickle asks for 'antigravity.geohash'")
    assert done.stdout.endswith(" False\n")


def test_instructions_are_those_of_pickletools():
    from fivesentences.features.formats import plain_pickles

    known = {opcode.name for opcode in pickletools.opcodes}
    assert set(plain_pickles._LITERALS) | set(plain_pickles._EMPTY) | set(plain_pickles._CONSTANTS) <= known

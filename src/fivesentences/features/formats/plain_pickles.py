"""Numbers, text, lists, dictionaries and numpy arrays from a pickle, which is read and never run.

A pickle is a program, and ``pickle.load`` runs whatever it says. Some releases still hold their data in one: the list
of images beside the HDF5 files of VQA models, ``info`` in the npz files of MILVLG. ``pickletools`` splits a pickle into
its instructions without following them; those that make plain data are followed here, any other is refused.
"""

from __future__ import annotations

import math
import pickletools
from pathlib import Path
from typing import Any

import numpy as np

from fivesentences.errors import InputError

CURE = "only plain data is read from a pickle, since it could run anything"
_NUMBERS = "biufSU"  # kinds of arrays


class _Global:
    """A function or class that a pickle names; it stands for itself and is not imported."""

    def __init__(self, name: str):
        self.name = name


class _Array:
    """An array whose shape and bytes are still to come."""

    def __init__(self) -> None:
        self.value: Any = None


class _Type:
    """A numpy type whose byte order is still to come."""

    def __init__(self, text: str):
        self.text = text
        self.value = np.dtype(text)


class _RefusedError(Exception):
    """An instruction that is not followed."""


_KNOWN = {
    "_codecs encode": "encode",  # how protocols of Python 2 hold bytes
    "__builtin__ bytes": "bytes",
    "builtins bytes": "bytes",
    "collections OrderedDict": "ordered",
    "numpy ndarray": "ndarray",
    "numpy dtype": "dtype",
    **{
        f"numpy.{core}.{module} {name}": name
        for core in ("core", "_core")
        for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
    },
}


def plain_pickle(data: bytes, where: Path | str) -> Any:
    """The plain data of a pickle.

    Args:
        data: The pickle.
        where: What to call it in an error.

    Returns:
        None, booleans, numbers, text, bytes, lists, tuples, dictionaries, and numpy arrays of numbers or text. An array
        of Python objects becomes the list of them.

    Raises:
        InputError: If it is damaged or asks for anything else.
    """
    try:
        return _value(_followed(data))
    except _RefusedError as error:
        raise InputError(f"this pickle {error}", where=where, cure=CURE) from None
    # A pickle that was made to break its reader ends it in any way.
    except Exception as error:
        raise InputError(
            f"this is not a complete pickle of plain data ({type(error).__name__}).", where=where
        ) from None


def _followed(data: bytes) -> Any:
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}

    def above_mark() -> list[Any]:
        return taken(len(stack) - marks.pop())

    def taken(count: int) -> list[Any]:
        items = stack[len(stack) - count :]
        if count < 0 or len(items) != count:
            raise ValueError("stack")
        del stack[len(stack) - count :]
        return items

    argument: Any
    for opcode, argument, _ in pickletools.genops(data):
        name = opcode.name
        if name in ("PROTO", "FRAME"):
            continue
        if name == "STOP":
            (result,) = stack
            return result
        if name == "MARK":
            marks.append(len(stack))
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _LITERALS:
            stack.append(argument)
        elif name == "BYTEARRAY8":
            stack.append(bytes(argument))
        elif name in _EMPTY:
            stack.append(_EMPTY[name]())
        elif name in ("LIST", "TUPLE", "DICT"):
            items = above_mark()
            stack.append(_dict(items) if name == "DICT" else tuple(items) if name == "TUPLE" else items)
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            stack.append(tuple(taken(int(name[-1]))))
        elif name in ("APPEND", "APPENDS"):
            items = taken(1) if name == "APPEND" else above_mark()
            _as(stack[-1], list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = taken(2) if name == "SETITEM" else above_mark()
            _as(stack[-1], dict).update(_dict(items))
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "GLOBAL":
            stack.append(_named(argument))
        elif name == "STACK_GLOBAL":
            attribute, module = stack.pop(), stack.pop()
            stack.append(_named(f"{module} {attribute}"))
        elif name == "REDUCE":
            arguments = _as(stack.pop(), tuple)
            stack.append(_made(_as(stack.pop(), _Global), arguments))
        elif name == "BUILD":
            state = stack.pop()
            _build(stack[-1], state)
        else:
            raise _RefusedError(f"holds the instruction {name}")
    raise ValueError("no end")


_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = frozenset(
    (
        *("INT", "LONG", "BININT", "BININT1", "BININT2", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
        *("STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"),
        *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8"),
    )
)
_EMPTY = {"EMPTY_LIST": list, "EMPTY_TUPLE": tuple, "EMPTY_DICT": dict}


def _as(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{type(value).__name__} where {kind.__name__} is needed")
    return value


def _dict(items: list[Any]) -> dict[Any, Any]:
    keys = items[0::2]
    if len(items) % 2 or not all(isinstance(_value(key), str | bytes | int | float) for key in keys):
        raise ValueError("keys")
    return {_value(key): value for key, value in zip(keys, items[1::2], strict=True)}


def _named(name: str) -> _Global:
    if name not in _KNOWN:
        raise _RefusedError(f"asks for {name.replace(' ', '.')[:80]!a}")
    return _Global(_KNOWN[name])


def _made(function: _Global, arguments: tuple[Any, ...]) -> Any:
    """What a call stands for."""
    match function.name, arguments:
        case "encode", (str() as text, "latin1" | "latin-1"):
            return text.encode("latin-1")
        case "bytes", ():
            return b""
        case "ordered", ():
            return {}
        case "_reconstruct", (_Global(name="ndarray"), tuple(), _):
            return _Array()
        case "dtype", (str() as text, *_):
            if np.dtype(text).kind not in _NUMBERS + "O":
                raise ValueError(text)
            return _Type(text)
        case "scalar", (_Type() as kind, data):
            return _array(kind.value, (), _raw(data)).item()
        case "_frombuffer", (data, _Type() as kind, tuple() as shape, "C" | "F" as order):
            return _array(kind.value, shape, _raw(data), order)
    raise ValueError(function.name)


def _build(value: Any, state: Any) -> None:
    match value, state:
        case _Type(), (int(), ("<" | ">" | "|" | "=") as order, None, None, None, *_):
            value.value = value.value.newbyteorder(order)
        case _Array(), (_, tuple() as shape, _Type() as kind, bool() | int() as fortran, data):
            if kind.value.kind == "O":
                value.value = _as(data, list)
            else:
                value.value = _array(kind.value, shape, _raw(data), "F" if fortran else "C")
        case _:
            raise ValueError("state")


def _raw(data: Any) -> bytes:
    """Bytes of an array, which Python 2 pickled as text of one sign per byte."""
    return data.encode("latin-1") if isinstance(data, str) else _as(data, bytes)  # type: ignore[no-any-return]


def _array(kind: np.dtype[Any], shape: tuple[Any, ...], data: bytes, order: Any = "C") -> np.ndarray:
    if kind.kind not in _NUMBERS or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError("array")
    if math.prod(shape) * kind.itemsize != len(data):
        raise ValueError("size")
    return np.frombuffer(data, kind).reshape(shape, order=order)


def _value(value: Any) -> Any:
    """The plain data, in which arrays have taken the place of what they were made from."""
    done: dict[int, Any] = {}

    def of(value: Any, depth: int) -> Any:
        if depth > 100:
            raise ValueError("depth")
        if isinstance(value, _Array):
            return of(value.value, depth + 1)
        if isinstance(value, _Type | _Global):
            raise ValueError("type")
        if isinstance(value, list | tuple | dict):
            if id(value) not in done:
                if isinstance(value, dict):
                    done[id(value)] = {key: of(item, depth + 1) for key, item in value.items()}
                else:
                    done[id(value)] = type(value)(of(item, depth + 1) for item in value)
            return done[id(value)]
        return value

    return of(value, 0)

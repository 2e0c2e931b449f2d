"""Checks arguments. Each check returns the value in the form that the libraries take, or raises TypeError or
ValueError with a sentence that names the argument."""

import operator
import os
from numbers import Number

import numpy

from . import _core


def type_error(name, value, wanted):
    return TypeError(f"{name} is of type {type(value).__name__}, but must be {wanted}")


def factor(name, value, dtype):
    """alpha or beta of products of `dtype`, as a complex number: any number, or an array without dimensions."""
    kind = type(value)
    if kind is not int and kind is not float and not isinstance(value, Number) and getattr(value, "shape", None) != ():
        raise type_error(name, value, "a number")
    try:
        number = complex(value)
    except OverflowError:
        raise ValueError(f"{name} is a whole number out of the range of {dtype}") from None
    except (TypeError, ValueError):
        raise type_error(name, value, "a number") from None
    if number.imag != 0 and not dtype.startswith("complex"):
        raise ValueError(f"{name} = {number} is complex, but the arrays are real ({dtype})")
    return number


def factors(alpha, beta, dtype, has_out):
    """Both of a product; beta other than 0 scales an `out`."""
    alpha, beta = factor("alpha", alpha, dtype), factor("beta", beta, dtype)
    if beta != 0 and not has_out:
        raise ValueError(f"beta = {beta if beta.imag else beta.real:g} needs out, the array that it scales")
    return alpha, beta


def flag(name, value):
    """True or False, or what equals them and is a number; not what Python merely takes for true."""
    if value is True or value is False:
        return value
    if isinstance(value, (int, numpy.bool_)) and value in (0, 1):
        return bool(value)
    raise TypeError(f"{name} = {value!r} is not one of True, False")


def whole(name, value, least=None, most=2 ** 31 - 1):
    """A whole number from least to most."""
    try:
        number = operator.index(value)
    except TypeError:
        raise type_error(name, value, "a whole number") from None
    if least is not None and number < least:
        raise ValueError(f"{name} = {number} is negative" if least == 0 else f"{name} = {number} must be at least {least}")
    if not -most - 1 <= number <= most:
        raise ValueError(f"{name} = {number} must be at {f'most {most}' if number > 0 else f'least {-most - 1}'}")
    return number


def seconds(name, value, wanted="a number of seconds"):
    try:
        return float(value) if isinstance(value, Number) else float(value[()])
    except (TypeError, ValueError, OverflowError, IndexError, KeyError):
        raise type_error(name, value, wanted) from None


def text(name, value):
    """A string that C reads to its end."""
    if not isinstance(value, str):
        raise type_error(name, value, "a string")
    if "\0" in value:
        raise ValueError(f"{name} = {value!r} contains a null character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} = {value!r} contains a part of a character, which UTF-8 cannot hold") from None
    return value


def path(name, value):
    """The path of a file, as a string."""
    try:
        return text(name, os.fspath(value))
    except TypeError:
        raise type_error(name, value, "a path") from None


def stream(value, on_device):
    """The address of a stream, None for the current one."""
    if value is None:
        return None
    address = whole("stream", value, 0, 2 ** 64 - 1)
    if address and not on_device:
        raise ValueError(f"stream = {address:#x} is given, but the arrays are in host memory")
    return address


def unknown_option(name, options, arguments=()):
    """The TypeError for a keyword that a function does not take, other functions perhaps do; `arguments` are those that it takes beside
    its options."""
    options = [other for other in options if other != name]
    near = _core.closest(name.encode("utf-8", "replace").decode(), [*options, *(other for other in arguments if other != name)])
    meant = f" (did you mean '{near}'?)" if near else ""
    return TypeError(f"unknown option '{name}'{meant} (expected one of {', '.join(options)})")


def sequence(name, value, of):
    """A list of what can be gone through."""
    try:
        return list(value)
    except TypeError:
        raise type_error(name, value, f"a sequence of {of}") from None

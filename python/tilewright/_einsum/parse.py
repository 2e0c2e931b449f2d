"""Reads the subscripts of an einsum into labels and sizes. It knows nothing of strides and arrays: what comes out says which axis
of which operand carries which label, as numpy.einsum reads it."""

import string
from typing import NamedTuple


class Expression(NamedTuple):
    """A contraction: one letter per axis of each operand, those of the result, and the size that each letter has. An
    operand's axis may have size 1 where its letter has more: it is broadcast, as in NumPy."""

    inputs: tuple
    output: str
    sizes: dict


def letters_of_sublists(arguments):
    """The arguments of einsum(operand, sublist, operand, sublist, ..., [output sublist]) as (subscripts, operands)."""
    operands, lists = list(arguments[0:-1:2]), list(arguments[1::2])
    given = len(arguments) % 2 == 1
    if any(not isinstance(one, (list, tuple)) for one in lists) or (given and not isinstance(arguments[-1], (list, tuple))):
        raise TypeError("einsum takes a string of subscripts and operands, or each operand followed by the list of its labels")
    names = {}
    labels = [label for one in [*lists, *([arguments[-1]] if given else [])] for label in one if label is not Ellipsis]
    for label in labels:
        if not hasattr(label, "__index__"):
            raise TypeError(f"einsum: the label {label!r} of a sublist is not a whole number or Ellipsis")
    ordered = sorted(set(labels))  # NumPy's order if no result is named
    if len(ordered) > len(string.ascii_letters):
        raise ValueError(f"einsum: {len(ordered)} different labels exceed the limit of {len(string.ascii_letters)}")
    names = dict(zip(ordered, sorted(string.ascii_letters)))
    parts = ["".join("..." if label is Ellipsis else names[label] for label in one) for one in lists]
    text = ",".join(parts)
    return (text + "->" + "".join("..." if label is Ellipsis else names[label] for label in arguments[-1]) if given else text), operands


def split_subscripts(subscripts, operand_count):
    """(labels of each operand, labels of the result or None), still with ellipses."""
    text = "".join(subscripts.split())
    left, arrow, right = text.partition("->")
    if "->" in right or "-" in left.replace("->", "") or ">" in left:
        raise ValueError(f"einsum subscripts '{subscripts}': '->' must occur once, before the labels of the result")
    inputs = left.split(",")
    if len(inputs) != operand_count:
        raise ValueError(f"einsum subscripts '{subscripts}' name {len(inputs)} operands, but {operand_count} are given")
    for part in [*inputs, right]:
        rest = part.replace("...", "", 1)
        for letter in rest:
            if not letter.isalpha():
                raise ValueError(f"einsum subscripts '{subscripts}': '{letter}' is not a letter, a comma, '...' or '->'")
    return inputs, right if arrow else None


def free_letters(used):
    """Letters that no operand uses, for the axes of ellipses."""
    yield from (letter for letter in string.ascii_letters if letter not in used)
    yield from (letter for code in range(0x4E00, 0x9FFF) if (letter := chr(code)) not in used)


def expand_ellipses(subscripts, inputs, output, ranks):
    """Ellipses become letters, the same ones from the last axis on, so that operands of different rank are broadcast."""
    lengths = []
    for index, (labels, rank) in enumerate(zip(inputs, ranks)):
        named = len(labels) - 3 if "..." in labels else len(labels)
        if named > rank or ("..." not in labels and named < rank):
            raise ValueError(f"einsum subscripts '{subscripts}': operand {index} has {rank} axes, but its labels '{labels}' are for {named}"
                             f"{' or more' if '...' in labels else ''}")
        lengths.append(rank - named if "..." in labels else 0)
    used = set("".join(inputs) + (output or "")) - {"."}
    source = free_letters(used)
    letters = [next(source) for _ in range(max(lengths, default=0))][::-1]
    whole = "".join(letters)

    def of(labels, length):
        return labels.replace("...", whole[len(whole) - length:] if length else "")

    expanded = [of(labels, length) for labels, length in zip(inputs, lengths)]
    if output is None:
        named = "".join(labels.replace("...", "") for labels in inputs)
        return expanded, whole + "".join(letter for letter in sorted(set(named)) if named.count(letter) == 1)
    if "..." not in output and whole:
        raise ValueError(f"einsum subscripts '{subscripts}': the operands have '...', but the result does not")
    return expanded, of(output, len(whole))


def sizes_of(inputs, shapes):
    """The size of each letter; axes of size 1 are broadcast."""
    sizes, said_by = {}, {}
    for index, (labels, shape) in enumerate(zip(inputs, shapes)):
        own = {}
        for letter, size in zip(labels, shape):
            if own.setdefault(letter, size) != size:
                raise ValueError(f"einsum: label '{letter}' has the sizes {own[letter]} and {size} in operand {index}")
        for letter, size in own.items():
            known = sizes.get(letter, 1)
            if size != 1 and known != 1 and size != known:
                raise ValueError(f"einsum: label '{letter}' has size {known} in operand {said_by[letter]}, but {size} in operand {index}")
            if letter not in sizes or size != 1:
                sizes[letter], said_by[letter] = size, index
    return sizes


def parse(subscripts, shapes):
    """Expression of `subscripts` over operands of these shapes. Semantics: numpy.einsum. Throws ValueError with what is wrong."""
    if not isinstance(subscripts, str):
        raise TypeError(f"einsum: the subscripts are a {type(subscripts).__name__}, not a string")
    inputs, output = split_subscripts(subscripts, len(shapes))
    inputs, output = expand_ellipses(subscripts, inputs, output, [len(shape) for shape in shapes])
    sizes = sizes_of(inputs, shapes)
    for letter in output:
        if letter not in sizes:
            raise ValueError(f"einsum subscripts '{subscripts}': label '{letter}' of the result is not in any operand")
        if output.count(letter) > 1:
            raise ValueError(f"einsum subscripts '{subscripts}': label '{letter}' occurs twice in the result")
    return Expression(tuple(inputs), output, sizes)

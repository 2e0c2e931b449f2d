"""Decides whether a contraction of several steps is computed piece by piece, so that intermediate results stay in a cache: memory is then
read and written once and not once per step. A letter of the result that every step keeps is cut; every piece is the same contraction of
views. For operands in host memory."""

import math
from typing import NamedTuple

# A piece may use this much cache of one thread for its operands and results; two of its arrays are in use at a time.
CACHE_BYTES = 2 ** 20
WORTH = 4              # intermediate results must be this many times as large for cutting to pay


class Pieces(NamedTuple):
    letter: str
    size: int  # of all pieces except the last


def pieces_of(expression, plan, item_bytes, threads):
    """Pieces, or None where cutting does not pay."""
    if plan is None or len(plan.steps) < 2:
        return None
    sizes = expression.sizes
    results = [step.letters for step in plan.steps]
    budget = CACHE_BYTES * threads // item_bytes
    if sum(math.prod(sizes[x] for x in one) for one in results[:-1]) < WORTH * budget:
        return None
    cuttable = [x for x in expression.output if all(x in one for one in results)]
    if not cuttable:
        return None
    letter = max(cuttable, key=lambda x: sizes[x])  # the first of the largest: the slowest dimension of the result
    parts = [*(one for one in expression.inputs if letter in one), *results]
    of_one = sum(math.prod(sizes[x] for x in set(one) if x != letter) for one in parts)
    size = budget // of_one
    return Pieces(letter, size) if 0 < size < sizes[letter] else None


def cut(labels, shape, strides, letter, first, size):
    """(shape, offset in elements) of a piece of an operand or a result: `size` of the letter's places from `first` on."""
    own = [length if label != letter or length == 1 else size for label, length in zip(labels, shape)]
    return tuple(own), first * sum(stride for label, length, stride in zip(labels, shape, strides) if label == letter and length > 1)

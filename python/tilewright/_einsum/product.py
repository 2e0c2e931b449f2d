"""One contraction of two operands as one batched product: which letters become rows, columns, the summed size and levels of the
batch, so that the operands are multiplied where they lie. Strides decide; where no assignment is a product of strided matrices, or
only a long sum of products is, operands are copied into a layout that is. No array is touched here.

A matrix can be multiplied in place when one of its two strides is 1, or when it has one row or one column. Letters of both
operands and the result are levels of the batch; of A and the result rows, or levels that B does not have (stride 0); of B and the
result likewise; of A and B the sum: one group of neighbouring letters within the product, others by products that are added up."""

import itertools
import math
from typing import NamedTuple

LEVELS = 3      # levels of a batch that one call computes
# A longer side, with the other sides at most this long, is cut into levels: kernels compute whole small problems best.
LONG_SIDE = 64
LONG_RUN = 16   # problems of the innermost level that amortise the call of a kernel

# The costs of an assignment, in nanoseconds, roughly those of one core as measured with operands in its caches: only
# the order of assignments depends on them. APART is the cost of each run of neighbours that does not begin where
# another one ends. TURNED is the cost of each element of an operand that has the side along which C is contiguous,
# but is not contiguous along it itself.
MEMORY_BYTES, CACHE_BYTES, LINE_BYTES = 15.0, 400.0, 64
OPERATIONS = 50.0
PROBLEM, RUN, CALL = 1.0, 80.0, 2000.0
APART, TURNED = 0.8, 0.12
COPY_FACTOR = 2.0  # an assignment with copies must be this much cheaper than one product without


class Group(NamedTuple):
    """Letters that are neighbours in every operand that has them, so that they count as one axis; the last letter runs fastest."""

    letters: str
    size: int
    a: int = 0  # strides, in elements; 0 also if an operand has no such letter
    b: int = 0
    c: int = 0


NOTHING = Group("", 1)


class Matrix(NamedTuple):
    """An operand as a matrix. `copy`: the order of letters that it is copied to first (of C: computed in, then copied from), or
    None. strides: in elements, of the levels and then of the matrix's two axes, and of the axes of outer sums."""

    copy: str | None
    strides: tuple
    sum_strides: tuple


class Product(NamedTuple):
    """levels: counts of the batch. sums: counts of the axes over which products are added up one by one. letters: of the levels,
    each, and then of m, n and k."""

    levels: tuple
    m: int
    n: int
    k: int
    sums: tuple
    a: Matrix
    b: Matrix
    c: Matrix
    letters: tuple
    cost: float

    @property
    def copies(self):
        return tuple(name for name in "abc" if getattr(self, name).copy is not None)


def merge(letters, sizes, maps):
    """Groups of letters that lie one within the other in each of `maps` (letter -> stride)."""
    if not letters:
        return []
    if not maps:
        return [tuple(letters)]
    ordered = sorted(letters, key=lambda letter: [-one[letter] for one in maps])
    groups = [[ordered[0]]]
    for letter in ordered[1:]:
        outer = groups[-1][-1]
        if all(one[outer] == sizes[letter] * one[letter] and one[letter] > 0 for one in maps):
            groups[-1].append(letter)
        else:
            groups.append([letter])
    return [tuple(one) for one in groups]


def is_matrix(rows, row_stride, columns, column_stride):
    """True if a product can read this matrix in place."""
    if rows > 1 and columns > 1:
        return (row_stride == 1 and column_stride >= rows) or (column_stride == 1 and row_stride >= columns)
    return (rows == 1 or row_stride >= 1) and (columns == 1 or column_stride >= 1)


def runs_of(rows, row_stride, columns, column_stride):
    """(elements, distance of elements) of the runs of neighbours that a matrix is of, and (how many, their distance)."""
    by_columns = columns == 1 or (rows > 1 and row_stride <= column_stride)
    inner, outer = (rows, row_stride), (columns, column_stride)
    return (inner, outer) if by_columns else (outer, inner)


def matrix_cost(rows, row_stride, columns, column_stride, item):
    """(bytes touched, nanoseconds of gaps) of one matrix: elements that do not lie side by side take a cache line, or what is between."""
    (length, step), (count, distance) = runs_of(rows, row_stride, columns, column_stride)
    if length > 1 and step != 1:
        return count * length * max(item, min(LINE_BYTES, step * item)), APART * count * length
    return count * length * item, APART * count if count > 1 and distance != length else 0.0


class Letters(NamedTuple):
    batch: str
    rows: str
    columns: str
    sums: str

    @classmethod
    def of(cls, a, b, c):
        """Every letter must be in two of the three at least."""
        both = [letter for letter in a if letter in b]
        return cls("".join(x for x in both if x in c), "".join(x for x in a if x not in b), "".join(x for x in b if x not in a),
                   "".join(x for x in both if x not in c))


class Planner:
    """Looks for the cheapest assignment. a, b, c: letter -> stride of the letters that each operand has; sizes above 1 only."""

    def __init__(self, a, b, c, sizes, item_bytes, complex_type=False, forced=""):
        self.forced = set(forced)  # operands that must be copied
        self.strides = {"a": a, "b": b, "c": c}
        self.sizes = sizes
        self.item = item_bytes
        self.flops = 8 if complex_type else 2
        self.kinds = Letters.of(a, b, c)

    def groups_of(self, letters, owners, copied):
        """Groups of one kind. Strides of copied operands are given later, by the layout they are copied to."""
        maps = [self.strides[name] for name in owners if name not in copied]
        made = []
        for one in merge(letters, self.sizes, maps):
            last = {name: self.strides[name][one[-1]] for name in owners if name not in copied}
            made.append(Group("".join(one), math.prod(self.sizes[x] for x in one), **last))
        return made

    def assignments(self, copied):
        """All (row, column, sum group, levels, outer sums) whose matrices can be read in place or are copied."""
        kinds = self.kinds
        batch = self.groups_of(kinds.batch, "abc", copied)
        rows = self.groups_of(kinds.rows, "ac", copied)
        columns = self.groups_of(kinds.columns, "bc", copied)
        sums = self.groups_of(kinds.sums, "ab", copied)
        for r, c, s in itertools.product([*rows, NOTHING], [*columns, NOTHING], [*sums, NOTHING]):
            if ("a" in copied or is_matrix(r.size, r.a, s.size, s.a)) and ("b" in copied or is_matrix(s.size, s.b, c.size, c.b)) and (
                    "c" in copied or is_matrix(r.size, r.c, c.size, c.c)):
                levels = batch + [one for one in rows if one is not r] + [one for one in columns if one is not c]
                yield r, c, s, levels, [one for one in sums if one is not s]

    def placed(self, name, groups, inner):
        """Strides of groups in a contiguous copy: levels and outer sums outside, the matrix's two axes inside."""
        stride, found, order = 1, {}, []
        for group in [*groups, *inner][::-1]:
            if all(letter in self.strides[name] for letter in group.letters):
                found[group.letters] = stride
                stride *= group.size
                order.append(group.letters)
        return found, "".join(order[::-1])

    def product_of(self, copied, r, c, s, levels, outer):
        """The assignment with strides for every operand, and its cost."""
        r, c, levels = self.without_long_side(copied, r, c, s, levels)
        order = sorted(levels, key=lambda one: (one.c, one.a, one.b), reverse=True)
        order = ordered_levels(order)
        matrices = {}
        for name, (first, second) in {"a": (r, s), "b": (s, c), "c": (r, c)}.items():
            groups = [*order, first, second]
            if name in copied:
                found, text = self.placed(name, [*outer, *order], (first, second))
                strides, sums = [found.get(one.letters, 0) for one in groups], [found.get(one.letters, 0) for one in outer]
            else:
                text = None
                strides, sums = [getattr(one, name) for one in groups], [getattr(one, name) for one in outer]
            matrices[name] = Matrix(text, tuple(strides), tuple(sums))
        made = Product(tuple(one.size for one in order), r.size, c.size, s.size, tuple(one.size for one in outer), **matrices,
                       letters=(*(one.letters for one in order), r.letters, c.letters, s.letters), cost=0.0)
        return made._replace(cost=self.cost(made))

    def without_long_side(self, copied, r, c, s, levels):
        """(rows, columns, levels) once the only side that is above LONG_SIDE is cut into a level of equal parts, where strides can."""
        for long, other, owners in ((r, c, "ac"), (c, r, "bc")):
            part = next((size for size in range(LONG_SIDE, LONG_RUN - 1, -1) if long.size % size == 0), 0)
            if long.size > LONG_SIDE >= max(other.size, s.size) > 1 and part and not any(name in copied for name in owners):
                cut = Group(long.letters, long.size // part, long.a * part, long.b * part, long.c * part)
                short = long._replace(size=part)
                return (short, c, [*levels, cut]) if long is r else (r, short, [*levels, cut])
        return r, c, levels

    def cost(self, p):
        """Nanoseconds by the constants above."""
        problems, repeats = math.prod(p.levels), math.prod(p.sums)
        ns = problems * (PROBLEM + self.flops * p.m * p.n * p.k / OPERATIONS + self.turned(p))
        for matrix, rows, columns, weight in ((p.a, p.m, p.k, 1), (p.b, p.k, p.n, 1), (p.c, p.m, p.n, 2)):
            *levels, row_stride, column_stride = matrix.strides
            touched, gaps = matrix_cost(rows, row_stride, columns, column_stride, self.item)
            distinct = math.prod(count for count, stride in zip(p.levels, levels) if stride != 0)
            ns += weight * (touched * (distinct / MEMORY_BYTES + (problems - distinct) / CACHE_BYTES) + gaps * distinct)
        ordered = sorted(p.levels)
        calls = math.prod(ordered[:max(0, len(ordered) - LEVELS)])
        runs = math.prod(p.levels[:-1]) if p.levels else 1
        # Sums without levels need one call.
        ns = repeats * ns + (repeats * calls if p.levels else 1) * CALL + repeats * runs * RUN
        for name in p.copies:
            size = math.prod(self.sizes[letter] for letter in self.strides[name])
            ns += CALL + 3 * size * self.item / MEMORY_BYTES
        return ns

    def turned(self, p):
        """Nanoseconds of one problem for an operand that lies across C."""
        if p.m == 1 or p.n == 1 or p.k == 1:
            return 0.0
        (c_rows, c_columns), (a_rows, _), (_, b_columns) = (one.strides[-2:] for one in (p.c, p.a, p.b))
        if c_columns == 1:
            return 0.0 if b_columns == 1 else TURNED * p.k * p.n
        return 0.0 if c_rows == 1 and a_rows == 1 else TURNED * p.m * p.k

    def best(self):
        """The cheapest assignment; one with copies only where it is far cheaper than any without. There always is one: copies of
        all three are a product."""
        best = None
        for count in range(4):
            for copied in itertools.combinations("abc", count):
                if not self.forced.issubset(copied):
                    continue
                for one in self.assignments(copied):
                    made = self.product_of(copied, *one)
                    if best is None or made.cost * price_of_copies(made, best) < best.cost:
                        best = made
            if best is not None and not best.sums and is_good(best):
                break
        return best


def price_of_copies(p, than):
    return COPY_FACTOR if len(p.copies) > len(than.copies) and not than.sums else 1.0


def is_good(p):
    """True if a search for copies would waste time: a product of matrices, not of vectors or numbers."""
    return p.m * p.n * p.k > max(p.m, p.n, p.k) and len(p.levels) <= LEVELS


def ordered_levels(levels):
    """The innermost level is run by one call of a kernel, so a short one changes places with the longest; levels beyond those of one call
    are calls each, so they are the shortest."""
    if len(levels) > LEVELS:
        shortest = sorted(range(len(levels)), key=lambda at: levels[at].size)[:len(levels) - LEVELS]
        levels = [levels[at] for at in sorted(shortest)] + [one for at, one in enumerate(levels) if at not in shortest]
    if len(levels) < 2 or levels[-1].size >= LONG_RUN:
        return levels
    first = max(len(levels) - LEVELS, 0)
    longest = max(range(first, len(levels)), key=lambda at: levels[at].size)
    if levels[longest].size < 2 * levels[-1].size:
        return levels
    return levels[:longest] + levels[longest + 1:] + [levels[longest]]

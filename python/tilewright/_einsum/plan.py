"""A contraction of any number of operands as a list of steps, each one product of two of them. It decides how results in between
are laid out, so that neither their own product nor the next one has to copy, and says what will be done. It sees letters, sizes and
strides; run.py carries the steps out on arrays."""

import itertools
import math
from typing import NamedTuple

from .product import Planner, Product


class View(NamedTuple):
    shape: tuple
    strides: tuple  # in elements


class Source(NamedTuple):
    """How an operand is prepared for its product: first summed over letters that only it has, then copied, if these are not None.
    total: (what to sum, which of its axes). copy: the view that becomes contiguous. view: what the product takes."""

    total: tuple | None
    copy: View | None
    view: View
    sum_strides: tuple


class Step(NamedTuple):
    """values[left] times values[right] becomes the last of the values. result: elements of the new array, None where it is the
    caller's. target: the view of C within it, or of a temporary with `through` elements that is then stored to the view `stored`. letters: of C."""

    left: int
    right: int
    a: Source
    b: Source
    result: int | None
    target: View
    target_sums: int
    through: int
    stored: View | None
    sums: tuple
    product: Product
    letters: tuple
    text: str


class Single(NamedTuple):
    """The last step with one operand: a sum, or a view. `stored`: its place in the result."""

    total: tuple | None
    view: View
    stored: View


class Plan(NamedTuple):
    steps: tuple
    single: Single | None
    flops: float
    copied_elements: int
    path: tuple = ()


class Value(NamedTuple):
    strides: dict       # letter -> elements; letters with sizes above 1
    must_copy: bool     # the operand must be copied: a stride is negative


def contiguous(letters, sizes):
    strides, stride = [], 1
    for letter in reversed(letters):
        strides.append(stride)
        stride *= sizes[letter]
    return dict(zip(letters, reversed(strides)))


def view_of(letters, strides, sizes):
    return View(tuple(sizes[letter] for letter in letters), tuple(strides[letter] for letter in letters))


def elements(letters, sizes):
    return math.prod(sizes[letter] for letter in letters)


def in_place(base, other, needed):
    """The order of a product that lies as `base` does (letter -> stride), with what `other` brings where the first summed letter was."""
    brought = [x for x in other if x in needed and x not in base]
    order = []
    for letter in sorted(base, key=lambda x: -base[x]):
        if letter in needed:
            order.append(letter)
        else:
            order += brought
            brought = []
    return "".join(order + brought)


class Planning:
    """The state while steps are chosen one after the other."""

    def __init__(self, values, output, out_strides, sizes, item_bytes, complex_type):
        self.values = list(values)
        self.output = output
        self.out_strides = out_strides
        self.sizes = sizes
        self.kind = (item_bytes, complex_type)
        self.steps = []
        self.flops = 0.0
        self.copied = 0

    def without(self, value, needed):
        """The value once letters that nothing else needs are summed, and how that is done."""
        private = [letter for letter in value.strides if letter not in needed]
        if not private:
            return value, None
        rest = [letter for letter in value.strides if letter in needed]
        order = rest + private
        view = view_of(order, value.strides, self.sizes)
        self.copied += elements(rest, self.sizes)
        return Value(contiguous(rest, self.sizes), False), (view, tuple(range(len(rest), len(order))))

    def planned(self, a, b, c, c_must_copy=False):
        forced = "".join(name for name, one in zip("abc", (a.must_copy, b.must_copy, c_must_copy)) if one)
        return Planner(a.strides, b.strides, c, self.sizes, *self.kind, forced=forced).best()

    def orders(self, a, b, kept, following):
        """Orders of letters worth trying for a result in between."""
        by_a = sorted((x for x in kept if x in a), key=lambda x: -a[x])
        by_b = sorted((x for x in kept if x in b), key=lambda x: -b[x])
        batch = [x for x in by_a if x in b]
        blocks = [batch, [x for x in by_a if x not in b], [x for x in by_b if x not in a]]
        found = {"".join(itertools.chain(*one)) for one in itertools.permutations(blocks)}
        found |= {in_place(a, b, set(kept)), in_place(b, a, set(kept))}
        found.add("".join(x for x in self.output if x in kept) + "".join(x for x in by_a + by_b if x in kept and x not in self.output))
        for order in sorted(found) if following else ():
            shared = "".join(x for x in order if x in following)
            alone = "".join(x for x in order if x not in following)
            found |= {shared + alone, alone + shared}
        return sorted(one for one in found if len(one) == len(set(one)) == len(kept))

    def following(self, kept, position, path_rest):
        """(the other operand, its product's letters) of the step that takes this result; None where it is not known yet."""
        left = list(range(len(self.values)))
        name = {p: self.values[p] for p in left}
        mark = position
        order = left
        for i, j in path_rest:
            pair = (order[i], order[j])
            if mark in pair:
                other = name.get(pair[0] if pair[1] == mark else pair[1])
                if other is None:
                    return None
                rest = [name[p].strides for p in order if p not in pair and p in name]
                return other, set(self.output).union(*rest) if rest else set(self.output)
            order = [p for p in order if p not in pair] + [max(order) + 1]
        return None

    def contract(self, i, j, path_rest):
        a, b = self.values[i], self.values[j]
        others = [one for p, one in enumerate(self.values) if p not in (i, j)]
        needed = set(self.output).union(*(one.strides for one in others))
        a, a_total = self.without(a, needed | set(b.strides))
        b, b_total = self.without(b, needed | set(a.strides))
        kept = [x for x in [*a.strides, *(y for y in b.strides if y not in a.strides)] if x in needed]
        self.values = others
        if others:
            c, product = self.laid_out(a, b, kept, path_rest)
            self.values.append(Value(c, False))
            self.add(i, j, (a, a_total), (b, b_total), c, product, elements(c, self.sizes))
        else:
            c, must_copy = self.out_strides
            self.values.append(Value(c, False))
            self.add(i, j, (a, a_total), (b, b_total), c, self.planned(a, b, c, must_copy), None)

    def laid_out(self, a, b, kept, path_rest):
        """Strides of a result in between, and its product: what is cheapest with the step that takes it."""
        self.values.append(Value(dict.fromkeys(kept, 0), False))
        following = self.following(kept, len(self.values) - 1, path_rest)
        self.values.pop()
        best = None
        for order in self.orders(a.strides, b.strides, kept, following[0].strides if following else None):
            c = contiguous(order, self.sizes)
            product = self.planned(a, b, c)
            cost = product.cost + (self.cost_after(c, *following, last=len(path_rest) == 1) if following else 0.0)
            if best is None or cost < best[0]:
                best = (cost, c, product)
        return best[1:]

    def cost_after(self, c, other, needed, last):
        mine = {x: stride for x, stride in c.items() if x in needed or x in other.strides}
        theirs = {x: stride for x, stride in other.strides.items() if x in needed or x in c}
        if last:
            targets = [self.out_strides[0]]
        else:
            targets = [contiguous(order, self.sizes) for order in {in_place(mine, theirs, needed), in_place(theirs, mine, needed)}]
        return min(self.planned(Value(mine, False), Value(theirs, other.must_copy), target).cost for target in targets)

    def source(self, value, total, product, name):
        matrix = getattr(product, name)
        copy = None
        if matrix.copy is not None:
            copy = view_of(matrix.copy, value.strides, self.sizes)
            self.copied += elements(matrix.copy, self.sizes)
        m, n, k = product.m, product.n, product.k
        shape = (*product.levels, *{"a": (m, k), "b": (k, n), "c": (m, n)}[name])
        return Source(total, copy, View(shape, matrix.strides), matrix.sum_strides)

    def add(self, i, j, left, right, c, product, result):
        a, b = self.source(*left, product, "a"), self.source(*right, product, "b")
        target = View((*product.levels, product.m, product.n), product.c.strides)
        stored, through = None, 0
        if product.c.copy is not None:
            stored, through = view_of(product.c.copy, c, self.sizes), elements(product.c.copy, self.sizes)
            self.copied += through
        text = f"{''.join(left[0].strides)},{''.join(right[0].strides)}->{''.join(c)}"
        self.flops += self.kind_flops() * math.prod((*product.levels, *product.sums, product.m, product.n, product.k))
        self.steps.append(Step(i, j, a, b, result, target, len(product.sums), through, stored, product.sums, product, tuple(c), text))

    def kind_flops(self):
        return 8 if self.kind[1] else 2


def make_plan(values, output, out_strides, sizes, item_bytes, complex_type, path):
    """Plan for operands `values` (Value each) into the letters `output`, which lie as out_strides = (letter -> stride, whether C
    must be computed elsewhere and stored) says. All letters have sizes above 1. path: see path.py."""
    planning = Planning(values, output, out_strides, sizes, item_bytes, complex_type)
    if len(values) == 1:
        value, total = planning.without(values[0], set(output))
        single = Single(total, view_of(output, value.strides, sizes), view_of(output, out_strides[0], sizes))
        return Plan((), single, 0.0, elements(output, sizes))
    for index, (i, j) in enumerate(path):
        planning.contract(i, j, path[index + 1:])
    return Plan(tuple(planning.steps), None, planning.flops, planning.copied, tuple(path))

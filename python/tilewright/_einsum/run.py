"""einsum and einsum_path: arrays in, a plan (kept for calls alike), products of views, an array out. The products are those of
tilewright._product; nothing else here touches elements but sums of one operand, copies that the plan names, and stores."""

import functools
import itertools
import math
import operator
import os

import numpy

from .._arrays import alike, kind_of
from .._checks import factor, flag
from .._lists import batch_reduce
from .._matmul import check_writable
from .._product import _product, make_options
from .arrays import ITEM_BYTES, adopted, joined_dtype
from .parse import letters_of_sublists, parse
from .path import contraction_path
from .pieces import cut, pieces_of
from .plan import Value, contiguous, make_plan
from .report import EinsumPath


FRESH_BYTES = 2 ** 25  # from this size on, allocators ask the system for every array


class Call:
    """Operands of one call, checked, with all that a plan depends on."""

    def __init__(self, arguments, out, promote):
        if not arguments:
            raise TypeError("einsum takes a string of subscripts and operands, or each operand followed by the list of its labels")
        if isinstance(arguments[0], str):
            self.subscripts, operands = arguments[0], list(arguments[1:])
        else:
            self.subscripts, operands = letters_of_sublists(arguments)
        if not operands:
            raise ValueError(f"einsum subscripts '{self.subscripts}': an operand is missing")
        self.like = operands[0]
        self.operands, self.library = adopted(operands)
        kind = self.library.kind
        names = [kind.dtype(one) for one in self.operands]
        self.dtype = joined_dtype(names, flag("promote", promote))
        self.operands = [one if name == self.dtype else kind.cast(one, self.dtype) for one, name in zip(self.operands, names)]
        self.shapes = tuple([tuple(one.shape) for one in self.operands])
        self.strides = tuple(self.usable_strides())
        self.on_device = kind.device(self.operands[0]) is not None
        self.out = None if out is None else self.checked_out(out)

    def usable_strides(self):
        """Yields the strides of each operand, after copying it if its elements cannot be read in place."""
        for index, array in enumerate(self.operands):
            strides = self.library.strides(array)
            if strides is None:
                self.operands[index] = self.library.kind.cast(array, self.dtype)
                strides = self.library.strides(self.operands[index])
            yield strides

    def checked_out(self, out):
        kind = kind_of(out, "out")
        if not alike(kind, self.library.kind):
            raise TypeError(f"einsum: out is an array of {kind.name}, but the operands are of {self.library.kind.name}")
        out = kind.adopt_out(out)
        if kind.dtype(out) != self.dtype:
            raise TypeError(f"einsum: out has the element type {kind.dtype(out)}, but the operands have {self.dtype}")
        check_writable(kind, out)
        if kind.device(out) != kind.device(self.operands[0]):
            raise ValueError(f"einsum: the operands are on device {kind.device(self.operands[0])}, but out is on {kind.device(out)}")
        return out

    def plan(self, optimize):
        """plan_of() this call. A result that overlaps an operand, or lies backwards, is computed elsewhere and stored; so is, as a whole, an
        `awkward` one, whose elements do not lie as an array's."""
        out_shape = out_strides = None
        apart = self.awkward = False
        if self.out is not None:
            out_shape, out_strides = tuple(self.out.shape), self.library.strides(self.out)
            self.awkward = out_strides is None
        if out_strides is not None:
            apart = any(stride < 0 for stride in out_strides) or any(self.library.overlap(self.out, one) for one in self.operands)
        self.apart = apart
        return plan_of(self.subscripts, self.shapes, self.strides, self.dtype, out_shape, out_strides, apart, key_of(optimize))


def key_of(optimize):
    if isinstance(optimize, (str, bool)):
        return optimize
    try:
        return tuple(step if isinstance(step, str) else tuple(map(operator.index, step)) for step in optimize)
    except TypeError:
        raise TypeError(f"einsum optimize: {optimize!r} is not a word, True, False, or a path of pairs of whole numbers") from None


def letters_with_strides(labels, strides, shape):
    """letter -> stride; a letter that stands twice is a diagonal."""
    found = {}
    for letter, stride, size in zip(labels, strides, shape):
        if size > 1:
            found[letter] = found.get(letter, 0) + stride
    return found


@functools.lru_cache(maxsize=512)
def plan_of(subscripts, shapes, strides, dtype, out_shape, out_strides, apart, optimize):
    """(shape of the result, plan or None where a size is 0, expression). Shapes and strides are those of the operands."""
    expression = parse(subscripts, shapes)
    sizes, output = expression.sizes, expression.output
    shape = tuple(sizes[letter] for letter in output)
    if out_shape is not None and out_shape != shape:
        raise ValueError(f"einsum: out has the shape {out_shape}, but the result has {shape}")
    path = contraction_path(expression.inputs, output, sizes, optimize)
    if 0 in sizes.values():
        return shape, None, expression
    values = []
    for labels, one, own in zip(expression.inputs, strides, shapes):
        values.append(Value(letters_with_strides(labels, one, own), any(stride < 0 for stride, size in zip(one, own) if size > 1)))
    if out_strides is None:
        out_strides = tuple(contiguous("".join(output), sizes).values())
    target = letters_with_strides(output, out_strides, shape)
    plan = make_plan(values, "".join(target), (target, apart), sizes, ITEM_BYTES[dtype], dtype.startswith("complex"), path)
    return shape, plan, expression


def packed_strides(shape):
    return tuple(contiguous(range(len(shape)), shape).values())


@numpy.errstate(all="ignore")
def store(target, made, beta):
    """target = made + beta * target; beta = 0 does not read it. What NumPy makes of overflows counts for nothing, as in products."""
    if beta == 0:
        target[...] = made
        return
    if beta != 1:
        target *= beta
    target += made


class Run:
    """Carries steps out on arrays of one library and type."""

    def __init__(self, library, dtype, options):
        self.library, self.dtype, self.options = library, dtype, options
        self.kept, self.views = {}, {}  # id -> array that is the same for all pieces, and views of these

    def view(self, array, shape, strides, offset=0):
        if id(array) not in self.kept:
            return self.library.view(array, shape, strides, offset)
        key = (id(array), shape, strides, offset)
        found = self.views.get(key)
        if found is None:
            found = self.views[key] = self.library.view(array, shape, strides, offset)
        return found

    def room(self, like, elements, step):
        """Memory for what is between two steps: the same for every piece."""
        if not self.kept:
            return self.library.empty(like, (elements,), self.dtype)
        found = self.views.get((id(step), elements))
        if found is None:
            found = self.views[id(step), elements] = self.library.empty(like, (elements,), self.dtype)
            self.kept[id(found)] = found
        return found

    def product(self, a, b, out, alpha, beta):
        _product(a, b, out, alpha, beta, **self.options)

    def summed(self, a, b, out, alpha, beta):
        batch_reduce(a, b, out, alpha=alpha, beta=beta, **self.options)

    def prepared(self, array, source):
        """The operand once it is summed and copied as the plan says."""
        if source.total is not None:
            view, axes = source.total
            with numpy.errstate(all="ignore"):
                array = self.library.total(self.view(array, *view), axes, self.dtype)
        return array if source.copy is None else self.library.contiguous(self.view(array, *source.copy))

    def multiply(self, step, left, right, target, alpha, beta):
        """The step's products into the view `target`: one, or the sum of one for each place of the outer sums."""
        a, b = self.prepared(left, step.a), self.prepared(right, step.b)
        if not step.sums:
            self.product(self.view(a, *step.a.view), self.view(b, *step.b.view), target, alpha, beta)
            return
        if not step.product.levels:
            views = [self.view(one, step.sums + source.view.shape, source.sum_strides + source.view.strides)
                     for one, source in ((a, step.a), (b, step.b))]
            self.summed(*views, target, alpha, beta)
            return
        for place in itertools.product(*map(range, step.sums)):
            at = [sum(index * stride for index, stride in zip(place, source.sum_strides)) for source in (step.a, step.b)]
            self.product(self.view(a, *step.a.view, at[0]), self.view(b, *step.b.view, at[1]), target, alpha, beta)
            beta = 1

    def step(self, values, step, out, alpha, beta):
        """Takes the step's operands from `values` and appends its result."""
        left, right = values[step.left], values[step.right]
        if step.result is not None:
            out, alpha, beta = self.room(left, step.result, step), 1, 0
        if step.stored is None:
            self.multiply(step, left, right, self.view(out, *step.target), alpha, beta)
        else:
            made = self.library.empty(left, (step.through,), self.dtype)
            self.multiply(step, left, right, self.view(made, *step.target), alpha, 0)
            shape = step.stored.shape
            store(self.view(out, *step.stored), self.view(made, shape, packed_strides(shape)), beta)
        for position in sorted((step.left, step.right), reverse=True):
            del values[position]
        values.append(out)

    @numpy.errstate(all="ignore")
    def single(self, array, single, out, alpha, beta, apart):
        """One operand: a sum, or a view, into out. alpha = 0 does not read it."""
        if alpha == 0:
            store(self.view(out, *single.stored), 0, beta)
            return
        if single.total is not None:
            view, axes = single.total
            array = self.library.total(self.view(array, *view), axes, self.dtype)
        made = self.view(array, *single.view)
        if alpha != 1 or apart:
            made = made * alpha
        store(self.view(out, *single.stored), made, beta)

    def plan(self, operands, plan, out, alpha, beta, apart):
        if plan is None:  # the sum is empty
            store(out, 0, beta)
        elif plan.single is not None:
            self.single(operands[0], plan.single, out, alpha, beta, apart)
        else:
            for step in plan.steps:
                self.step(operands, step, out, alpha, beta)

    def whole(self, call, plan, expression, out, alpha, beta):
        """The contraction, piece by piece where that keeps what is between its steps in a cache."""
        pieces = None if call.apart or call.on_device else pieces_of(expression, plan, ITEM_BYTES[self.dtype], thread_count(self.options))
        if pieces is None:
            self.plan(list(call.operands), plan, out, alpha, beta, call.apart)
            return
        strides = self.library.strides(out)
        self.kept = {id(one): one for one, labels in zip(call.operands, expression.inputs) if pieces.letter not in labels}
        for first in range(0, expression.sizes[pieces.letter], pieces.size):
            size = min(pieces.size, expression.sizes[pieces.letter] - first)
            shapes, at = zip(*(cut(labels, shape, own, pieces.letter, first, size) for labels, shape, own in zip(
                (*expression.inputs, expression.output), (*call.shapes, tuple(out.shape)), (*call.strides, strides))))
            _, piece, _ = plan_of(call.subscripts, shapes[:-1], call.strides, self.dtype, shapes[-1], strides, False, plan.path)
            operands = [one if id(one) in self.kept else self.library.view(one, *how) for one, *how in zip(call.operands, shapes, call.strides, at)]
            self.plan(operands, piece, self.view(out, shapes[-1], strides, at[-1]), alpha, beta, False)


def thread_count(options):
    """Returns the number of threads that products may use; they refuse an invalid option."""
    asked = options.get("threads", 0)
    return asked if isinstance(asked, int) and asked > 0 else len(os.sched_getaffinity(0))


def fresh_options(options, made, call):
    """Options of products into memory that the system has yet to hand out: it zeroes that when it is first written to, in a cache, and
    stores that go around caches would throw this out."""
    if call.on_device or math.prod(made.shape) * ITEM_BYTES[call.dtype] < FRESH_BYTES:
        return options
    return {"residency": "l2", **options}


def checked_scalars(dtype, alpha, beta, out):
    """(alpha, beta) as numbers of Python, real ones where they can be."""
    values = [factor(name, value, dtype) for name, value in (("alpha", alpha), ("beta", beta))]
    alpha, beta = (value if value.imag else value.real for value in values)
    if out is None and beta != 0:
        raise ValueError(f"einsum: beta = {beta!r} needs out, the array that it scales")
    return alpha, beta


def einsum(*arguments, out=None, alpha=1, beta=0, optimize="auto", promote=False, **options):
    """einsum(subscripts, *operands, out=None, *, alpha=1, beta=0, optimize='auto', promote=False, **options)

    alpha * (the contraction that `subscripts` names) + beta * out, as numpy.einsum reads subscripts: labels, '...', '->', or each
    operand followed by a list of labels. Operands are NumPy, PyTorch or CuPy arrays of one type (float32, float64, complex64,
    complex128) and any strides; the result is an array of their library, contiguous in the order of its labels unless `out` is given.

    The operands meet two by two. Each meeting is one (batched) product of views: labels become rows, columns, the summed size and
    levels of the batch so that nothing is transposed in memory. Where results in between are large and their products share a label,
    the whole is done in pieces of that label that stay in a cache. einsum_path() tells what is done, and what is copied.

    optimize: 'auto' (up to six operands the cheapest order, beyond opt_einsum's where it is installed, else a greedy one), 'greedy',
    'optimal', or a path as of numpy.einsum_path. promote: converts operands of other types instead of refusing them. options go to
    each product: threads, target, objective and so on; of arrays on a GPU all work is queued on their library's current stream.
    beta = 0 never reads out; out may overlap operands, at the price of a copy.

    Raises TypeError for types and ValueError for subscripts, shapes and a read-only out, before anything is written."""
    if "stream" in options:
        raise TypeError("einsum takes no stream: its work is queued on the current stream of the arrays")
    call = Call(arguments, out, promote)
    alpha, beta = checked_scalars(call.dtype, alpha, beta, out)
    make_options(options)  # checked here because no product may read them
    shape, plan, expression = call.plan(optimize)
    library = call.library
    run = Run(library, call.dtype, options)
    if call.out is not None and not call.awkward:
        with library.kind.writing(call.out):
            run.whole(call, plan, expression, call.out, alpha, beta)
        return out
    made = library.empty(call.operands[0], shape, call.dtype)
    run.options = fresh_options(options, made, call)
    run.whole(call, plan, expression, made, alpha, 0)
    if call.out is None:
        return library.finished(made, call.like)
    store(call.out, made, beta)
    return out


def einsum_path(*arguments, out=None, optimize="auto", promote=False):
    """einsum_path(subscripts, *operands, out=None, *, optimize='auto', promote=False)

    What einsum() would do with these operands, and nothing is computed: an EinsumPath, whose text names the product of each step,
    the part that every label has in it, and what is copied. Arguments and errors are those of einsum()."""
    call = Call(arguments, out, promote)
    _, plan, expression = call.plan(optimize)
    item = ITEM_BYTES[call.dtype]
    pieces = None if call.apart or call.on_device else pieces_of(expression, plan, item, thread_count({}))
    return EinsumPath(expression, plan, call.dtype, item, pieces)

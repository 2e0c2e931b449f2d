"""einsum and einsum_path: arrays in, a plan (kept for calls alike), products of views, an array out. The products are those of
tilewright._product; nothing else here touches elements but sums of one operand, copies that the plan names, and stores."""

import functools
import itertools
import numbers

from .arrays import NAMES, arrays_of
from .parse import letters_of_sublists, parse
from .path import contraction_path
from .plan import Value, contiguous, make_plan
from .report import EinsumPath


class Call:
    """Operands of one call, checked, with all that a plan depends on."""

    def __init__(self, arguments, out, promote):
        if not arguments:
            raise TypeError("einsum takes a string of subscripts and operands, or each operand followed by the list of its labels")
        if isinstance(arguments[0], str):
            self.subscripts, operands = arguments[0], list(arguments[1:])
        else:
            self.subscripts, operands = letters_of_sublists(arguments)
        self.operands, self.library = arrays_of(operands)
        self.dtype = self.common_dtype(promote)
        self.shapes = tuple([tuple(one.shape) for one in self.operands])
        self.strides = tuple(self.usable_strides())
        self.out = None if out is None else self.checked_out(out)

    def common_dtype(self, promote):
        names = [self.library.name(one) for one in self.operands]
        if promote and self.operands:
            wanted = self.library.promoted(self.operands)
            if wanted not in NAMES:
                raise TypeError(f"einsum: operands of {', '.join(names)} together are {wanted}, which no product is made of")
            self.operands = [one if name == wanted else self.library.cast(one, wanted) for one, name in zip(self.operands, names)]
            return wanted
        for index, name in enumerate(names):
            if name not in NAMES:
                raise TypeError(f"einsum: operand {index} is of {name}; float32, float64, complex64 and complex128 are multiplied "
                                "(promote=True converts)")
            if name != names[0]:
                raise TypeError(f"einsum: operand 0 is of {names[0]} and operand {index} of {name}; give them one type, or promote=True")
        return names[0] if names else ""

    def usable_strides(self):
        """Those of each operand, once it is copied where its elements do not lie at multiples of their size."""
        for index, array in enumerate(self.operands):
            strides = self.library.strides(array)
            if strides is None:
                self.operands[index] = self.library.contiguous(array)
                strides = self.library.strides(self.operands[index])
            yield strides

    def checked_out(self, out):
        [array], library = arrays_of([out])
        if array is not out:
            raise TypeError(f"einsum: out is a {type(out).__name__}, not an array of the operands' library")
        if type(library) is not type(self.library):
            raise TypeError(f"einsum: out is not an array of the operands' library but a {type(out).__name__}")
        if library.name(out) != self.dtype:
            raise TypeError(f"einsum: out is of {library.name(out)} and the operands are of {self.dtype}")
        if not library.is_writable(out):
            raise ValueError("einsum: out is read-only")
        if library.strides(out) is None:
            raise ValueError("einsum: the elements of out do not lie at multiples of their size")
        return out

    def plan(self, optimize):
        """plan_of() this call. A result that overlaps an operand, or lies backwards, is computed elsewhere and stored."""
        out_shape = out_strides = None
        apart = False
        if self.out is not None:
            out_shape, out_strides = tuple(self.out.shape), self.library.strides(self.out)
            apart = any(stride < 0 for stride in out_strides) or any(self.library.overlap(self.out, one) for one in self.operands)
        self.apart = apart
        return plan_of(self.subscripts, self.shapes, self.strides, self.dtype, out_shape, out_strides, apart, key_of(optimize))


def key_of(optimize):
    if isinstance(optimize, (str, bool)):
        return optimize
    return tuple(step if isinstance(step, str) else tuple(step) for step in optimize)


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
        raise ValueError(f"einsum: out has shape {out_shape} and the result {shape}")
    path = contraction_path(expression.inputs, output, sizes, optimize)
    if 0 in sizes.values():
        return shape, None, expression
    values = []
    for labels, one, own in zip(expression.inputs, strides, shapes):
        values.append(Value(letters_with_strides(labels, one, own), any(stride < 0 for stride, size in zip(one, own) if size > 1)))
    if out_strides is None:
        out_strides = tuple(contiguous("".join(output), sizes).values())
    target = letters_with_strides(output, out_strides, shape)
    plan = make_plan(values, "".join(target), (target, apart), sizes, NAMES[dtype], dtype.startswith("complex"), path)
    return shape, plan, expression


def product():
    from .._product import _product
    return _product


def operand_view(library, array, source):
    """(array, view of its product without the outer sums' offsets) once it is summed and copied as the plan says."""
    if source.total is not None:
        view, axes = source.total
        array = library.total(library.view(array, *view), axes)
    if source.copy is not None:
        array = library.contiguous(library.view(array, *source.copy))
    return array


def multiply(library, step, left, right, target, alpha, beta, options):
    """The step's products into the view `target`: one, or one for each place of the outer sums."""
    multiplied = product()
    a, b = operand_view(library, left, step.a), operand_view(library, right, step.b)
    if not step.sums:
        multiplied(library.view(a, *step.a.view), library.view(b, *step.b.view), target, alpha, beta, **options)
        return
    for place in itertools.product(*(range(count) for count in step.sums)):
        at = [sum(index * stride for index, stride in zip(place, source.sum_strides)) for source in (step.a, step.b)]
        multiplied(library.view(a, *step.a.view, at[0]), library.view(b, *step.b.view, at[1]), target, alpha, beta, **options)
        beta = 1


def store(target, made, beta):
    """target = made + beta * target; beta = 0 does not read it."""
    if beta == 0:
        target[...] = made
        return
    if beta != 1:
        target *= beta
    target += made


def run_step(library, values, step, out, alpha, beta, options):
    """Takes the step's operands from `values` and appends its result."""
    left, right = values[step.left], values[step.right]
    if step.result is not None:
        out, alpha, beta = library.empty(left, (step.result,)), 1, 0
    if step.stored is None:
        multiply(library, step, left, right, library.view(out, *step.target), alpha, beta, options)
    else:
        made = library.empty(left, (step.through,))
        multiply(library, step, left, right, library.view(made, *step.target), alpha, 0, options)
        store(library.view(out, *step.stored), library.view(made, step.stored.shape, packed_strides(step.stored.shape)), beta)
    for position in sorted((step.left, step.right), reverse=True):
        del values[position]
    values.append(out)


def packed_strides(shape):
    strides, stride = [], 1
    for size in reversed(shape):
        strides.append(stride)
        stride *= size
    return tuple(reversed(strides))


def run_single(library, array, single, out, alpha, beta, apart):
    if single.total is not None:
        view, axes = single.total
        array = library.total(library.view(array, *view), axes)
    made = library.view(array, *single.view)
    if alpha != 1 or apart:
        made = made * alpha
    store(library.view(out, *single.stored), made, beta)


def check_scalars(dtype, alpha, beta, out):
    for name, value in (("alpha", alpha), ("beta", beta)):
        if not isinstance(value, numbers.Number):
            raise TypeError(f"einsum: {name} is a {type(value).__name__}, not a number")
        if isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real) and not dtype.startswith("complex"):
            raise TypeError(f"einsum: {name} is {value!r} and the operands are of {dtype}")
    if out is None and beta != 0:
        raise ValueError(f"einsum: beta is {beta!r} and there is no out that it could scale")


def run_empty(out, beta):
    """A sum over nothing."""
    if beta == 0:
        out[...] = 0
    elif beta != 1:
        out *= beta


def einsum(*arguments, out=None, alpha=1, beta=0, optimize="auto", promote=False, **options):
    """einsum(subscripts, *operands, out=None, *, alpha=1, beta=0, optimize='auto', promote=False, **options)

    alpha * (the contraction that `subscripts` names) + beta * out, as numpy.einsum reads subscripts: labels, '...', '->', or each
    operand followed by a list of labels. Operands are NumPy, PyTorch or CuPy arrays of one type (float32, float64, complex64,
    complex128) and any strides; the result is an array of their library, contiguous in the order of its labels unless `out` is given.

    The operands meet two by two. Each meeting is one (batched) product of views: labels become rows, columns, the summed size and
    levels of the batch so that nothing is transposed in memory. einsum_path() tells what is done, and what is copied.

    optimize: 'auto' (up to six operands the cheapest order, beyond opt_einsum's where it is installed, else a greedy one), 'greedy',
    'optimal', or a path as of numpy.einsum_path. promote: converts operands of other types instead of refusing them. options go to
    each product: threads, target, objective, stream. beta = 0 never reads out; out may overlap operands, at the price of a copy.

    Raises TypeError for types and ValueError for subscripts, shapes and a read-only out, before anything is written."""
    call = Call(arguments, out, promote)
    check_scalars(call.dtype, alpha, beta, out)
    shape, plan, _ = call.plan(optimize)
    library = call.library
    if out is None:
        out = library.empty(call.operands[0], shape)
    if plan is None:
        run_empty(out, beta)
    elif plan.single is not None:
        run_single(library, call.operands[0], plan.single, out, alpha, beta, call.apart)
    else:
        values = call.operands
        for step in plan.steps:
            run_step(library, values, step, out, alpha, beta, options)
    return out if call.out is not None else library.finished(out)


def einsum_path(*arguments, out=None, optimize="auto", promote=False):
    """einsum_path(subscripts, *operands, out=None, *, optimize='auto', promote=False)

    What einsum() would do with these operands, and nothing is computed: an EinsumPath, whose text names the product of each step,
    the part that every label has in it, and what is copied. Arguments and errors are those of einsum()."""
    call = Call(arguments, out, promote)
    _, plan, expression = call.plan(optimize)
    return EinsumPath(expression, plan, call.dtype, NAMES[call.dtype])

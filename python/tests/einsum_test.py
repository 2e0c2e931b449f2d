"""einsum against numpy.einsum: random contractions of operands with any strides, what is copied and what is not, orders, errors."""

import math
import random

import numpy as np
import pytest

import tilewright
from tilewright._einsum import path as paths
from tilewright._einsum import pieces, run

TYPES = ["float32", "float64", "complex64", "complex128"]


def filled(rng, shape, dtype):
    values = rng.standard_normal(shape)
    return (values + 1j * rng.standard_normal(shape) if dtype.startswith("complex") else values).astype(dtype)


def anyhow(rng, chance, shape, dtype):
    """An array of this shape whose axes lie in any order, with gaps, now and then backwards or broadcast."""
    order = chance.sample(range(len(shape)), len(shape))
    steps = [chance.choice([1, 1, 1, 2]) for _ in shape]
    array = np.asarray(filled(rng, [shape[p] * steps[p] for p in order], dtype)[tuple(slice(None, None, steps[p]) for p in order)])
    array = array.transpose(np.argsort(order)) if shape else array
    for axis, size in enumerate(shape):
        if chance.random() < 0.05:
            array = np.flip(array, axis)
        if chance.random() < 0.02 and size:
            array = np.broadcast_to(np.take(array, [0], axis), shape)
    return array


def contraction(rng, chance):
    """(subscripts, operands) at random: diagonals, broadcast axes, labels of one operand alone, numbers."""
    letters = "abcdefg"[:chance.randint(1, 6)]
    sizes = {letter: chance.choice([1, 2, 3, 4, 5, 9]) for letter in letters}
    parts = []
    for _ in range(chance.choice([1, 2, 2, 2, 3, 4])):
        part = chance.sample(letters, chance.randint(0, min(4, len(letters))))
        parts.append("".join(chance.choice(letters) if chance.random() < 0.05 else letter for letter in part))
    used = sorted(set("".join(parts)))
    text = ",".join(parts) + "->" + "".join(chance.sample(used, chance.randint(0, len(used))))
    dtype = chance.choice(TYPES)
    operands = []
    for part in parts:
        own = {letter: 1 if chance.random() < 0.05 else sizes[letter] for letter in part}
        operands.append(anyhow(rng, chance, [own[letter] for letter in part], dtype))
    return text, operands


def reference(text, operands):
    """The contraction in complex128, and the sum of absolute values that bounds its errors."""
    wide = [one.astype("complex128") for one in operands]
    return np.einsum(text, *wide), np.einsum(text, *[np.abs(one) for one in wide])


def most_error(text, operands, scale):
    """Returns the error that any order of the sums may have, in the operands' type: a rounding for each term and each factor."""
    left, _, right = text.partition("->")
    sizes = {letter: size for part, one in zip(left.split(","), operands) for letter, size in zip(part, one.shape) if size > 1}
    terms = math.prod(size for letter, size in sizes.items() if letter not in right)
    factor = 4 if operands[0].dtype.kind == "c" else 2
    return factor * (terms + 4 * len(operands) + 4) * np.finfo(operands[0].dtype).eps * scale + np.finfo(operands[0].dtype).tiny


def lies_as_a_matrix(array):
    """True if rows or columns are contiguous and do not overlap, as the BLAS requires; one row or one column may have any stride."""
    sides = sorted((stride // array.itemsize, size) for stride, size in zip(array.strides[-2:], array.shape[-2:]) if size > 1)
    if len(sides) < 2:
        return all(stride > 0 for stride, _ in sides)
    (inner, length), (outer, _) = sides
    return inner == 1 and outer >= length


@pytest.fixture
def products(monkeypatch):
    """Returns all views that products and sums of products get, after checking that each is a matrix that needs no copy."""
    seen = []

    def spied(real):
        def call(a, b, out, *factors, **options):
            for one in (a, b, out):
                assert lies_as_a_matrix(one), (one.shape, one.strides)
            seen.append((a, b, out))
            return real(a, b, out, *factors, **options)

        return call

    for name in ("_product", "batch_reduce"):
        monkeypatch.setattr(run, name, spied(getattr(run, name)))
    return seen


@pytest.mark.parametrize("seed", range(30))
def test_random_contractions(seed, products):
    rng, chance = np.random.default_rng(seed), random.Random(seed)
    for _ in range(20):
        text, operands = contraction(rng, chance)
        wanted, scale = reference(text, operands)
        made = tilewright.einsum(text, *operands)
        assert made.dtype == operands[0].dtype and np.shape(made) == wanted.shape
        assert (np.abs(made - wanted) <= most_error(text, operands, scale)).all(), (text, [one.strides for one in operands])


@pytest.mark.parametrize("seed", range(20))
def test_random_contractions_into_out(seed, products):
    rng, chance = np.random.default_rng(1000 + seed), random.Random(1000 + seed)
    for _ in range(20):
        text, operands = contraction(rng, chance)
        wanted, scale = reference(text, operands)
        out = np.array(anyhow(rng, chance, wanted.shape, operands[0].dtype.name), order="K")
        if out.ndim and chance.random() < 0.3:
            out = np.flip(out)
        alpha, beta = chance.choice([1, 2, -0.5]), chance.choice([0, 1, -1.5])
        before = out.astype("complex128")
        if beta == 0:
            out[...] = np.nan  # which must not be read
        assert tilewright.einsum(text, *operands, out=out, alpha=alpha, beta=beta) is out
        limit = most_error(text, operands, abs(alpha) * scale + abs(beta) * np.abs(before))
        assert (np.abs(out - (alpha * wanted + beta * before)) <= limit).all(), (text, out.strides)


IN_PLACE = [
    ("eijk,ai->eajk", (50, 4, 5, 6), (7, 4)),
    ("eijk,bj->eibk", (50, 4, 5, 6), (7, 5)),
    ("eijk,ck->eijc", (50, 4, 5, 6), (7, 6)),
    ("bhqd,bhkd->bhqk", (2, 3, 8, 6), (2, 3, 9, 6)),
    ("bqhd,bkhd->bhqk", (2, 8, 3, 6), (2, 9, 3, 6)),
    ("abc,abd->cd", (4, 5, 6), (4, 5, 7)),
    ("ab,cd->acbd", (3, 4), (5, 6)),
    ("ij,kj->ki", (8, 9), (7, 9)),
    ("aij,jk->iak", (5, 6, 7), (7, 4)),
    ("bi,i->bi", (8, 9), (9,)),
    ("bi,bi->b", (8, 9), (8, 9)),
    ("ii,ij->j", (8, 8), (8, 5)),
]


@pytest.mark.parametrize("text, a, b", IN_PLACE)
def test_what_one_product_is_is_not_copied(text, a, b, products):
    rng = np.random.default_rng(1)
    a, b = filled(rng, a, "float64"), filled(rng, b, "float64")
    told = tilewright.einsum_path(text, a, b)
    made = tilewright.einsum(text, a, b)
    assert np.allclose(made, np.einsum(text, a, b), rtol=1e-13)
    assert told.copied_bytes == 0 and told.copy_count == 0 and told.steps[0]["added_up"] == 1
    [(left, right, _)] = products
    assert np.may_share_memory(left, a) and np.may_share_memory(right, b)


def test_copies_are_told():
    a, b = np.ones((15, 16, 700)), np.ones((16, 14, 700))
    told = tilewright.einsum_path("ijb,jkb->ikb", a, b)
    assert told.copy_count > 0
    sizes = {"a": a.nbytes, "b": b.nbytes, "c": 15 * 14 * 700 * 8}
    assert told.copied_bytes == sum(sizes[name] for name in told.steps[0]["copies"])
    assert "ijb,jkb->ikb" in str(told) and "<table>" in told._repr_html_()
    backwards = tilewright.einsum_path("ij,jk->ik", np.ones((4, 5))[::-1], np.ones((5, 6)))
    assert backwards.steps[0]["copies"] == ["a"] and backwards.copied_bytes == 4 * 5 * 8


def test_sums_of_one_operand_come_first():
    a, b = np.arange(24.0).reshape(2, 3, 4), np.arange(20.0).reshape(4, 5)
    told = tilewright.einsum_path("xij,jk->ik", a, b)
    assert told.steps[0]["summed"] == ["a"] and told.copied_bytes == 3 * 4 * 8
    assert (tilewright.einsum("xij,jk->ik", a, b) == np.einsum("xij,jk->ik", a, b)).all()


def test_long_sums_without_one_axis_are_added_up():
    rng = np.random.default_rng(2)
    a, b = filled(rng, (10, 12, 11, 13), "float64"), filled(rng, (13, 12, 7, 6), "float64")
    told = tilewright.einsum_path("abcd,dbef->acef", a, b)
    assert told.steps[0]["added_up"] == 12 or told.copied_bytes > 0
    assert np.allclose(tilewright.einsum("abcd,dbef->acef", a, b), np.einsum("abcd,dbef->acef", a, b), rtol=1e-12)


FORMS = [
    ("ij,jk", [(3, 4), (4, 5)]),
    ("ba", [(3, 4)]),
    ("ii", [(4, 4)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 6)]),
    ("...ij,jk", [(2, 7, 3, 4), (4, 6)]),
    ("i...,i...->...", [(3, 4, 5), (3, 4, 5)]),
    (" i j , j -> i ", [(3, 4), (4,)]),
    (",ij->ij", [(), (3, 4)]),
    ("i,j,k->kji", [(2,), (3,), (4,)]),
    ("ij,ij,ij->", [(3, 4)] * 3),
]


@pytest.mark.parametrize("text, shapes", FORMS)
def test_forms_of_subscripts(text, shapes):
    rng = np.random.default_rng(3)
    operands = [filled(rng, shape, "float64") for shape in shapes]
    made, wanted = tilewright.einsum(text, *operands), np.einsum(text, *operands)
    assert type(made) is type(wanted)
    assert np.allclose(made, wanted, rtol=1e-13)


def test_sublists():
    rng = np.random.default_rng(4)
    a, b = filled(rng, (2, 3, 4), "float64"), filled(rng, (4, 5), "float64")
    for form in ([a, [0, 1, 7], b, [7, 3]], [a, [Ellipsis, 7], b, [7, 3], [3, Ellipsis]], [a, [30, 2, 1], b, [1, 5], [5, 30]]):
        assert np.allclose(tilewright.einsum(*form), np.einsum(*form), rtol=1e-13)


@pytest.mark.parametrize("shapes", [[(0, 3), (3, 4)], [(2, 0), (0, 4)], [(2, 3), (3, 0)]])
def test_nothing_to_sum(shapes):
    a, b = (np.ones(shape) for shape in shapes)
    assert np.array_equal(tilewright.einsum("ij,jk->ik", a, b), np.einsum("ij,jk->ik", a, b))
    out = np.full((shapes[0][0], shapes[1][1]), 3.0)
    assert (tilewright.einsum("ij,jk->ik", a, b, out=out, beta=2) == 6).all()


def test_out_over_an_operand():
    rng = np.random.default_rng(5)
    a, b = filled(rng, (6, 6), "float64"), filled(rng, (6, 6), "float64")
    wanted = a @ b
    assert np.allclose(tilewright.einsum("ij,jk->ik", a, b, out=a), wanted, rtol=1e-12)
    square = filled(rng, (6, 6), "float64")
    wanted = square.T.copy()
    assert np.array_equal(tilewright.einsum("ij->ji", square, out=square), wanted)


def unaligned(array):
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    raw[...] = array
    assert not raw.flags.aligned
    return raw


@pytest.mark.parametrize("changed", [unaligned, lambda x: x.astype(x.dtype.newbyteorder())])
def test_elements_that_cannot_be_read_as_they_lie(changed):
    rng = np.random.default_rng(8)
    a, b, c = (filled(rng, (6, 6), "float64") for _ in "abc")
    wanted = 2 * (a @ b) - c
    out = changed(c)
    assert tilewright.einsum("ij,jk", changed(a), b, out=out, alpha=2, beta=-1) is out
    assert np.allclose(out, wanted, rtol=1e-13)
    with pytest.raises(ValueError, match="out has the shape"):
        tilewright.einsum("ij,jk->i", a, b, out=out)


def test_sums_of_products_without_levels_are_one_call(products):
    rng = np.random.default_rng(9)
    a, b = filled(rng, (20, 8, 9), "float64"), filled(rng, (20, 9, 7), "float64")
    told = tilewright.einsum_path("pik,pkj->ij", a, b)
    assert told.steps[0]["added_up"] == 20 and told.copied_bytes == 0
    made = tilewright.einsum("pik,pkj->ij", a, b)
    assert len(products) == 1 and np.allclose(made, np.einsum("pik,pkj->ij", a, b), rtol=1e-12)


@pytest.mark.parametrize("dtype", TYPES)
def test_pieces(dtype, monkeypatch):
    """Contractions in pieces, the last one shorter, of operands and results with any strides, add up to the whole."""
    monkeypatch.setattr(pieces, "CACHE_BYTES", 2 ** 14)
    rng = np.random.default_rng(10)
    d, u = filled(rng, (6, 5), dtype), filled(rng, (5, 211, 5, 5), dtype).transpose(1, 0, 2, 3)
    text = "xi,yj,zk,eijk->xyez"
    told = tilewright.einsum_path(text, d, d, d, u)
    label, size = told.piece
    assert label == "e" and 1 < size < 211 and 211 % size != 0
    wanted, scale = reference(text, [d, d, d, u])
    assert (np.abs(tilewright.einsum(text, d, d, d, u) - wanted) <= most_error(text, [d, d, d, u], scale)).all()
    out = filled(rng, (6, 211, 6, 6), dtype).transpose(0, 2, 1, 3)
    limit = most_error(text, [d, d, d, u], 2 * scale + np.abs(out))
    wanted = 2 * wanted - out
    assert tilewright.einsum(text, d, d, d, u, out=out, alpha=2, beta=-1) is out
    assert (np.abs(out - wanted) <= limit).all()
    with pytest.raises(ValueError, match="threads = -1"):
        tilewright.einsum(text, d, d, d, u, out=out, threads=-1)
    assert (np.abs(out - wanted) <= limit).all()


def test_no_pieces_of_a_label_that_a_step_sums(monkeypatch):
    monkeypatch.setattr(pieces, "CACHE_BYTES", 2 ** 10)
    rng = np.random.default_rng(11)
    operands = [filled(rng, shape, "float64") for shape in ((40, 30), (30, 50), (50, 20))]
    told = tilewright.einsum_path("ab,bc,cd->d", *operands)
    assert told.piece is None or told.piece[0] == "d"
    assert np.allclose(tilewright.einsum("ab,bc,cd->d", *operands), np.einsum("ab,bc,cd->d", *operands), rtol=1e-10)


def test_rows_that_overlap_are_no_matrix(products):
    windows = np.lib.stride_tricks.sliding_window_view(np.arange(40.0), 9)
    b = np.arange(45.0).reshape(9, 5)
    assert np.array_equal(tilewright.einsum("ij,jk", windows, b), windows @ b)


def test_out_over_an_operand_of_products_that_are_added_up():
    rng = np.random.default_rng(12)
    a, b = filled(rng, (50, 2, 16, 16), "float64"), filled(rng, (50, 16, 2, 16), "float64")
    assert tilewright.einsum_path("xpmk,xkpn->xmn", a, b).steps[0]["added_up"] == 2
    wanted = np.einsum("xpmk,xkpn->xmn", a, b)
    tilewright.einsum("xpmk,xkpn->xmn", a, b, out=a[:, 1])
    assert np.allclose(a[:, 1], wanted, rtol=1e-12, atol=1e-12)


def test_promotion():
    a, b = np.ones((3, 4), dtype="float32"), np.ones((4, 5))
    assert tilewright.einsum("ij,jk", a, b, promote=True).dtype == np.float64
    assert tilewright.einsum("ij,jk", np.ones((3, 4), dtype=int), np.ones((4, 5), dtype="complex64"), promote=True).dtype == np.complex128


def all_costs(letters, output, sizes):
    """Costs of every order of a contraction, by trying them all."""
    if len(letters) == 1:
        return [0.0]
    costs = []
    for i in range(len(letters)):
        for j in range(i + 1, len(letters)):
            rest = [one for p, one in enumerate(letters) if p not in (i, j)]
            kept = (letters[i] | letters[j]) & set().union(output, *rest)
            here = paths.pair_cost(letters[i], letters[j], kept, sizes)
            costs += [here + cost for cost in all_costs([*rest, kept], output, sizes)]
    return costs


def cost_of(path, letters, output, sizes):
    letters, cost = list(letters), 0.0
    for i, j in path:
        rest = [one for p, one in enumerate(letters) if p not in (i, j)]
        kept = (letters[i] | letters[j]) & set().union(output, *rest)
        cost += paths.pair_cost(letters[i], letters[j], kept, sizes)
        letters = [*rest, kept]
    assert len(letters) == 1
    return cost


@pytest.mark.parametrize("text", ["ab,bc,cd->ad", "ai,bj,ck,ijk->abc", "ab,cd,bc,ea->ed", "ab,bc,cd,de,ef->af", "a,b,c,abc->"])
def test_the_order_is_the_cheapest(text):
    left, _, right = text.partition("->")
    letters = [set(part) for part in left.split(",")]
    for seed in range(5):
        chance = random.Random(seed)
        sizes = {letter: chance.choice([2, 5, 30, 100]) for letter in set(left) - {","}}
        found = paths.contraction_path(letters, set(right), sizes)
        assert cost_of(found, letters, set(right), sizes) == min(all_costs(letters, set(right), sizes))
        assert cost_of(paths.greedy_path(letters, set(right), sizes), letters, set(right), sizes) >= 1


@pytest.mark.parametrize("optimize", ["auto", "greedy", "optimal", True, [(0, 7), (0, 6), (0, 5), (0, 4), (0, 3), (0, 2), (0, 1)]])
def test_many_operands(optimize):
    rng = np.random.default_rng(6)
    text = "ab,bc,cd,de,ef,fg,gh,hi->ai"
    operands = [filled(rng, (3 + p % 3, 3 + (p + 1) % 3), "float64") for p in range(8)]
    wanted, scale = reference(text, operands)
    made = tilewright.einsum(text, *operands, optimize=optimize)
    assert (np.abs(made - wanted) <= most_error(text, operands, scale)).all()
    assert len(tilewright.einsum_path(text, *operands, optimize=optimize).steps) == 7


def test_an_order_of_numpy():
    rng = np.random.default_rng(7)
    operands = [filled(rng, shape, "float64") for shape in ((4, 5), (5, 6), (6, 3))]
    order = np.einsum_path("ab,bc,cd", *operands)[0]
    assert np.allclose(tilewright.einsum("ab,bc,cd", *operands, optimize=order), np.linalg.multi_dot(operands), rtol=1e-12)


A, B = np.ones((3, 4)), np.ones((4, 5))
READ_ONLY = np.zeros((3, 5))
READ_ONLY.flags.writeable = False
WRONG = [
    (TypeError, "takes a string", (), {}),
    (TypeError, "takes a string", (A, B), {}),
    (ValueError, "an operand is missing|name 1 operands", ("ij",), {}),
    (ValueError, "name 1 operands, but 2 are given", ("ij->ij", A, B), {}),
    (ValueError, "'1' is not a letter", ("i1,jk", A, B), {}),
    (ValueError, "'->' must occur once", ("ij->jk->i", A), {}),
    (ValueError, "'->' must occur once", ("ij-jk", A), {}),
    (ValueError, "operand 0 has 2 axes", ("ijk,kl", A, B), {}),
    (ValueError, "operand 1 has 2 axes", ("ij,j", A, B), {}),
    (ValueError, "'z' of the result is not in any operand", ("ij,jk->iz", A, B), {}),
    (ValueError, "'i' occurs twice in the result", ("ij,jk->ii", A, B), {}),
    (ValueError, "size 4 in operand 0, but 3 in operand 1", ("ij,jk", A, A), {}),
    (ValueError, "the sizes 3 and 4 in operand 0", ("ii", A), {}),
    (ValueError, "the operands have '...', but the result does not", ("...j,jk->k", A, B), {}),
    (TypeError, "element type int64 of operand 0", ("ij,jk", A.astype("int64"), B), {}),
    (TypeError, "element type float16 of operand 1", ("ij,jk", A, B.astype("float16")), {}),
    (TypeError, "element type object of operand 0", ("ij,jk", A.astype(object), B), {}),
    (TypeError, "operands 0 and 1 differ: float64 and float32", ("ij,jk", A, B.astype("float32")), {}),
    (TypeError, "float128, float64 have no common type", ("ij,jk", A.astype("longdouble"), B), {"promote": True}),
    (ValueError, r"out has the shape \(3, 4\), but the result has \(3, 5\)", ("ij,jk", A, B), {"out": np.zeros((3, 4))}),
    (ValueError, "out is read-only", ("ij,jk", A, B), {"out": READ_ONLY}),
    (TypeError, "out has the element type float32", ("ij,jk", A, B), {"out": np.zeros((3, 5), dtype="float32")}),
    (TypeError, "out is of type list", ("ij,jk", A, B), {"out": [[0.0] * 5] * 3}),
    (ValueError, "needs out", ("ij,jk", A, B), {"beta": 1}),
    (TypeError, "einsum takes no stream", ("ij,jk", A, B), {"stream": 0}),
    (TypeError, "unknown option 'threds'", ("ij,jk", A, B), {"threds": 1}),
    (ValueError, "threads = -1", ("ij,jk", A, B), {"threads": -1}),
    (TypeError, "operand 1 is of type NoneType, which is not an array", ("ij,jk", A, None), {}),
    (TypeError, "alpha is of type str", ("ij,jk", A, B), {"alpha": "1"}),
    (ValueError, "alpha = 1j is complex", ("ij,jk", A, B), {"alpha": 1j}),
    (ValueError, "'best' is not", ("ij,jk", A, B), {"optimize": "best"}),
    (ValueError, "does not name two", ("ij,jk", A, B), {"optimize": [(0, 2)]}),
    (ValueError, "leaves 2 operands", ("ij,jk", A, B), {"optimize": []}),
    (ValueError, "inhomogeneous", ("ij,jk", [[1.0], [1.0, 2.0]], B), {}),
]


@pytest.mark.parametrize("error, sentence, arguments, options", WRONG)
def test_wrong_input(error, sentence, arguments, options):
    out = options.get("out")
    before = None if out is None else np.array(out, copy=True)
    with pytest.raises(error, match=sentence):
        tilewright.einsum(*arguments, **options)
    assert out is None or np.array_equal(before, np.array(out))


def test_torch():
    torch = pytest.importorskip("torch")
    a, b = torch.rand(5, 3, 4, dtype=torch.float64), torch.rand(5, 6, 4, dtype=torch.float64)
    made = tilewright.einsum("bij,bkj->ikb", a, b)
    assert isinstance(made, torch.Tensor) and torch.allclose(made, torch.einsum("bij,bkj->ikb", a, b))
    c = torch.complex(a, a)
    assert torch.allclose(tilewright.einsum("bij,bkj->bik", c.conj(), c), torch.einsum("bij,bkj->bik", c.conj(), c))
    with pytest.raises(TypeError, match="requires grad"):
        tilewright.einsum("bij,bkj->bik", a.requires_grad_(), b)
    with pytest.raises(TypeError, match="array of torch and operand 1 of numpy"):
        tilewright.einsum("bij,bkj->bik", b, np.ones((5, 6, 4)))


def test_one_operand_with_alpha_0_is_not_read():
    full = np.full((3, 3), np.nan)
    for text in ("ij->ji", "ij->i", "ij->", "ii->i"):
        assert not np.any(tilewright.einsum(text, full, alpha=0))
    out = np.ones((3, 3))
    assert np.all(tilewright.einsum("ij->ji", full, alpha=0, beta=2, out=out) == 2)


def test_overflows_are_infinities_whatever_numpy_is_told():
    big, out = np.full((3, 3), 1e308), np.full((3, 3), 1e200)
    with np.errstate(all="raise"):
        assert np.all(np.isinf(tilewright.einsum("ij->ij", big, out=out, beta=1e200)))
        assert np.isinf(tilewright.einsum("ij->", big))
        assert np.all(np.isinf(tilewright.einsum("ij->ji", big, alpha=10)))
        assert np.all(np.isinf(tilewright.einsum("ijl,jk->ik", np.full((3, 3, 3), 1e308), np.ones((3, 3)))))

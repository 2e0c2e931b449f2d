"""Problems drawn by hypothesis against NumPy's widest type, with bounds on the error of every element: shapes, strides,
broadcasts, factors, operations and results that overlap their operands."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tilewright
from support import DTYPES, assert_product, filled

size = st.one_of(st.integers(0, 9), st.sampled_from([15, 16, 17, 24, 32, 33, 64, 65]))
step = st.sampled_from([1, 1, 1, 2, -1, -2])
seed = st.integers(0, 2 ** 32 - 1)


@st.composite
def laid_out(draw, shape, dtype, rng, repeats=True):
    """An array of this shape with drawn order of axes, steps, offsets and repeated leading dimensions."""
    order = draw(st.permutations(range(len(shape))))
    steps = [draw(step) for _ in shape]
    repeated = [repeats and i < len(shape) - 2 and draw(st.integers(0, 5)) == 0 for i in range(len(shape))]
    offsets = [draw(st.integers(0, 1)) for _ in shape]
    stored = [1 if repeated[i] else abs(steps[i]) * shape[i] + offsets[i] for i in range(len(shape))]
    x = filled(rng, [stored[i] for i in order], dtype).transpose(np.argsort(order))
    cut = tuple(slice(None) if repeated[i] else slice(offsets[i], offsets[i] + abs(steps[i]) * shape[i]) for i in range(len(shape)))
    x = x[cut][tuple(slice(None, None, 1 if repeated[i] else steps[i]) for i in range(len(shape)))]
    return np.broadcast_to(x, shape) if repeats else x


@st.composite
def operands(draw):
    rng = np.random.default_rng(draw(seed))
    dtype = draw(st.sampled_from(DTYPES))
    m, n, k = draw(size), draw(size), draw(size)
    batch = draw(st.lists(st.integers(1, 4), max_size=4))
    own = [draw(st.integers(0, len(batch))) for _ in range(2)]
    thin = [[1 if draw(st.integers(0, 4)) == 0 else size for size in batch[start:]] for start in own]
    return rng, dtype, (m, n, k), draw(laid_out((*thin[0], m, k), dtype, rng)), draw(laid_out((*thin[1], k, n), dtype, rng))


def factor(draw, dtype):
    values = [0, 1, -1, 0.5] + ([1j, 2 - 0.5j] if np.dtype(dtype).kind == "c" else [])
    return draw(st.sampled_from(values))


@given(operands())
def test_products(drawn):
    _, _, _, a, b = drawn
    got = tilewright.matmul(a, b)
    assert got.shape == np.matmul(a, b).shape
    assert_product(got, a, b)


@given(operands(), st.data())
def test_updates(drawn, data):
    rng, dtype, _, a, b = drawn
    shape = np.matmul(a, b).shape
    out = data.draw(laid_out(shape, dtype, rng, repeats=False))
    alpha, beta = factor(data.draw, dtype), factor(data.draw, dtype)
    ta, tb, ca, cb = (data.draw(st.booleans()) for _ in range(4))
    before = out.copy()
    if beta == 0:
        out[...] = np.nan
        before = np.zeros_like(before)
    x = np.conj(a) if ca else a
    y = np.conj(b) if cb else b
    tilewright.matmul(np.swapaxes(a, -1, -2) if ta else a, np.swapaxes(b, -1, -2) if tb else b, out, alpha=alpha, beta=beta,
                      transpose_a=ta, transpose_b=tb, conjugate_a=ca, conjugate_b=cb)
    assert_product(out, x, y, before, alpha, beta)


@given(seed, st.sampled_from(DTYPES), st.integers(1, 12), st.integers(0, 60), st.integers(0, 60), st.sampled_from([0, 1, -0.5]))
def test_results_over_their_operands(drawn, dtype, n, at_a, at_out, beta):
    room = filled(np.random.default_rng(drawn), (2 * n * n + 61,), dtype)
    a, out = room[at_a:at_a + n * n].reshape(n, n), room[at_out:at_out + n * n].reshape(n, n)
    b = filled(np.random.default_rng(drawn + 1), (n, n), dtype)
    x, before = a.copy(), out.copy()
    tilewright.matmul(a, b, out, beta=beta)
    assert_product(out, x, b, before, 1, beta)


@given(st.lists(operands(), min_size=0, max_size=6))
def test_lists(drawn):
    dtype = drawn[0][1] if drawn else "float64"
    kept = [one for one in drawn if one[1] == dtype]
    got = tilewright.grouped_matmul([one[3] for one in kept], [one[4] for one in kept])
    for one, result in zip(kept, got):
        assert_product(result, one[3], one[4])

"""Overlaps of arrays with themselves and each other, compared with the places of all elements: strides of any sign and size,
repeats, sizes of 0."""

import numpy as np
import pytest

from tilewright import _core


def lying(rng, memory):
    shape = rng.integers(0 if rng.random() < 0.05 else 1, 5, rng.integers(1, 5))
    strides = 8 * rng.choice([0, 1, 1, 2, 3, 4, 5, 6, 7, 12, -1, -3, 24, 40], len(shape))
    return np.lib.stride_tricks.as_strided(memory[len(memory) // 2 + rng.integers(-30, 30):], shape, strides)


def places(x):
    first = x.__array_interface__["data"][0]
    return [first + int(np.dot(at, x.strides)) for at in np.ndindex(x.shape)]


@pytest.mark.parametrize("seed", range(4))
def test_arrays_that_lie_anyhow(seed):
    rng, memory, apart = np.random.default_rng(seed), np.zeros(3000), np.zeros(1)
    found = {(one, many): 0 for one in (False, True) for many in (False, True)}
    for _ in range(400):
        x, y = lying(rng, memory), lying(rng, memory)
        px, py = places(x), places(y)
        repeated, shared = len(set(px)) < len(px), not set(px).isdisjoint(py)
        assert _core.repeats(x) == repeated, (x.shape, x.strides)
        copies = _core.shared([x, apart], [apart, apart], [np.zeros(1), y])
        assert copies == ([_core.COPY_A, 0] if shared else []), (x.shape, x.strides, y.shape, y.strides)
        if shared:
            with pytest.raises(ValueError, match="problem 1: its out shares"):
                _core.shared([apart] * 2, [apart] * 2, [x, y])
        else:
            assert _core.shared([apart] * 2, [apart] * 2, [x, y]) == []
        found[repeated, shared] += 1
    assert min(found.values()) > 10


def test_what_would_take_too_long_is_copied():
    """A coin problem with many coins cannot be solved in time."""
    rng = np.random.default_rng(1)
    strides = 8 * (10 ** 9 + rng.integers(0, 10 ** 6, 12))
    x, y = (np.lib.stride_tricks.as_strided(np.zeros(1), (9,) * 6, one) for one in (strides[:6], strides[6:]))
    assert not _core.repeats(x)
    apart = np.zeros(1)
    assert _core.shared([x, apart], [apart, apart], [np.zeros(1), y]) == [_core.COPY_A, 0]

# %% [markdown]
# Many Kalman filters at once
# ===========================
# Trackers, and navigation by many receivers, run thousands of small independent filters in step. Each has a state of 8 numbers (place and
# velocity in four channels) and measures 4; a step is a dozen products of 8x8 and 4x8 matrices. Here all filters take each product together.

# %%
import sys

import numpy as np

import tilewright

filters, steps = (int(sys.argv[1]) if len(sys.argv) > 1 else 20000), 5
states, measured = 8, 4

# %% [markdown]
# Every filter has noise of its own; the model of motion and what is measured are the same for all. Arrays of one matrix are broadcast: no
# copy per filter is made of `motion` and `sensor`.

# %%
rng = np.random.default_rng(2)
motion = np.eye(states) + 0.1 * np.eye(states, k=measured)
sensor = np.eye(measured, states)
drift = 0.01 * np.eye(states) * rng.uniform(0.5, 2.0, (filters, 1, 1))
noise = 0.25 * np.eye(measured) * rng.uniform(0.5, 2.0, (filters, 1, 1))
x = rng.standard_normal((filters, states, 1))
p = np.tile(np.eye(states), (filters, 1, 1))


# %% [markdown]
# One step by `multiply`, which is tilewright.matmul or, for the check, NumPy's. `out=` and `beta=1` add to noise that is there already.

# %%
def step(x, p, z, multiply):
    """(x, p) after the motion and the measurement z (filters, measured, 1). Joseph's form keeps p symmetric."""
    x = multiply(motion, x)
    p = multiply(multiply(motion, p), motion.T) + drift
    crossed = multiply(p, sensor.T)
    s = multiply(sensor, crossed) + noise
    gain = multiply(crossed, np.linalg.inv(s))
    x = x + multiply(gain, z - multiply(sensor, x))
    rest = np.eye(states) - multiply(gain, sensor)
    p = multiply(multiply(rest, p), np.swapaxes(rest, -1, -2)) + multiply(multiply(gain, noise), np.swapaxes(gain, -1, -2))
    return x, p


# %%
theirs, theirs_p = x, p
for number in range(steps):
    z = rng.standard_normal((filters, measured, 1))
    x, p = step(x, p, z, tilewright.matmul)
    theirs, theirs_p = step(theirs, theirs_p, z, np.matmul)

# %% [markdown]
# Both agree, and the covariances are symmetric and positive definite.

# %%
assert np.allclose(x, theirs, rtol=1e-10, atol=1e-12) and np.allclose(p, theirs_p, rtol=1e-10, atol=1e-12)
assert np.allclose(p, np.swapaxes(p, -1, -2), atol=1e-12) and np.linalg.eigvalsh(p).min() > 0
print(f"{filters} filters, {steps} steps: states and covariances agree with NumPy's")

# %% [markdown]
# Covariances of radar data
# =========================
# Space-time adaptive processing estimates a covariance matrix for each range cell, from the snapshots of the cells around it, and steers
# with its inverse: R = 1/S sum over snapshots of x x^H. With `channels` antennas these are products of channels x snapshots, complex, one
# for every cell.

# %%
import sys

import numpy as np

import tilewright

cells, snapshots, channels = (int(sys.argv[1]) if len(sys.argv) > 1 else 4000), 48, 12

# %% [markdown]
# Data as they arrive: one snapshot after the other, all cells of it. A cell's matrix therefore is a view with strides, which is multiplied as
# it lies.

# %%
rng = np.random.default_rng(3)
shape = (snapshots, cells, channels)
data = ((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)) / np.sqrt(2)).astype("complex64")
x = data.transpose(1, 0, 2)  # (cells, snapshots, channels): a view

# %% [markdown]
# R[c] = X[c]^T conj(X[c]) / S: `transpose_a` and `conjugate_b` are operations of the product and not passes over the data.

# %%
covariance = tilewright.matmul(x, x, alpha=1 / snapshots, transpose_a=True, conjugate_b=True)

# %% [markdown]
# alpha and beta serve diagonal loading and a running average over time: R = 0.9 R + 0.1 R_new, in place.

# %%
average = covariance.copy()
tilewright.matmul(x, x, out=average, alpha=0.1 / snapshots, beta=0.9, transpose_a=True, conjugate_b=True)

# %% [markdown]
# The weights that keep one direction and suppress the rest, w = R^-1 s / (s^H R^-1 s), and the power that is left in each cell.

# %%
steering = np.exp(1j * np.pi * 0.3 * np.arange(channels)).astype("complex64")
loaded = covariance + 0.01 * np.eye(channels, dtype="complex64")
weights = np.linalg.solve(loaded, np.broadcast_to(steering, (cells, channels))[..., None])[..., 0]
weights /= (weights @ steering.conj())[:, None].conj()
power = tilewright.einsum("ci,cij,cj->c", weights.conj(), covariance, weights).real

# %%
wide = x.astype("complex128")
wanted = np.einsum("csi,csj->cij", wide, wide.conj()) / snapshots
assert np.allclose(covariance, wanted, rtol=1e-5, atol=1e-5) and np.allclose(average, wanted, rtol=1e-5, atol=1e-5)
assert np.allclose(covariance, covariance.conj().swapaxes(-1, -2), atol=1e-6)
assert np.allclose(power, np.einsum("ci,cij,cj->c", weights.conj().astype("complex128"), wanted, weights).real, rtol=1e-3)
assert np.allclose(weights.conj() @ steering, 1, atol=1e-3), "the steered direction passes unchanged"
print(f"{cells} covariances of {channels} channels agree with NumPy's in double precision")

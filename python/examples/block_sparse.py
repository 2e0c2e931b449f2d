# %% [markdown]
# Block-sparse matrices
# =====================
# Codes of quantum chemistry keep matrices whose blocks are dense or absent: a block for each pair of atoms that are near. Their products are
# long lists of small products, many of which are added to the same block (the stacks of DBCSR and CP2K). `stack_matmul` takes such lists as
# they are.

# %%
import sys

import numpy as np

import tilewright

rows, block, near = (int(sys.argv[1]) if len(sys.argv) > 1 else 400), 13, 6


# %% [markdown]
# A matrix of blocks: `at[i, j]` is where block (i, j) lies in `blocks`, or -1. Blocks are there near the diagonal, and some elsewhere.

# %%
def block_sparse(rng):
    distance = np.abs(np.subtract.outer(np.arange(rows), np.arange(rows)))
    there = (distance < near) | (rng.random((rows, rows)) < 2 / rows)
    at = np.full((rows, rows), -1)
    at[there] = np.arange(there.sum())
    return at, rng.standard_normal((there.sum(), block, block))


rng = np.random.default_rng(4)
a_at, a = block_sparse(rng)
b_at, b = block_sparse(rng)

# %% [markdown]
# The symbolic product: for every block (i, k) of A and every block (k, j) of B there is a product, which goes to block (i, j) of C.

# %%
products = []
for k in range(rows):
    i, j = np.meshgrid(np.flatnonzero(a_at[:, k] >= 0), np.flatnonzero(b_at[k] >= 0), indexing="ij")
    products.append(np.stack([i.ravel(), j.ravel(), np.full(i.size, k)]))
i, j, k = np.concatenate(products, axis=1)
c_at = np.full((rows, rows), -1)
c_at[i, j] = 0
c_at[c_at == 0] = np.arange((c_at == 0).sum())

# %% [markdown]
# The numeric product: all products in one call, into blocks that need not be zeroed, since beta = 0 does not read them.

# %%
c = np.empty((c_at.max() + 1, block, block))
tilewright.stack_matmul(a, b, c, a_at[i, k], b_at[k, j], c_at[i, j])
print(f"{len(i)} products of {block}x{block} blocks into {len(c)} blocks")


# %% [markdown]
# A comparison with dense matrices.

# %%
def dense(at, blocks):
    whole = np.zeros((rows, rows, block, block))
    whole[at >= 0] = blocks[at[at >= 0]]
    return whole.transpose(0, 2, 1, 3).reshape(rows * block, rows * block)


assert np.allclose(dense(c_at, c), dense(a_at, a) @ dense(b_at, b), rtol=1e-12, atol=1e-11)
print("the blocks agree with the product of dense matrices")

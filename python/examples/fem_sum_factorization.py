# %% [markdown]
# Finite elements of high order, matrix-free
# ==========================================
# The Laplacian on a mesh of hexahedra of degree p has (p + 1)^3 unknowns per element. As a matrix, an element's operator has (p + 1)^6
# numbers; applied direction by direction (sum factorization) it is a few products with matrices of p + 2 by p + 1. Each of them is a
# batched product with strides, so einsum moves nothing around: what einsum_path says is checked below, and so is the result.

# %%
import sys

import numpy as np

import tilewright

elements, degree = (int(sys.argv[1]) if len(sys.argv) > 1 else 2000), 4
nodes, points = degree + 1, degree + 2


# %% [markdown]
# Values and derivatives of the Lagrange polynomials of the nodes, at Gauss points of [-1, 1]: `value[x, i]` and `slope[x, i]`.

# %%
def lagrange(at, of):
    """(values, slopes) at the points `at` of the polynomials that are 1 at one of `of` and 0 at the others; (points, nodes) each."""
    values, slopes = np.empty((len(at), len(of))), np.empty((len(at), len(of)))
    for i, node in enumerate(of):
        others = np.delete(of, i)
        polynomial = np.polynomial.Polynomial.fromroots(others) / np.prod(node - others)
        values[:, i], slopes[:, i] = polynomial(at), polynomial.deriv()(at)
    return values, slopes


node_places = np.cos(np.pi * np.arange(nodes)[::-1] / degree)
point_places, weights = np.polynomial.legendre.leggauss(points)
value, slope = lagrange(point_places, node_places)

# %% [markdown]
# The unknowns, and what the geometry and the quadrature contribute at each point: here boxes with sides of their own per element.

# %%
rng = np.random.default_rng(1)
u = rng.standard_normal((elements, nodes, nodes, nodes))
sides = rng.uniform(0.5, 2.0, (elements, 3))
volume = sides.prod(axis=1) / 8
weight = np.einsum("x,y,z->xyz", weights, weights, weights)


# %% [markdown]
# The operator: for each direction the derivative at the points, scaled, and tested with the same derivatives. `beta=1` adds the second and
# third direction to what the first one has left in `v`.

# %%
def apply(u, v, einsum):
    """v = A u, element by element; both (elements, nodes, nodes, nodes)."""
    for direction in range(3):
        matrices = [slope if axis == direction else value for axis in range(3)]
        g = einsum("xi,yj,zk,eijk->exyz", *matrices, u)
        g *= (volume * (2 / sides[:, direction]) ** 2)[:, None, None, None] * weight
        einsum("xi,yj,zk,exyz->eijk", *matrices, g, out=v, beta=float(direction > 0))


v = np.empty_like(u)
apply(u, v, tilewright.einsum)

# %% [markdown]
# The products, none of which copied an operand:

# %%
path = tilewright.einsum_path("xi,yj,zk,eijk->exyz", slope, value, value, u)
print(path)
assert path.copied_bytes == 0

# %% [markdown]
# A comparison with the operator as a matrix, for some elements: A = sum over directions of B^T W B, B the Kronecker product of three matrices.

# %%
for element in range(0, elements, max(1, elements // 3)):
    matrix = np.zeros((nodes ** 3, nodes ** 3))
    for direction in range(3):
        x, y, z = (slope if axis == direction else value for axis in range(3))
        whole = np.kron(np.kron(x, y), z)
        scale = volume[element] * (2 / sides[element, direction]) ** 2
        matrix += whole.T @ (scale * weight.ravel()[:, None] * whole)
    wanted = matrix @ u[element].ravel()
    assert np.allclose(v[element].ravel(), wanted, rtol=1e-11, atol=1e-11 * np.abs(wanted).max())
assert np.allclose(tilewright.einsum("eijk,eijk->e", u, v), np.einsum("eijk,eijk->e", u, v)), "energies"
print(f"{elements} elements of degree {degree}: the operator agrees with its matrix")

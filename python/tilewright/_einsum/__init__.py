"""Contractions as (batched) products: parse.py reads subscripts, path.py orders operands, product.py finds the product that a pair of
strided operands is, plan.py joins these into steps, run.py carries them out on arrays, report.py tells."""

from .report import EinsumPath
from .run import einsum, einsum_path

__all__ = ["EinsumPath", "einsum", "einsum_path"]

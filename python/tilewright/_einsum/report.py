"""The result of einsum_path(): a plan in words and as plain data."""

import math

from .. import _html


class EinsumPath:
    """steps: one dict per product, with `contraction`, the sizes `m`, `n`, `k`, `levels` (counts of the batch, outermost first),
    `labels` of each, `added_up` (how many products are summed one after the other), `copies` (which of a, b, c are copied, a and b
    before the product, c after it) and `summed` (which are summed over labels of their own first). flops: operations of all products.
    copied_bytes: of all copies and sums of single operands. piece: (label, size) where host operands are contracted in pieces that stay in a
    cache, with all threads, else None. str() and notebooks show a table."""

    def __init__(self, expression, plan, dtype, item_bytes, pieces=None):
        self.contraction = ",".join(expression.inputs) + "->" + expression.output
        self.dtype = dtype
        self.piece = None if pieces is None else tuple(pieces)
        self.steps = [] if plan is None else [step_data(step) for step in plan.steps]
        self.flops = 0.0 if plan is None else plan.flops
        self.copied_bytes = 0 if plan is None else plan.copied_elements * item_bytes
        self.copy_count = sum(len(step["copies"]) for step in self.steps)

    def rows(self):
        yield "contraction", "m", "n", "k", "batch", "added up", "copies"
        for step in self.steps:
            m, n, k = (f"{step[key]} {step['labels'][key]}".strip() for key in "mnk")
            batch = " x ".join(f"{count} {labels}" for count, labels in zip(step["levels"], step["labels"]["levels"])) or "1"
            notes = [*step["copies"], *(f"sum of {name}" for name in step["summed"])]
            yield step["contraction"], m, n, k, batch, str(step["added_up"]), " ".join(notes) or "none"

    def __str__(self):
        rows = list(self.rows())
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        pieces = "" if self.piece is None else f", in pieces of {self.piece[1]} {self.piece[0]}"
        return "\n".join([f"{self.contraction}, {self.dtype}: {self.flops:.3g} operations, {self.copied_bytes} bytes copied{pieces}", *lines])

    __repr__ = __str__

    def _repr_html_(self):
        head, *rows = self.rows()
        return _html.table(head, rows, str(self).partition("\n")[0])


def step_data(step):
    made = step.product
    *levels, m, n, k = made.letters
    summed = [name for name, source in (("a", step.a), ("b", step.b)) if source.total is not None]
    return {"contraction": step.text, "m": made.m, "n": made.n, "k": made.k, "levels": list(made.levels),
            "labels": {"m": m, "n": n, "k": k, "levels": levels}, "added_up": math.prod(made.sums), "copies": list(made.copies),
            "summed": summed}

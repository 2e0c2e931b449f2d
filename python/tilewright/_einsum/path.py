"""In which order operands of a contraction meet. Up to EXACT operands the cheapest order is found; beyond, opt_einsum's where it
is installed, else a greedy one. Nothing here knows strides: an order is judged by its operations and by the elements it moves."""

import math
from functools import reduce

EXACT = 6         # largest number of operands for which all orders are tried, 3 ** operands / 2 pairs of subsets
PER_ELEMENT = 8   # operations that cost as much as moving one element of an operand or a result


def size_of(letters, sizes):
    return math.prod(sizes[letter] for letter in letters)


def kept_letters(own, others):
    """Returns the letters `own` that remain after a product: those that the result or another operand still needs."""
    return own & others


def pair_cost(left, right, kept, sizes):
    moved = size_of(left, sizes) + size_of(right, sizes) + size_of(kept, sizes)
    return 2 * size_of(left | right, sizes) + PER_ELEMENT * moved


def exact_path(inputs, output, sizes):
    """The cheapest tree, by subsets: best[S] is the least cost over all ways to split S in two (Bellman)."""
    count = len(inputs)
    whole = (1 << count) - 1
    letters = [reduce(set.union, (inputs[i] for i in range(count) if subset >> i & 1), set()) for subset in range(whole + 1)]
    kept = [kept_letters(letters[subset], letters[whole & ~subset] | output) for subset in range(whole + 1)]
    best = {1 << i: (0, None) for i in range(count)}
    for subset in sorted(range(1, whole + 1), key=int.bit_count):
        if subset in best:
            continue
        part = (subset - 1) & subset
        while part:
            other = subset ^ part
            if part > other:
                cost = best[part][0] + best[other][0] + pair_cost(kept[part], kept[other], kept[subset], sizes)
                if subset not in best or cost < best[subset][0]:
                    best[subset] = (cost, (part, other))
            part = (part - 1) & subset
    return positions_of_tree(best, whole, count)


def positions_of_tree(best, whole, count):
    """The tree as a list of pairs of positions in the list of what is left, as NumPy and opt_einsum write paths."""
    left, path = [1 << i for i in range(count)], []

    def visit(subset):
        split = best[subset][1]
        if split is None:
            return
        for part in split:
            visit(part)
        pair = sorted(left.index(part) for part in split)
        path.append(tuple(pair))
        for part in split:
            left.remove(part)
        left.append(subset)

    visit(whole)
    return path


def greedy_path(inputs, output, sizes):
    """Again and again the pair whose product shrinks the operands most; outer products come last."""
    left, path = [set(one) for one in inputs], []
    while len(left) > 1:
        found = []
        for i in range(len(left)):
            for j in range(i + 1, len(left)):
                others = set().union(output, *(left[p] for p in range(len(left)) if p not in (i, j)))
                kept = kept_letters(left[i] | left[j], others)
                gain = size_of(kept, sizes) - size_of(left[i], sizes) - size_of(left[j], sizes)
                found.append((not left[i] & left[j], gain, pair_cost(left[i], left[j], kept, sizes), i, j, kept))
        *_, i, j, kept = min(found, key=lambda one: one[:5])
        path.append((i, j))
        left = [one for p, one in enumerate(left) if p not in (i, j)] + [kept]
    return path


def given_path(path, count):
    """A path of the caller's, checked."""
    left, checked = count, []
    for step in path:
        if isinstance(step, str):  # numpy.einsum_path begins its list with a word
            continue
        pair = tuple(sorted(int(position) for position in step))
        if len(pair) == 1 and left == 1:
            continue
        if len(pair) != 2 or pair[0] == pair[1] or pair[0] < 0 or pair[1] >= left:
            raise ValueError(f"einsum optimize: step {tuple(step)} does not name two of the {left} remaining operands")
        checked.append(pair)
        left -= 1
    if left != 1:
        raise ValueError(f"einsum optimize: the path leaves {left} operands, not one result")
    return checked


def contraction_path(inputs, output, sizes, optimize="auto"):
    """Pairs of positions: the two operands leave the list and their product goes to its end. `optimize`: 'auto', 'greedy', 'optimal'
    (every order; 3 ** operands work), or a path. Source of the form: numpy.einsum_path."""
    inputs, output = [set(one) for one in inputs], set(output)
    if not isinstance(optimize, (str, bool)):
        return given_path(optimize, len(inputs))
    if optimize not in ("auto", "greedy", "optimal", True, False):
        raise ValueError(f"einsum optimize: '{optimize}' is not one of 'auto', 'greedy', 'optimal', or a path")
    if len(inputs) == 1:
        return []
    if optimize == "optimal" or (optimize != "greedy" and len(inputs) <= EXACT):
        return exact_path(inputs, output, sizes)
    if optimize != "greedy":
        try:
            import opt_einsum  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            return greedy_path(inputs, output, sizes)
        shapes = [tuple(sizes[letter] for letter in sorted(one)) for one in inputs]
        text = ",".join("".join(sorted(one)) for one in inputs) + "->" + "".join(sorted(output))
        return given_path(opt_einsum.contract_path(text, *shapes, shapes=True)[0], len(inputs))
    return greedy_path(inputs, output, sizes)

#!/usr/bin/env python3
"""Predicts pdgemm and pdgetrf on a cluster from what `tilewright calibrate` fitted on one node and from latency and rate of the
network, by going through their steps on a P x Q grid (docs/distributed.md). Every rank takes the same time for its part, which is
the largest; steps do not overlap, as they do not in PBLAS.

    cluster_model.py time gemm --n 32768 --grid 1x2 --models models.jsonl [--gpu] [--nb 256] [--block 4096]
    cluster_model.py choose lu --n 32768 --ranks 4 --models models.jsonl --gpu        the best NB and grid
    cluster_model.py scale lu --n 32768 --nodes 1,4,16,10000 --weak --models ...       weak (n is one rank's) or strong scaling
    cluster_model.py check runs.jsonl --models models.jsonl                            beside lines of distributed_products

Of the network: --latency and --bytes-per-s, or the last line of routine network in --network runs.jsonl. --json prints rows."""

import argparse
import gzip
import json
import math
import sys

WORD = 8  # bytes of f64, the type of all matrices here
USUAL_NETWORK = {"latency_s": 2e-6, "bytes_per_s": 20e9}  # of a current cluster, to be replaced by measured values
BLOCKS = (64, 128, 192, 256, 384, 512, 768, 1024)


def rows_of(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def transfer(t, size):
    return t["start_s"] + size * t["s_per_byte"] if size > 0 else 0.0


def product(t, m, n, k):
    """The general form of docs/calibrate.md."""
    if min(m, n, k) <= 0:
        return 0.0
    return t["start_s"] + t["s_per_product"] * m * n * (k + t["waiting_k"]) + t["s_per_c"] * m * n + t["s_per_ab"] * (m + n) * k


class Rank:
    """The speed of one rank: the CPU's fitted product and, with gpu, a GPU's product and pageable transfers."""

    def __init__(self, rows, gpu=False):
        models = {(r["model"], r.get("dtype")): r["coefficients"] for r in rows if "model" in r}
        if ("gemm_host", "f64") not in models:
            sys.exit("cluster_model: the models have no gemm_host of f64; tilewright calibrate --dtype f64 makes one")
        self.host = models["gemm_host", "f64"]
        self.device = self.link = None
        if gpu:
            if ("gemm_device", "f64") not in models or ("transfer", None) not in models:
                sys.exit("cluster_model: --gpu, but the models have no gemm_device of f64 and no transfer")
            self.device, self.link = models["gemm_device", "f64"], models["transfer", None]
            # Pageable operands are copied through pinned rings that threads fill: the slower of copying and moving
            # counts.
            copies = models.get(("host_copy", None), {}).get("copies", [])
            fastest = min((c["s_per_byte"] for c in copies), default=0.0)
            self.per_byte = max(2 * fastest, self.link["to_device"]["s_per_byte"] * self.link["duplex"])

    def gemm(self, m, n, k):
        host = product(self.host, m, n, k)
        if self.device is None or min(m, n, k) <= 0:
            return host
        moved = WORD * max(m * n + m * k + k * n, m * n) * self.per_byte  # A and B come in; C goes out concurrently
        return min(host, max(product(self.device, m, n, k), moved) + self.link["to_device"]["start_s"])

    def on_host(self, m, n, k):
        return product(self.host, m, n, k)


class Cluster:
    def __init__(self, rank, network, rows, columns):
        self.rank, self.p, self.q = rank, rows, columns
        self.latency, self.per_byte = network["latency_s"], 1 / network["bytes_per_s"]

    def share(self, size, processes, nb):
        """The largest part of so many rows (columns) in blocks of nb."""
        blocks = math.ceil(size / nb)
        return min(size, math.ceil(blocks / processes) * nb)

    def ring(self, size, processes):
        """A broadcast from neighbour to neighbour, of which the next step's follows behind: receive, and send on."""
        return 0.0 if processes == 1 else 2 * (self.latency + size * self.per_byte)

    def tree(self, size, processes):
        return math.ceil(math.log2(processes)) * (self.latency + size * self.per_byte) if processes > 1 else 0.0

    def gemm(self, m, n, k, nb, block):
        """pdgemm by the algorithm that moves A and B: steps of `block` of k, or one where k lies in one block."""
        rows, columns = self.share(m, self.p, nb), self.share(n, self.q, nb)
        seconds, done = 0.0, 0
        depth = k if k <= nb else block
        while done < k:
            step = min(depth, k - done)
            seconds += self.ring(rows * step * WORD, self.q) + self.ring(columns * step * WORD, self.p)
            seconds += self.rank.gemm(rows, columns, step)
            left = k - done - step
            done += step
            if left >= step:  # all whole steps are alike
                whole = left // step
                seconds += whole * (self.ring(rows * step * WORD, self.q) + self.ring(columns * step * WORD, self.p) +
                                    self.rank.gemm(rows, columns, step))
                done += whole * step
        return seconds

    def panel(self, m, nb):
        """One process column factors m x nb, the others wait; pivots and, with several rows, the messages of every step."""
        rows = self.share(m, self.p, nb)
        if self.p == 1:  # LAPACK's panel by halves counts as products of half the panel
            work = self.rank.on_host(rows, nb / 2, nb)
        else:  # rank-1 updates, at the rate at which the panel passes through memory once each
            work = nb * rows * nb / 2 * WORD * 2 / self.memory_bytes_per_s
            work += nb * (3 * self.tree(WORD * nb, self.p))
        return work + self.tree(4 * nb, self.q)

    memory_bytes_per_s = 1e11  # of all cores of a rank together, reading and writing; --memory

    def swap(self, rows, n, nb):
        """`rows` pairs of rows change places across n columns."""
        columns = self.share(n, self.q, nb)
        if self.p == 1:
            return rows * columns * WORD * 4 / self.memory_bytes_per_s
        return rows * 2 * (self.latency + columns * WORD * self.per_byte)

    def triangle(self, n, nb):
        """The unit lower triangle of one block, for n columns."""
        columns = self.share(n, self.q, nb)
        return self.ring(nb * nb * WORD, self.q) + self.rank.on_host(nb, columns, nb / 2)

    def solve(self, m, n, nb, block):
        if m <= nb:
            return self.triangle(n, nb)
        top = max(1, m // nb // 2) * nb
        return self.solve(top, n, nb, block) + self.gemm(m - top, n, top, nb, block) + self.solve(m - top, n, nb, block)

    def lu(self, n, nb, block, halves=True):
        return self.lu_halves(n, n, nb, block) if halves else self.lu_blocks(n, nb)

    def lu_halves(self, m, n, nb, block):
        """libtilewright_scalapack's pdgetrf of m x n. Of four or more blocks, both halves' are computed; 10,000 nodes have some
        thousand blocks, so this is no loop to shorten."""
        if n <= nb:
            return self.panel(m, nb)
        left = max(1, n // nb // 2) * nb
        right = n - left
        return (self.lu_halves(m, left, nb, block) + self.swap(left, right, nb) + self.solve(left, right, nb, block) +
                self.gemm(m - left, right, left, nb, block) + self.lu_halves(m - left, right, nb, block) + self.swap(right, left, nb))

    def lu_blocks(self, n, nb):
        """ScaLAPACK's own: a panel, and the rest updated by it."""
        seconds = 0.0
        for done in range(0, n, nb):
            rest = n - done - nb
            seconds += self.panel(n - done, nb) + self.swap(nb, n, nb)
            if rest > 0:
                seconds += self.triangle(rest, nb) + self.gemm(rest, rest, nb, nb, nb)
        return seconds


def flops(routine, n):
    return 2 * n**3 if routine == "gemm" else 2 * n**3 / 3


def grids(ranks):
    return [(p, ranks // p) for p in range(1, ranks + 1) if ranks % p == 0 and p <= ranks // p]


def seconds_of(routine, cluster, n, nb, block, halves):
    return cluster.gemm(n, n, n, nb, block) if routine == "gemm" else cluster.lu(n, nb, block, halves)


def best(routine, rank, network, n, ranks, block, halves, blocks=BLOCKS):
    """(seconds, nb, P, Q) of the fastest."""
    tried = [(seconds_of(routine, Cluster(rank, network, p, q), n, nb, block, halves), nb, p, q) for p, q in grids(ranks) for nb in blocks
             if nb * max(p, q) <= n or nb == blocks[0]]
    return min(tried)


def row_of(routine, n, nb, p, q, seconds, **more):
    return {"routine": "p" + {"gemm": "dgemm", "lu": "dgetrf"}[routine], "n": n, "nb": nb, "grid": f"{p}x{q}", "predicted_s": seconds,
            "gflops": flops(routine, n) / seconds / 1e9, **more}


def scale(a, rank, network):
    base = None
    for ranks in a.nodes:
        n = int(a.n * math.sqrt(ranks)) if a.weak else a.n
        # A search over all grids of 10,000 ranks is cheap, but not over all blocks as well.
        seconds, nb, p, q = best(a.routine, rank, network, n, ranks, a.block, a.halves, (a.nb,) if a.nb else (256, 512))
        rate = flops(a.routine, n) / seconds / ranks
        base = base or rate
        yield row_of(a.routine, n, nb, p, q, seconds, ranks=ranks, efficiency=rate / base)


def check(a, network):
    """Compares recorded runs with predictions: with the adapter by halves, else by blocks."""
    rows = rows_of(a.models)
    for run in rows_of(a.runs):
        if run.get("family") != "distributed" or run["routine"] not in ("pdgemm", "pdgetrf"):
            continue
        p, q = map(int, run["grid"].split("x"))
        label = run.get("label", "")
        rank = Rank(rows, gpu="gpu" in label)
        routine = "gemm" if run["routine"] == "pdgemm" else "lu"
        cluster = Cluster(rank, network, p, q)
        seconds = seconds_of(routine, cluster, run["n"], run["nb"], run["logical_block"], "adapter" in label)
        yield row_of(routine, run["n"], run["nb"], p, q, seconds, measured_s=run["best_s"], label=label, deviation=seconds / run["best_s"] - 1)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("time", "choose", "scale", "check"):
        v = verbs.add_parser(verb)
        v.add_argument("runs" if verb == "check" else "routine", **({} if verb == "check" else {"choices": ("gemm", "lu")}))
        v.add_argument("--models", required=True)
        v.add_argument("--network")
        v.add_argument("--latency", type=float)
        v.add_argument("--bytes-per-s", type=float)
        v.add_argument("--memory", type=float, help="bytes per second of a rank's cores, for swaps and panels")
        v.add_argument("--gpu", action="store_true")
        v.add_argument("--n", type=int, default=32768)
        v.add_argument("--nb", type=int, default=256 if verb == "time" else 0)
        v.add_argument("--block", type=int, default=4096)
        v.add_argument("--grid", default="1x1")
        v.add_argument("--ranks", type=int, default=1)
        v.add_argument("--nodes", type=lambda text: [int(x) for x in text.split(",")], default=[1, 4, 16, 64, 256, 1024, 4096, 10000])
        v.add_argument("--weak", action="store_true")
        v.add_argument("--blocks", dest="halves", action="store_false", help="ScaLAPACK's own pdgetrf, and not the one by halves")
        v.add_argument("--json", action="store_true")
    return parser.parse_args()


def network_of(a):
    network = dict(USUAL_NETWORK)
    for row in rows_of(a.network) if a.network else ():
        if row.get("routine") == "network":
            network = {"latency_s": row["latency_s"], "bytes_per_s": row["bytes_per_s"]}
    if a.latency:
        network["latency_s"] = a.latency
    if a.bytes_per_s:
        network["bytes_per_s"] = a.bytes_per_s
    return network


def main():
    a = arguments()
    network = network_of(a)
    if a.memory:
        Cluster.memory_bytes_per_s = a.memory
    if a.verb == "check":
        rows = check(a, network)
    else:
        rank = Rank(rows_of(a.models), a.gpu)
        if a.verb == "time":
            p, q = map(int, a.grid.split("x"))
            rows = [row_of(a.routine, a.n, a.nb, p, q, seconds_of(a.routine, Cluster(rank, network, p, q), a.n, a.nb, a.block, a.halves))]
        elif a.verb == "choose":
            seconds, nb, p, q = best(a.routine, rank, network, a.n, a.ranks, a.block, a.halves, (a.nb,) if a.nb else BLOCKS)
            rows = [row_of(a.routine, a.n, nb, p, q, seconds)]
        else:
            rows = scale(a, rank, network)
    for row in rows:
        if a.json:
            print(json.dumps(row))
        else:
            print("  ".join(f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()

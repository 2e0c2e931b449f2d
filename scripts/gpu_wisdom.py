#!/usr/bin/env python3
"""Makes records of wisdom from rows that bench_gemm_small and bench_gemm_large wrote: the best of ours for each problem,
and what the vendor's library took, which plans weigh against it; of windows of energy the most frugal, for that objective.
Rows whose configs were wrong are never written, so every record has passed its check; rows without a source hash, or of
another one than the newest, are left out. What bench_same_code found to compile to the same machine code since (lines with
`same_code`) counts as made with the newer sources; the last of these files decides for each family which those are. The
vendor's library is taken from the run that ours is from, since cards differ by some percent, and left out where there is
none of ours. Times (or windows of energy) in files after --anew replace those that the others have of the same problem, though
these be faster: the rule for rounding errors refuses their configs.

    cd results/h200; ../../scripts/gpu_wisdom.py {gemm_small,same_code}-*.jsonl* \\
        gemm_large-20261123-{f64,f64-second,shapes,shapes-second,energy-f64-4096}.jsonl* \\
        gemm_large-20261123-{f64-third,c128,shapes-third,beta,tail,energy-f64-8192,energy-f32}.jsonl* \\
        gemm_large-20261124-{c64,f32,f64,c128,shapes}.jsonl* gemm_large-20261124-{c64-second,f32-second,f32-third}.jsonl* \\
        gemm_large-20261125-{shapes,odd,middling-{f64,f32,c64,c128},skinny-f32,probe}.jsonl* \\
        --anew gemm_large-20261125-{f32-rounding,f32-rounding-nn,shapes-rounding}.jsonl* \\
        gemm_large-20261125-{f32-rounding-second,shapes-rounding-second}.jsonl* > ../../wisdom/h200.jsonl
"""
import argparse
import gzip
import json
import sys

LAYOUTS = {"single", "strided", "pointer", "variable", "interleaved", "block_interleaved"}


def lines_of(paths):
    for path in paths:
        with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as lines:
            for number, text in enumerate(lines, 1):
                try:
                    line = json.loads(text)
                except ValueError as error:
                    raise SystemExit(f"gpu_wisdom.py: {path}: line {number} cannot be read ({error})") from None
                yield {**line, "run": f"{path} on {line.get('device_uuid')}"}


def code_of(record, source_hash):
    return record["family"], record["problem"], json.dumps(record["config"], sort_keys=True), source_hash


def held_for(record, same):
    """The hashes of sources from which the record's config has the same machine code, one after the other."""
    hashes = [record["source_hash"]]
    while (following := same.get(code_of(record, hashes[-1]))) not in (None, *hashes):
        hashes.append(following)
    return hashes


def rows(lines):
    for row in lines:
        # Of sizes that vary the batch of any m, n and k stands for all, not the one of squares.
        special = row.get("layout") == "variable" and row.get("square")
        # What spills is not shipped; where the fastest does, screening knows others.
        whole = row.get("phase", "compare") in ("compare", "screen", "energy") and "seconds_low" in row
        # Finalists that lost were timed in the rounds that chose the best, which flatter the luckiest.
        lost = row.get("impl") == "tilewright" and row.get("best") is False
        spills = (row.get("metrics") or {}).get("spill_bytes", 0) > 0
        # Nor is what was measured on data in a cache: plans for device memory ask for none.
        cold = row.get("residency", "cold") == "cold"
        if whole and not lost and row.get("layout") in LAYOUTS and cold and not special and not spills:
            yield row


def problem_of(row):
    text = row["problem"].replace(":lda=0:ldb=0:ldc=0", "")  # of sizes that vary, as plans state them
    return text if ":residency=" in text else text.replace(":location=", ":residency=cold:location=")


def energy_of(row):
    """None for times: a window without energy (its meter gave none) is one of time like any other."""
    return row.get("energy_j") if row.get("phase") == "energy" else None


def record_of(row):
    family, config = row["family"], row.get("config")
    problems = max(1, row.get("batch_count") or 1)  # rows are of a launch, records of a problem
    if row["impl"] != "tilewright":
        family, config = "cublas", {"version": row["impl_version"]}
    energy = energy_of(row)
    return {
        "family": family,
        "problem": problem_of(row),
        "config": config,
        "device": row["device"],
        "driver": row["driver"],
        "source_hash": row["source_hash"] if family != "cublas" else "vendor",
        "compiler": row.get("compiler", ""),
        "objective": "time" if energy is None else "energy",
        **({} if energy is None else {"energy_j": energy / problems}),
        "seconds": row["seconds"] / problems,
        "seconds_low": row["seconds_low"] / problems,
        "seconds_high": row["seconds_high"] / problems,
        "samples": row["samples"],
        "time": row["time"],
        "verdict": "passed",
    }


def with_those_measured_anew(lines, anew):
    """`lines` without the rows of `anew`'s problems and objectives, and `anew`."""
    taken = {(problem_of(row), energy_of(row) is None) for row in rows(anew)}
    dropped = {id(row) for row in rows(line for line in lines if "same_code" not in line)
               if (problem_of(row), energy_of(row) is None) in taken}
    return [line for line in lines if id(line) not in dropped] + anew


def best_of(all_of):
    """The fastest; of windows of energy, which are all of the config that was chosen in others, the middle one."""
    if all_of[0][1]["objective"] == "energy":
        return sorted(all_of, key=lambda one: one[1]["energy_j"])[len(all_of) // 2]
    return min(all_of, key=lambda one: one[1]["seconds"])


def records_of(lines):
    known, newest = {}, {}
    proofs = [line for line in lines if line.get("same_code")]
    same = {code_of(line, line["old_hash"]): line["new_hash"] for line in proofs}
    target = {line["family"]: line["new_hash"] for line in proofs}
    for row in rows(line for line in lines if "same_code" not in line):
        ours = row["impl"] == "tilewright"
        if ours and "source_hash" not in row:
            continue
        if not ours and not (row["impl"].startswith("cublas") and row["family"] == "gemm"):
            continue
        record = record_of(row)
        if target.get(record["family"]) in held_for(record, same):
            record["source_hash"] = target[record["family"]]
        if ours and record["time"] > newest.get(record["family"], ("", ""))[0]:
            newest[record["family"]] = (record["time"], record["source_hash"])
        key = (record["family"], (record["problem"], record["objective"]), record["device"], record["source_hash"])
        known.setdefault(key, []).append((row["run"], record))
    fastest = {key: best_of(all_of) for key, all_of in known.items()}
    run_of = {key[1:3]: run for key, (run, _) in fastest.items() if key[3] == newest.get(key[0], ("", ""))[1]}
    for key in sorted(known):
        # Without ours there is nothing to weigh, and what is near would lose against an exact record.
        alone = key[1:3] not in run_of
        if key[0] == "cublas" and not alone:
            beside = [one for one in known[key] if one[0] == run_of.get(key[1:3])]
            yield best_of(beside or known[key])[1]
        elif key[0] != "cublas" and key[3] == newest[key[0]][1]:
            yield fastest[key][1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--anew", nargs="+", default=[], metavar="FILE")
    given = parser.parse_args()
    try:
        lines = with_those_measured_anew(list(lines_of(given.files)), list(lines_of(given.anew)))
    except OSError as error:
        raise SystemExit(f"gpu_wisdom.py: {error}") from None
    for record in records_of(lines):
        print(json.dumps(record, sort_keys=True))


if __name__ == "__main__":
    main()

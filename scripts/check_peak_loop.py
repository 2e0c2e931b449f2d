#!/usr/bin/env python3
"""Fails when a loop of the compute ceiling (src/measure/compute_peak.cpp) does anything but multiply and add on registers: one
that moves a value to memory and back measures that, and kernels then beat the bound. Takes the library that holds it. Every copy
that the compiler made, of each vector width, is looked at in its machine code; timing is not."""

import pathlib
import re
import subprocess
import sys
import tempfile

LEAST_PRODUCTS = 8  # accumulators of the project's loop: 4 cycles of latency times 2 units
BESIDE = 3  # the loop's own count, comparison and jump
PRODUCT = re.compile(r"v?(f?n?madd|fmadd|mul)\w*$|vfmadd\w+$")
SUM = re.compile(r"v?add[sp][sd]$")
JUMP = re.compile(r"j\w+\s+([0-9a-f]+)")


def functions_of(library):
    """{name: [(address, instruction)]} of the object that holds the loops."""
    symbols = subprocess.run(["nm", "-AC", library], capture_output=True, text=True, check=True).stdout
    members = {line.split(":")[1] for line in symbols.splitlines() if re.search(r" [tTW] .*N_\w+::(run_f64|multiply_adds)", line)}
    if not members:
        sys.exit(f"{library} has no loop of the compute ceiling: look for another name")
    functions = {}
    with tempfile.TemporaryDirectory() as folder:
        for member in members:
            subprocess.run(["ar", "x", pathlib.Path(library).resolve(), member], cwd=folder, check=True)
            code = subprocess.run(["objdump", "-dC", "--no-show-raw-insn", pathlib.Path(folder) / member],
                                  capture_output=True, text=True, check=True).stdout
            body = None
            for line in code.splitlines():
                if head := re.match(r"[0-9a-f]+ <(.*)>:$", line):
                    body = functions.setdefault(head[1], [])
                elif found := re.match(r"\s*([0-9a-f]+):\s+(.*)", line):
                    body.append((int(found[1], 16), found[2].strip()))
    return {name: body for name, body in functions.items() if re.search(r"N_\w+::(run_f|multiply_adds)", name)}


def loops_of(body):
    """Innermost loops: from a jump's target back to the jump, without another jump between."""
    at = {address: i for i, (address, _) in enumerate(body)}
    for i, (address, instruction) in enumerate(body):
        jump = JUMP.match(instruction)
        if jump and int(jump[1], 16) <= address and int(jump[1], 16) in at:
            loop = [text for _, text in body[at[int(jump[1], 16)]:i + 1]]
            if not any(text.startswith("j") or text.startswith("call") for text in loop[:-1]):
                yield loop


def fault_of(loop):
    names = [text.split()[0] for text in loop]
    products = sum(bool(PRODUCT.match(name)) for name in names)
    if products < LEAST_PRODUCTS:
        return None, products  # not an instruction of the loop: a copy of the result
    fused = any("fma" in name for name in names)
    memory = [text for text in loop if "(%" in text and not text.startswith("lea")]
    if memory:
        return f"{products} products and memory: {memory[0]}", products
    if fused and len(loop) > products + BESIDE:
        return f"{products} fused products and {len(loop) - products} other instructions", products
    sums = sum(bool(SUM.match(name)) for name in names)
    if not fused and sums < products:
        return f"{products} products and {sums} sums", products
    return None, products


def main():
    faults, checked = [], set()
    for name, body in functions_of(sys.argv[1]).items():
        target = re.search(r"N_(\w+)::", name)[1]
        if target == "SCALAR":
            continue  # for compilers without vectors
        for loop in loops_of(body):
            fault, products = fault_of(loop)
            if products >= LEAST_PRODUCTS:
                checked.add(target)
            if fault:
                faults.append(f"{name.split('(')[0]}: {fault}")
    for needed in ("AVX2", "AVX3"):
        if needed not in checked:
            faults.append(f"no loop of {needed} was found")
    print("\n".join(faults) if faults else f"the loops of {', '.join(sorted(checked))} multiply and add on registers alone")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

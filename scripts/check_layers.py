#!/usr/bin/env python3
"""Checks the house rules that can be read from the source: who may include whom, where vendor headers may appear,
circles of includes, how many files a folder holds, how long files and functions are, and that each file opens by saying
what it is. It parses no C++: include lines are matched, and functions are found by their braces in code that clang-format
has laid out. Prints each violation as file:line: reason and exits 1 when there is one."""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES = 500
FUNCTION_LINES = 60
KERNEL_LINES = 150  # a GPU stencil, with named phases
FOLDER_FILES = 40
# Folders that the rules do not cover yet, and stems in a cycle. Nothing may be added here.
NOT_YET = set()

# For each folder: the prefixes of quoted includes that it may use. A folder may always include itself.
WORDS = ("tilewright/types.hpp", "tilewright/routine.hpp", "tilewright/problem.hpp")  # the public headers that the lower half is written in
ALLOWED = {
    "src/core": WORDS,
    "src/device": WORDS + ("tilewright/allocate.hpp", "core/"),  # device places the memory that the header allocates
    "src/kernel": WORDS + ("tilewright/layout.hpp", "core/", "device/"),  # kernel implements the conversions
    "src/wisdom": WORDS + ("core/", "kernel/*/config.hpp"),
    "src/measure": ("tilewright/", "core/", "device/"),
    "src/tune": ("tilewright/", "core/", "device/", "kernel/", "measure/", "wisdom/", "lu/"),
    "src/plan": ("tilewright/", "core/", "device/", "kernel/", "wisdom/"),
    "src/gemm": ("tilewright/", "core/", "device/", "kernel/", "wisdom/", "plan/"),
    "src/lu": ("tilewright/", "core/", "device/", "kernel/", "wisdom/", "plan/", "gemm/"),
    "src/factor": ("tilewright/", "core/", "device/", "kernel/", "wisdom/", "plan/", "gemm/", "lu/"),
    "doors/c": ("",),
    "doors/cpp": ("",),
    "doors/blas": ("tilewright/", "core/"),
    "doors/python": ("tilewright/", "core/"),
    "include": ("tilewright/",),
    "examples": ("tilewright/",),
    "python": ("tilewright/",),
    "tools": ("",),
    "experiments": ("",),
    "extras": ("",),
    "tests": ("",),
}
# Folders that "" above includes, but that no part of the library may include from.
ROOTS = ("src", "doors", "tools", "extras/multinode", "experiments", "include")

# Headers of other projects and the only places that may include them.
VENDORS = [
    (r"(cuda|cu(blas|solver|pti|rand)|nvrtc|nvml|nvJitLink).*", ("src/device",)),
    (r"hwloc.*|cpuid\.h|sched\.h|numa\.h", ("src/device",)),
    (r"xbyak/xbyak_util\.h", ("src/device",)),
    (r"xbyak/xbyak\.h", ("src/kernel",)),
    (r"hwy/.*", ("src/kernel", "src/measure")),
    (r"sqlite3\.h", ("src/wisdom",)),
    (r"zlib\.h", ("src/measure",)),
    (r"Eigen/.*", ("src/tune", "tools", "experiments")),
    (r"mkl.*|libxsmm.*|unsupported/Eigen/.*|cblas.*|lapacke.*", ("src/measure", "tools", "experiments")),
    (r"nanobind/.*|Python\.h|numpy/.*", ("doors/python",)),
    (r"gtest/.*|gmock/.*", ("tests",)),
]
FOLDERS = {folder.name for top in ROOTS for folder in (ROOT / top).iterdir() if folder.is_dir()}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
# Tests may query the machine directly, to check the results of src/device.
VENDOR_FREE = ("tests",)


def matches(name, pattern):
    if "*" in pattern:
        return pathlib.PurePath(name).match(pattern)
    return name.startswith(pattern)


def layer_of(path):
    parts = path.parts
    return "/".join(parts[:2]) if parts[0] in ("src", "doors") else parts[0]


def check_includes(path, lines):
    layer = layer_of(path)
    own = layer.split("/")[-1] + "/"
    for number, line in enumerate(lines, 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quote, name = found.groups()
        for vendor, places in VENDORS:
            if re.fullmatch(vendor, name) and layer not in places + VENDOR_FREE:
                yield number, f"<{name}> belongs only in {', '.join(places)}"
        if quote == "<" and name.startswith("tilewright/") and layer not in ("examples", "tests"):
            yield number, f"<{name}>: our headers are included with quotes"
        if quote == '"' and "/" not in name and (ROOT / path.parent / name).exists():
            continue  # a file of the same folder
        ours = quote == '"' and (name.split("/")[0] in FOLDERS or "/" not in name)
        if ours and not any(matches(name, p) for p in ALLOWED.get(layer, ("",)) + (own,)):
            yield number, f'{layer} may not include "{name}"'


def without_comments_and_text(source):
    """Blanks comments, strings and character literals, and keeps the line breaks."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.S)
    return token.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), source)


FUNCTION_HEAD = re.compile(r"\)\s*(const|noexcept|override|final|mutable|&+|->[^;]*|:[^;]*)*\s*$")
NOT_FUNCTION = re.compile(r"^\s*(namespace|class|struct|union|enum|extern)\b|=\s*$")


def functions(source):
    """Yields (first line, length) of each function body that is not inside another function."""
    code = without_comments_and_text(source)
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), code, flags=re.M)
    stack = []  # for each open brace: the position its statement begins at when it is a function, else None
    begin = 0
    for position, char in enumerate(code):
        if char == "{":
            head = code[begin:position]
            inside = any(start is not None for start in stack)
            is_function = not inside and FUNCTION_HEAD.search(head) and not NOT_FUNCTION.search(head)
            stack.append(begin + len(head) - len(head.lstrip()) if is_function else None)
        elif char == "}" and stack:
            start = stack.pop()
            if start is not None:
                yield code.count("\n", 0, start) + 1, code.count("\n", start, position) + 1
        if char in "{};":
            begin = position + 1


# Calls that a library must not make in its host's process, and the files that may make them (docs/security.md).
GUESTS = ("src", "doors", "extras", "python")
MANNERS = [
    (r"(?<!secure_)\bgetenv\s*\(", (), "a set-user-ID program's environment is its caller's: secure_getenv"),
    (r"\b(setenv|putenv|unsetenv|clearenv)\s*\(", (), "the environment is the host's"),
    (r"\b(setlocale|locale::global)\s*\(", (), "the locale is the host's"),
    (r"(?<![.\w])(sigaction|signal)\s*\(", (), "signals are the host's"),
    (r"\bpthread_atfork\s*\(", ("src/core/host/fork_gate.cpp",), "one handler of fork serves all: Mutex, Once, Section"),
]


def check_manners(path, lines):
    if path.parts[0] not in GUESTS:
        return
    for number, line in enumerate(without_comments_and_text("\n".join(lines)).split("\n"), 1):
        for pattern, places, why in MANNERS:
            if re.search(pattern, line) and str(path) not in places:
                yield number, why


def check_lengths(path, lines):
    if len(lines) > FILE_LINES:
        yield len(lines), f"{len(lines)} lines; a file has at most {FILE_LINES}"
    limit = KERNEL_LINES if path.suffix in (".cu", ".cuh") else FUNCTION_LINES
    for first, length in functions("\n".join(lines)):
        if length > limit:
            yield first, f"a function of {length} lines; the limit is {limit}"


def check_opening(path, lines):
    if not lines or not lines[0].startswith(("//", "/*")):
        yield 1, "the file does not open with a comment that says what it is"


def stem_of(path):
    """A file and its header are one: src/gemm/plan.cpp and plan.hpp, tools too."""
    return str(path.with_suffix(""))


def includes_of(path, lines, known):
    """Returns the project's stems that a file includes by quotes: from a folder of ROOTS, or from the file's own."""
    for line in lines:
        found = INCLUDE.match(line)
        if not found or found[1] != '"':
            continue
        for base in (*map(pathlib.PurePath, ROOTS), path.parent):
            target = base / found[2]
            if str(target) in known:
                yield stem_of(target)
                break


def circles(graph):
    """Sets of stems that reach each other (Tarjan 1972, without recursion on our side of the limit)."""
    sys.setrecursionlimit(10000)
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for to in graph.get(node, ()):
            if to not in index:
                visit(to)
                low[node] = min(low[node], low[to])
            elif to in stack:
                low[node] = min(low[node], index[to])
        if low[node] != index[node]:
            return
        members = set()
        while node not in members:
            members.add(stack.pop())
        if len(members) > 1:
            found.append(sorted(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return found


def check_circles(texts):
    known = {str(path) for path in texts}
    graph = {}
    for path, lines in texts.items():
        graph.setdefault(stem_of(path), set()).update(set(includes_of(path, lines, known)) - {stem_of(path)})
    for members in circles(graph):
        yield members[0], 1, f"a circle of includes: {', '.join(members)}"


def check_folders(texts):
    for folder, count in sorted(collections.Counter(path.parent for path in texts).items()):
        if count > FOLDER_FILES:
            yield folder, 0, f"{count} files; a folder holds at most {FOLDER_FILES}"


def main():
    suffixes = {".cpp", ".hpp", ".h", ".c", ".cu", ".cuh"}
    files = sorted(p for top in {k.split("/")[0] for k in ALLOWED} for p in (ROOT / top).rglob("*") if p.suffix in suffixes)
    texts = {file.relative_to(ROOT): file.read_text().splitlines() for file in files}
    violations = [(path, number, reason) for path, lines in texts.items() for check in (check_includes, check_manners, check_lengths, check_opening)
                  for number, reason in check(path, lines)]
    violations += [v for v in (*check_folders(texts), *check_circles(texts)) if str(v[0]) not in NOT_YET]
    for path, number, reason in violations:
        print(f"{path}:{number}: {reason}")
    print(f"{len(files)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

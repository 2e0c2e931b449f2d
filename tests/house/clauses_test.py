#!/usr/bin/env python3
"""Each public function says what it does, which threads may call it and how it fails: every declaration in include/tilewright has a
Doxygen comment, which it may share with the declarations that follow it without a blank line or a comment. The clauses for threads
(@par Threads) and errors (@par Errors, @throws) stand there or in the comment that opens the header, for all of its functions."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = ROOT / "include" / "tilewright"
# Of the kernels with sizes of compile time, users see the batches alone.
PUBLIC = [*sorted(HEADERS.glob("*.h*")), HEADERS / "small" / "batch.hpp"]
CLAUSES = {"threads": r"@par Threads", "errors": r"@par Errors|@throws"}
INTERNAL = re.compile(r"namespace (?:detail|small)\b")
SCOPE = re.compile(r"^(?:template ?<[^{}]*> )?(?:inline )?(namespace|class|struct|union|enum|extern|typedef (?:struct|enum))\b")
# Special members, conversions, friends and deleted functions have the meaning that the language gives them.
PLAIN = re.compile(r"\boperator\b|= (?:default|delete)\b|^(?:friend|using|static_assert|typedef)\b|^~")


def opening(text):
    found = re.match(r"(?:///[^\n]*\n)+|/\*\*.*?\*/", text, re.S)
    return found.group() if found else ""


def pieces(text):
    """The comments, blank lines, and statements or heads of bodies with what ends them: (kind, text)."""
    text = re.sub(r"^#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.M)
    token = re.compile(r"(?P<doc>(?:///(?!<)[^\n]*\n?\s*?)+|/\*\*(?!<).*?\*/)|(?P<plain>//[^\n]*|/\*.*?\*/)|(?P<blank>\n[ \t]*(?=\n))|"
                       r"(?P<end>[{};])|(?P<code>\"[^\"\n]*\"|'[^'\n]*'|[^{};/\n\"']+|.|\n)", re.S)
    code = ""
    for found in token.finditer(text):
        kind = found.lastgroup
        if kind == "code":
            code += found.group()
        elif kind == "end":
            yield found.group(), " ".join(code.split())
            code = ""
        elif not code.strip():
            yield kind, found.group()


def functions(text):
    """(declaration, its comment) of what users may call."""
    scopes, comment = [], ""  # a scope: "open", "hidden" or "body"
    for kind, code in pieces(text):
        if kind == "doc":
            comment = code
        elif kind == "blank":
            comment = ""
        elif kind == "}":
            scopes and scopes.pop()
        elif kind in "{;":
            access = re.findall(r"\b(public|private|protected) ?:(?!:)", code)
            if access and scopes:
                scopes[-1] = "open" if access[-1] == "public" else "hidden"
            code = re.sub(r"^.*\b(?:public|private|protected) ?:(?!:) ?", "", code)
            code = re.sub(r" [A-Z_]+\(\w+\)$", "", code)  # a default by macro
            visible = all(scope == "open" for scope in scopes)
            scope = SCOPE.match(code)
            if visible and not scope and "(" in code and not PLAIN.search(re.sub(r"^template ?<.*?> ", "", code)) and \
                    not re.match(r"^(?:(?:constexpr|const|static|inline) )*[\w:<>, *]+ \w+ = ", code):
                yield code, comment
            if kind == "{":
                hidden = not scope or scope.group(1) in ("enum", "typedef enum", "union") or INTERNAL.search(code)
                private = scope and scope.group(1) == "class"
                scopes.append("body" if hidden else "hidden" if private else "open")


def faults(text):
    header = opening(text)
    missing = {name for name, clause in CLAUSES.items() if not re.search(clause, header)}
    for code, comment in functions(text[len(header):]):
        if not comment:
            yield f"has no Doxygen comment: {code[:90]}"
        for name in sorted(missing):
            if not re.search(CLAUSES[name], comment):
                yield f"says nothing of {name}: {code[:90]}"


def check_itself():
    """The rule finds what it should in a header that has each fault once."""
    bad = "/// @file\n/// @par Threads Any.\n#pragma once\nnamespace x {\n/// Adds.\n/// @throws Error never.\nint add(int a);\n" \
          "int add(double a) { return f(a); }\n\nint bare(int);\n\n/// Silent.\nclass C {\n public:\n  /// Runs.\n  void run();\n\n private:\n  void own();\n};\n}\n"
    found = list(faults(bad))
    assert len(found) == 3 and "bare" in found[0] and "bare" in found[1] and "run" in found[2], found


def main():
    check_itself()
    wrong, count = 0, 0
    for path in PUBLIC:
        text = path.read_text()
        count += sum(1 for _ in functions(text[len(opening(text)):]))
        for fault in faults(text):
            print(f"{path.relative_to(ROOT)} {fault}")
            wrong += 1
    print(f"{count} public functions in {len(PUBLIC)} headers, {wrong} faults")
    return wrong > 0 or count < 150


if __name__ == "__main__":
    sys.exit(main())

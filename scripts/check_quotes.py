#!/usr/bin/env python3
"""Keeps the code shown in README.md and docs/*.md equal to compiled code. The code block after a line
`<!-- quote FILE -->` must be FILE without its opening comment. `--fix` rewrites the blocks instead of failing."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUOTE = re.compile(r"(<!-- quote (\S+) -->\n```\w+\n)(.*?)(```\n)", re.S)


def code_of(name):
    """The file's text after the comment lines it opens with."""
    lines = (ROOT / name).read_text().splitlines(keepends=True)
    while lines and (lines[0].startswith("//") or not lines[0].strip()):
        lines.pop(0)
    return "".join(lines)


def main():
    stale = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text()
        fresh = QUOTE.sub(lambda m: m[1] + code_of(m[2]) + m[4], text)
        if fresh == text:
            continue
        if "--fix" in sys.argv:
            page.write_text(fresh)
        else:
            print(f"{page.relative_to(ROOT)}: a quoted example differs from its file; run scripts/check_quotes.py --fix")
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())

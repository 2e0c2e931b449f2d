#!/usr/bin/env python3
"""What scripts/quickstart builds is enough for `cmake --install`, which the README says comes after it."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def installed():
    """Targets that are installed and have something to build."""
    text = (ROOT / "cmake" / "install.cmake").read_text()
    names = {name for group in re.findall(r"^\s*(?:install\(TARGETS|install_library\() ?(\w+)", text, re.M) for name in group.split()}
    return names - set(re.findall(r"add_library\((\w+) INTERFACE", (ROOT / "CMakeLists.txt").read_text()))


def main():
    built = re.search(r"--target ([\w ]+) <", (ROOT / "scripts" / "quickstart").read_text()).group(1).split()
    missing = installed() - set(built)
    if missing or len(installed()) < 3:
        print(f"scripts/quickstart does not build what is installed: {sorted(missing)} of {sorted(installed())}")
        return 1
    return 0


sys.exit(main())

"""The command `tilewright` of an installed package, and `python -m tilewright`: both become the tool that lies in it."""

import os
import sys

from ._tool import TOOL, why_no_tool


def main():
    missing = why_no_tool()
    if missing:
        print(f"tilewright: {missing}", file=sys.stderr)
        return 1
    os.execv(TOOL, [str(TOOL), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

"""What libtilewright_scalapack shows: the names of its list and nothing else."""

import subprocess
import sys

library = sys.argv[1]
shown = {line.split()[-1] for line in subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                                                     capture_output=True).stdout.splitlines()}
wanted = {f"p{t}{name}_" for t in "sdcz" for name in ("getrf", "getf2", "laswp")} | {"pilaenv_"}
if shown != wanted:
    sys.exit(f"shown and not wanted: {sorted(shown - wanted)}; wanted and not shown: {sorted(wanted - shown)}")

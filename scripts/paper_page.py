"""What the generated pages of docs/papers share: the newest recorded run of each machine that a page can stand on, and writing or
checking a page with its figures."""

import argparse
import pathlib
import sys

from results import rows_of

ROOT = pathlib.Path(__file__).resolve().parent.parent


def newest_runs(root, pattern, serves):
    """{machine: (path, rows)} of the newest run of each machine whose rows serve."""
    found = {}
    for path in sorted(root.glob(f"results/*/{pattern}.jsonl*")):
        rows = rows_of(path)
        if serves(rows):
            found[path.parent.name] = (path.relative_to(root), rows)
    return found


def origin(path, rows):
    """The sentence that says where figures come from."""
    head = next((row for row in rows if "command" in row), {})
    note = f" It is {head['note']}." if "note" in head else ""
    return f"From `{path}`, recorded by `{head.get('command', '')}`.{note}"


def main(page_path, page_of, what, description):
    """page_of(root) gives the page's text, or None without a run, and its figures; `what` names the run that is missing."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    flags = parser.parse_args()
    page, drawn = page_of(flags.root)
    path, folder = flags.root / page_path, flags.root / "docs" / "figures"
    script = f"scripts/{pathlib.Path(sys.argv[0]).name}"
    if page is None:
        if path.exists():
            sys.exit(f"{page_path} exists, but no run of {what} is in results/")
        print(f"no run of {what} is in results/: no page")
        return
    if flags.check:
        stale = [figure.name for figure in drawn if figure.is_stale(folder)]
        if not path.exists() or path.read_text() != page or stale:
            sys.exit(f"{page_path} is not what results/ says; {script} writes it {stale}")
        return
    path.parent.mkdir(exist_ok=True)
    path.write_text(page)
    for figure in drawn:
        figure.draw(folder)

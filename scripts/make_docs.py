#!/usr/bin/env python3
"""Writes what the documentation takes from elsewhere: the text between `<!-- begin NAME -->` and `<!-- end -->` in README.md and
docs/. NAME is FILE.TABLE, a table or figure that docs/tables/FILE.toml declares (docs_tables.py says how), or the path of an
example whose code is quoted. Numbers that were measured stand in these and nowhere else.

`--check` writes nothing. It fails where a page differs from what would be written, where a paragraph that links to a run has decimals of its own,
and where the tree is not in order: a file of results that no page, table or test names, a named one or a linked one that is not
there, one without the command that repeats it, and results or a tree that grow too large."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tomllib

sys.dont_write_bytecode = True
import docs_figures
import docs_tables

BLOCK = re.compile(r"(<!-- begin (\S+) -->\n)(.*?)(<!-- end -->)", re.S)
RESULT = re.compile(r"results/[a-z0-9-]+/([a-z_]+)-20\d{6}(-[a-z0-9-]+)?\.(jsonl|csv)(\.gz)?")
NAMED = re.compile(r"\bresults/[a-z0-9-]+/[a-z_]+-20\d{6}[\w-]*\.(?:jsonl|csv)(?:\.gz)?")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
SOURCE = re.compile(r'\b(?:src|srcset)="([^"]+)"')
EXPERIMENTS = {"sweep", "techniques"}  # names of files say the experiment; their rows name the families
PLAIN_BYTES, RESULTS_MIB, TREE_MIB = 64 << 10, 15, 25


class Docs:
    def __init__(self, root):
        self.root, self.used, self.faults = root, set(), []
        self.specs = {}
        for path in sorted((root / "docs" / "tables").glob("*.toml")):
            tables = tomllib.loads(path.read_text())
            self.specs |= {f"{path.stem}.{name}": docs_tables.declared(tables, name) for name in tables}
        self.figures = {spec["name"]: spec for spec in self.specs.values() if "figure" in spec}

    def pages(self):
        return [self.root / "README.md", *sorted((self.root / "docs").rglob("*.md"))]

    def quoted(self, name):
        """A file's code without the comment that it opens with."""
        lines = (self.root / name).read_text().splitlines(keepends=True)
        while lines and (lines[0].startswith("//") or not lines[0].strip()):
            lines.pop(0)
        return f"```{pathlib.Path(name).suffix[1:]}\n" + "".join(lines) + "```\n"

    def made(self, name):
        """The text of a block."""
        if "/" in name:
            return self.quoted(name)
        spec = self.specs[name]
        self.used.add(name)
        if "figure" in spec:
            shown = f"{docs_figures.picture(spec)}\n\n{spec['caption']}"
        else:
            shown = docs_tables.table(self.root, spec) + "\n"
        return f"{shown}{' ' if 'figure' in spec else chr(10)}{docs_tables.note(self.root, spec)}\n"

    def fresh(self, page):
        """A page as it should be; what cannot be made stays and is a fault."""
        up = "../" * (len(page.relative_to(self.root).parts) - 1)

        def block(found):
            try:
                return found[1] + self.made(found[2]).replace("{up}", up) + found[4]
            except (KeyError, ValueError, OSError) as error:
                self.faults.append(f"{page.relative_to(self.root)}: {found[2]}: {error}")
                return found[0]
        return BLOCK.sub(block, page.read_text())

    def stale(self):
        """(figure, script) of those that are out of date; one that cannot be made is a fault of the page that shows it."""
        for spec in self.figures.values():
            try:
                script = docs_figures.stale(self.root, spec)
            except (KeyError, ValueError, OSError):
                continue
            if script:
                yield spec, script

    def write(self):
        for page in self.pages():
            text = self.fresh(page)
            if text != page.read_text():
                page.write_text(text)
                print(f"{page.relative_to(self.root)}: written")
        for spec, script in self.stale():
            docs_figures.draw(self.root, spec, script)
            print(f"docs/figures/{spec['name']}.svg: drawn")

    def check(self):
        for page in self.pages():
            name, text = page.relative_to(self.root), page.read_text()
            if self.fresh(page) != text:
                self.faults.append(f"{name}: is not what results/ and docs/tables/ say; run scripts/make_docs.py")
            self.faults += [f"{name}: decimals beside a link to a run: '{one}...'" for one in self.own_numbers(text)]
        self.faults += [f"docs/figures/{spec['name']}.svg: is not what results/ say; run scripts/make_docs.py" for spec, _ in self.stale()]
        self.faults += [f"docs/tables: no page shows {name}" for name in sorted(set(self.specs) - self.used)]
        self.faults += [*self.wrong_results(), *self.wrong_names(), *self.wrong_links(), *self.too_large()]

    @staticmethod
    def own_numbers(text):
        """The beginning of each paragraph that links to a run and has decimals that were not generated."""
        for block in re.split(r"\n\s*\n", BLOCK.sub("", text)):
            if "results/" in block and re.search(r"\d\.\d", re.sub(r"`[^`]*`|\]\([^)]*\)", "", block)):
                yield " ".join(block.split())[:60]

    def results(self):
        return sorted(file for file in (self.root / "results").rglob("*") if file.is_file())

    def wrong_results(self):
        """Each file must be called by its family, begin with its command, and be compressed where it is long."""
        for file in self.results():
            name = str(file.relative_to(self.root))
            called, text = RESULT.fullmatch(name), docs_tables.text_of(file)
            if not called:
                yield f"{name}: is not called results/<machine>/<family>-<yyyymmdd>[-what].jsonl[.gz]"
                continue
            try:
                command = json.loads(text.partition("\n")[0])["command"]
            except (json.JSONDecodeError, TypeError, KeyError):
                command = None
            if not isinstance(command, str) or not command:
                yield f"{name}: does not begin with an object that has the command"
            families = sorted(set(re.findall(r'"family": ?"(\w+)"', text)))
            if families and called[1] not in families and called[1] not in EXPERIMENTS:
                yield f"{name}: is called {called[1]} and has rows of {', '.join(families)}"
            if file.suffix != ".gz" and file.stat().st_size > PLAIN_BYTES:
                yield f"{name}: {file.stat().st_size} bytes and not compressed (gzip -9n)"

    def wrong_names(self):
        """Each file of results must be named by a page or a test, and be there where anything names it."""
        readers = [*self.pages(), self.root / "CONTRIBUTING.md", *sorted((self.root / "tests").rglob("*.cpp"))]
        sources = [file for folder in ("doors", "experiments", "extras", "include", "src", "tools") for file in sorted((self.root / folder).rglob("*.?pp"))]
        there, named = {str(file.relative_to(self.root)) for file in self.results()}, set()
        for file in [*readers, *sources]:
            names = set(NAMED.findall(file.read_text())) if file.exists() else set()
            yield from (f"{file.relative_to(self.root)}: names {name}, which is not there" for name in sorted(names - there))
            named |= names if file in readers else set()
        yield from (f"{name}: no page, table or test names it" for name in sorted(there - named))

    def wrong_links(self):
        shown = set()
        for page in [*self.pages(), self.root / "CONTRIBUTING.md"]:
            text = CODE.sub("", page.read_text()) if page.exists() else ""
            targets = LINK.findall(text) + SOURCE.findall(text)
            for target in (target for target in targets if "://" not in target):
                shown.add((page.parent / target).resolve())
                if not (page.parent / target).exists():
                    yield f"{page.relative_to(self.root)}: links to {target}, which is not there"
        yield from (f"{figure.relative_to(self.root)}: no page shows it" for figure in sorted((self.root / "docs" / "figures").glob("*"))
                    if figure.resolve() not in shown)

    def too_large(self):
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=self.root, capture_output=True, text=True, check=False).stdout
        tracked = [self.root / name for name in listed.split("\0") if name and (self.root / name).is_file()]
        for what, files, most in (("results/", self.results(), RESULTS_MIB), ("the tree", tracked, TREE_MIB)):
            size = sum(file.stat().st_size for file in files) / 2**20
            if size > most:
                yield f"{what}: {size:.1f} MiB, more than {most}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail where something is out of date or out of order")
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent)
    flags = parser.parse_args()
    docs = Docs(flags.root)
    docs.check() if flags.check else docs.write()
    print("\n".join(docs.faults) if docs.faults else f"{len(docs.specs)} tables and figures are in order")
    return 1 if docs.faults else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The pages hold together: every link leads to a file and a heading, in the checkout and where they are installed; the README fits
two screens, code on the pages of beginners fits the column of its readers, and all pages together can be read in a few hours.
usage: pages_test.py [PREFIX]"""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PREFIX = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
START = [ROOT / "README.md", *(ROOT / "docs" / name for name in (
    "start_cpp.md", "start_python.md", "preload.md", "tune_this_machine.md", "faq.md", "how_it_works.md"))]
CODE = re.compile(r"^(`{3,})[^\n]*\n(.*?)^\1$|`[^`\n]+`", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|\b(?:src|srcset)=\"([^\"]+)\"")


def pages_of(folder):
    return [*sorted(folder.glob("*.md")), *sorted((folder / "docs").rglob("*.md"))]


def headings(page):
    """The anchors of a page, as hosts of such pages and the site make them."""
    for line in re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M):
        yield re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-")


def dangling(folder):
    """(number of links, those that lead nowhere) of the pages of a folder."""
    count, found = 0, []
    for page in pages_of(folder):
        for link, source in LINK.findall(CODE.sub("", page.read_text())):
            path, _, anchor = (link or source).partition("#")
            if re.match(r"[a-z]+:", path):
                continue
            count += 1
            target = page.parent / path if path else page
            if not target.exists() or (anchor and anchor not in headings(target)):
                found.append(f"{page.relative_to(folder)}: {link or source}")
    return count, found


class Links(unittest.TestCase):
    def test_of_the_checkout(self):
        count, found = dangling(ROOT)
        self.assertGreater(count, 200)
        self.assertEqual(found, [])

    @unittest.skipUnless(PREFIX, "no installed tree was named")
    def test_of_the_installed_pages(self):
        folder = PREFIX / "share" / "doc" / "tilewright"
        count, found = dangling(folder)
        self.assertGreater(count, 150)
        self.assertEqual(found, [])

    def test_a_dangling_link_is_found(self):
        self.assertIn("how-it-works", list(headings(ROOT / "docs" / "how_it_works.md")))
        self.assertEqual(LINK.findall('[a](b.md#c) <img src="d.svg">'), [("b.md#c", ""), ("", "d.svg")])


class Lengths(unittest.TestCase):
    def test_the_readme_fits_two_screens(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text().splitlines()), 120)

    def test_code_fits_the_column(self):
        wide = [f"{page.name}: {line}" for page in START for block in re.findall(r"^```\w+\n(.*?)^```$", page.read_text(), re.M | re.S)
                for line in block.splitlines() if len(line) > 95]
        self.assertEqual(wide, [])

    def test_all_pages_can_be_read(self):
        # The index of the papers follows five papers item by item: it is looked up and not read, so its tables do not count.
        index = ROOT / "docs" / "papers" / "README.md"
        texts = {page: page.read_text() for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]}
        texts[index] = re.sub(r"^\|.*$", "", texts[index], flags=re.M)
        self.assertLessEqual(sum(len(text.split()) for text in texts.values()), 35000)


if __name__ == "__main__":
    unittest.main()

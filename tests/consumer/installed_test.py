#!/usr/bin/env python3
"""What `cmake --install` puts into a prefix holds for those who build on it: no link of the pages dangles, the licence of
everything that is linked is there, SONAME and package file mean the same by a version, and requests for versions and
components are served or refused with a reason. usage: installed_test.py CMAKE PREFIX LIBDIR [-v]"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CMAKE, PREFIX, LIBDIR = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
LIB = PREFIX / LIBDIR
PAGES = PREFIX / "share" / "doc" / "tilewright"
LIBRARIES = ("tilewright", "tilewright_tune", "tilewright_blas", "tilewright_scalapack")
SYSTEM = re.compile(r"(linux-vdso|ld-linux-[a-z0-9-]+|libc|libm|libdl|libpthread|librt|libstdc\+\+|libgcc_s)\.so")


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def dynamic(file, tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", output("readelf", "-d", file))


def version():
    text = (LIB / "cmake" / "tilewright" / "tilewright-config-version.cmake").read_text()
    return re.search(r'set\(PACKAGE_VERSION "([0-9.]+)"\)', text)[1]


class Pages(unittest.TestCase):
    def test_every_link_leads_to_a_file_and_a_heading(self):
        links, dangling = 0, []
        for page in PAGES.rglob("*.md"):
            for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
                path, _, anchor = link.partition("#")
                if ":" in path:
                    continue
                links += 1
                target = page.parent / path if path else page
                if not target.exists() or (anchor and anchor not in self.headings(target)):
                    dangling.append(f"{page.relative_to(PAGES)}: {link}")
        self.assertGreater(links, 100)
        self.assertEqual(dangling, [])

    @staticmethod
    def headings(page):
        """The anchors of a page, as the hosts of such pages make them."""
        for line in re.findall(r"^#+ (.*)$", page.read_text(), re.M):
            yield re.sub(r"[^\w\- ]", "", line.strip().lower()).replace(" ", "-")

    def test_the_tool_names_the_installed_index(self):
        self.assertIn(f"Pages by task: {PAGES / 'docs' / 'README.md'}\n", output(PREFIX / "bin" / "tilewright"))

    def test_what_is_not_installed_is_named_and_not_linked(self):
        text = (PAGES / "README.md").read_text()
        self.assertRegex(text, r"Data and command: \S+: results/\S+\.jsonl\.gz")
        self.assertIn("(docs/README.md)", text)
        self.assertTrue((PAGES / "docs" / "README.md").is_file() and (PAGES / "examples" / "02_batched.cpp").is_file())


class Licences(unittest.TestCase):
    def test_ours_and_those_of_all_that_is_linked_are_installed(self):
        self.assertIn("BSD 3-Clause", (PAGES / "LICENSE").read_text())
        table = (PAGES / "licences" / "README.md").read_text()
        for text in re.findall(r"\]\((\S+?\.txt)\)", table):
            self.assertTrue((PAGES / "licences" / text).is_file(), text)
        known = set(re.findall(r"\| `(lib\w+)` \|", table))
        needed, queue = set(), [PREFIX / "bin" / "tilewright", *(LIB / f"lib{name}.so" for name in LIBRARIES)]
        paths = dict(re.findall(r"^\s*(\S+) .*=> (\S+)$", output("/sbin/ldconfig", "-p"), re.M)[::-1])
        while queue:
            for name in dynamic(queue.pop(), "NEEDED"):
                if not SYSTEM.match(name) and name not in needed and not name.startswith("libtilewright"):
                    needed.add(name)
                    queue.append(paths[name])
        self.assertGreater(len(needed), 5)
        self.assertEqual([name for name in sorted(needed) if re.match(r"lib\w+", name)[0] not in known], [])


class Versions(unittest.TestCase):
    def test_the_soname_changes_when_the_package_file_says_that_the_abi_does(self):
        abi = re.match(r"0\.\d+|[1-9]\d*", version())[0]
        for name in LIBRARIES:
            self.assertEqual(dynamic(LIB / f"lib{name}.so", "SONAME"), [f"lib{name}.so.{abi}"])
            self.assertTrue((LIB / f"lib{name}.so.{abi}").exists())
        # What is opened by name at run time.
        self.assertIn(f"libtilewright.so.{abi}\0".encode(), (LIB / "libtilewright_scalapack.so").read_bytes())


class Requests(unittest.TestCase):
    """find_package as a project calls it, many requests in one configuration."""

    def setUp(self):
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="tilewright-installed-"))
        self.addCleanup(shutil.rmtree, self.work)

    def configure(self, text, prefix=PREFIX):
        (self.work / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.22)\nproject(request LANGUAGES NONE)\n" + text)
        shutil.rmtree(self.work / "build", ignore_errors=True)
        done = subprocess.run([CMAKE, "-S", self.work, "-B", self.work / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}"],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def answers(self, requests, prefix=PREFIX):
        """Whether each request is served, and the reason if not."""
        text = "".join(f"""unset(tilewright_DIR CACHE)
unset(tilewright_NOT_FOUND_MESSAGE)
find_package(tilewright {request} QUIET)
message(STATUS "answer {number}: ${{tilewright_FOUND}} ${{tilewright_NOT_FOUND_MESSAGE}}")
""" for number, request in enumerate(requests))
        status, said = self.configure(text, prefix)
        self.assertEqual(status, 0, said)
        answers = re.findall(r"^-- answer \d+: (\w+) ?(.*)$", said, re.M)
        self.assertEqual(len(answers), len(requests), said)
        return {request: (found in ("1", "TRUE"), reason) for request, (found, reason) in zip(requests, answers)}

    def test_versions_and_ranges(self):
        major, minor, patch = map(int, version().split("."))
        self.assertEqual(major, 0, "from 1.0 on, versions of one major version serve each other: write that down here")
        ours = f"{major}.{minor}.{patch}"
        served = ["", f"{major}.{minor}", ours, f"{ours} EXACT", f"{ours}...0.99", f"0.0.1...{ours}", f"0.0.1...<0.{minor + 1}"]
        refused = [f"{major}.{minor}.{patch + 1}", f"{major}.{minor + 1}", "1.0", f"0.0...<{ours}", f"0.{minor}.{patch + 1}...0.99",
                   f"{major}.{minor} EXACT" if patch else f"{major}.{minor}.9 EXACT"] + ([f"0.{minor - 1}"] if minor else [])
        answers = self.answers(served + refused)
        self.assertEqual([request for request, (found, _) in answers.items() if found], served)

    def test_components(self):
        present = [f"COMPONENTS {name}" for name in ("tilewright", "small", "tune", "blas", "scalapack", "blas tune")]
        answers = self.answers([*present, "COMPONENTS blas lapack", "COMPONENTS tune OPTIONAL_COMPONENTS lapack"])
        for request in present + ["COMPONENTS tune OPTIONAL_COMPONENTS lapack"]:
            self.assertEqual(answers[request], (True, ""), request)
        self.assertIn("'lapack' is not a component (expected tilewright, small, tune, blas or scalapack)",
                      answers["COMPONENTS blas lapack"][1])
        status, said = self.configure("find_package(tilewright COMPONENTS lapack REQUIRED)\n")
        self.assertNotEqual(status, 0)
        self.assertIn("'lapack' is not a component", " ".join(said.split()))

    def test_a_component_that_a_distribution_has_not_installed(self):
        prefix = self.work / "prefix"
        shutil.copytree(PREFIX, prefix, symlinks=True, ignore=lambda folder, names: [
            name for name in names if "tilewright_tune" in name or name == "doc"])
        answers = self.answers(["", "COMPONENTS blas", "COMPONENTS tune"], prefix)
        self.assertEqual((answers[""][0], answers["COMPONENTS blas"][0]), (True, True))
        self.assertEqual(answers["COMPONENTS tune"], (False, f"the component 'tune' is not installed in {prefix}. "))


class Uninstall(unittest.TestCase):
    def test_removes_the_files_of_the_manifests_and_folders_that_are_then_empty(self):
        work = pathlib.Path(tempfile.mkdtemp(prefix="uninstall-"))
        self.addCleanup(shutil.rmtree, work)
        own = [work / "usr/include/tilewright/small/batch.hpp", work / "usr/lib/libtilewright.so", work / "usr/share/tilewright/wisdom/a.jsonl"]
        others = work / "usr/share/tilewright/wisdom/of_the_user.jsonl"
        for file in [*own, others]:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("")
        for number, suffix in enumerate(("", "_tool")):
            (work / f"install_manifest{suffix}.txt").write_text("\n".join(str(file.relative_to(work)).join(("/", "")) for file in own[number:]))
        script = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "uninstall.cmake"
        said = subprocess.run([CMAKE, f"-DBUILD={work}", "-P", script], env={**os.environ, "DESTDIR": str(work)}, capture_output=True, text=True, check=True)
        self.assertIn("Removed 3 files", said.stdout)
        self.assertFalse(any(file.exists() for file in own))
        self.assertTrue(others.exists())
        self.assertEqual((list((work / "usr/include").iterdir()), (work / "usr/lib").exists()), ([], True))
        again = subprocess.run([CMAKE, f"-DBUILD={work}", "-P", script], capture_output=True, text=True, check=False)
        self.assertIn("Nothing to uninstall", again.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])

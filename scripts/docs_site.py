"""Hook of MkDocs: what the site has beside the pages of docs/. README.md becomes the home page, each file of the checkout that
a page links to becomes a page with its text, and links to recorded runs become plain paths. The references of Python and of the
tool's verbs are made here, those of C++ and C by Doxygen (mkdocs.yml). It is not a program: scripts/docs runs it."""

import ast
import os
import pathlib
import posixpath
import re
import subprocess

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)")
FENCE = re.compile(r"(^```.*?^```|^    .*?$|`[^`\n]+`)", re.S | re.M)
PICTURE = re.compile(r"<picture>.*?srcset=\"([^\"]+)\".*?<img alt=\"([^\"]*)\" src=\"([^\"]+)\".*?</picture>", re.S)
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".cuh": "cpp", ".h": "c", ".c": "c", ".py": "python", ".f90": "fortran", ".toml": "toml",
             ".txt": "text", ".cff": "yaml", ".yml": "yaml"}
PAGES = {"README.md": "index.md", "docs/README.md": "tasks.md", "CONTRIBUTING.md": "project/contributing.md",
         "CHANGELOG.md": "project/changelog.md", "SECURITY.md": "project/security.md", "licences/README.md": "project/licences.md"}
FIRST = {"start_cpp.md", "start_python.md", "preload.md", "tune_this_machine.md", "faq.md"}  # in search
CSS = """.md-grid { max-width: 68rem; }
.md-typeset table:not([class]) { font-size: .65rem; }
.md-typeset table:not([class]) :is(td, th) { min-width: 3.5rem; padding: .5em .8em; }
.md-typeset pre > code { font-size: .62rem; }
.md-typeset :is(h1, h2, h3, h4) { overflow-wrap: anywhere; }
.md-typeset :not(pre) > code { overflow-wrap: anywhere; }
"""
places = {}  # of a page of the site: the file of the checkout that it shows


def shown_at(path):
    """The page or file of the site that shows a file of the checkout; None if the site does not have it."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    file = ROOT / path
    if path.startswith(("results", "wisdom", "..")) or not file.exists():
        return None
    return f"source/{path}/index.md" if file.is_dir() else f"source/{path}.md"


def source_page(path):
    """The Markdown that shows a file of the checkout, or lists a folder."""
    file = ROOT / path
    if file.is_dir():
        names = sorted(one.name for one in file.iterdir() if one.is_file() and one.suffix in LANGUAGES)
        return f"# {path}\n\n" + "".join(f"- [{name}]({name})\n" for name in names)
    language = LANGUAGES.get(file.suffix, "bash" if file.read_text().startswith("#!/usr/bin/env bash") else "text")
    return f"# {path}\n\n````{language}\n{file.read_text().rstrip()}\n````\n"


def origin(src_uri):
    """The file of the checkout that a page shows, from which its links count."""
    return places.get(src_uri, f"docs/{src_uri}")


def resolved(page, link):
    """(path in the checkout, anchor) of a link on a page; the path is None for addresses and anchors of the page itself."""
    path, _, anchor = link.partition("#")
    if not path or re.match(r"[a-z]+:", path):
        return None, anchor
    base = page if (ROOT / page).is_dir() else posixpath.dirname(page)
    return posixpath.normpath(posixpath.join(base, path)), anchor


def links_of(text):
    for part in FENCE.split(text)[::2]:
        yield from (link for _, _, link in LINK.findall(part))
        yield from re.findall(r'(?:src|srcset)="([^"]+)"', part)


def needed_sources(pages):
    """Files of the checkout that pages lead to, and those that these lead to."""
    found, queue = set(), list(pages)
    while queue:
        page, text = queue.pop()
        for link in links_of(text):
            path, _ = resolved(page, link)
            at = shown_at(path) if path else None
            if at and at.startswith("source/") and path not in found:
                found.add(path)
                queue.append((path, source_page(path)))
    return found


def python_reference():
    """A page with each public name of the package, from the module that has it."""
    tree = ast.parse((ROOT / "python/tilewright/__init__.py").read_text())
    later = next(ast.literal_eval(node.value) for node in tree.body
                 if isinstance(node, ast.Assign) and node.targets[0].id == "_LATER")
    modules = {"matmul": "_matmul", **later}
    text = "# Python reference\n\n" + "```text\n" + ast.get_docstring(tree) + "\n```\n\n"
    for name, module in modules.items():
        inner = f"tilewright.{module}.{name}" if module else f"tilewright.{name}"
        text += f"::: {inner}\n    options:\n      heading: \"tilewright.{name}\"\n      toc_label: \"{name}\"\n\n"
    return text


def help_of(tool, *verb):
    return subprocess.run([tool, *verb, "--help"], capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"}).stdout


def verbs_of(said):
    return re.findall(r"^  ([a-z]+) {2,}", said.partition("\nSubcommands:")[2].partition("\nExample")[0], re.M)


def tool_reference():
    """A page with `--help` of each verb."""
    tool = os.environ.get("TILEWRIGHT_TOOL", "")
    if not tool:
        return "# Verbs of the tool\n\nThis site was built without the tool: run `tilewright VERB --help`.\n"
    whole = help_of(tool)
    text, queue = f"# Verbs of the tool\n\n```text\n{whole.rstrip()}\n```\n", [[verb] for verb in verbs_of(whole)]
    while queue:
        verb = queue.pop(0)
        said = help_of(tool, *verb)
        text += f"\n## tilewright {' '.join(verb)}\n\n```text\n{said.rstrip()}\n```\n"
        queue = [[*verb, inner] for inner in verbs_of(said)] + queue
    return text


def on_files(files, config):
    def add(src_uri, content, place=None):
        files.append(File.generated(config, src_uri, content=content))
        if place:
            places[src_uri] = place
    for path, src_uri in PAGES.items():
        if path == "docs/README.md":
            files.remove(files.get_file_from_path("README.md"))
        if (ROOT / path).exists():
            add(src_uri, (ROOT / path).read_text(), path)
    pages = [(path, (ROOT / path).read_text()) for path in PAGES if (ROOT / path).exists()]
    pages += [(f"docs/{file.src_uri}", (ROOT / "docs" / file.src_uri).read_text()) for file in files.documentation_pages()
              if (ROOT / "docs" / file.src_uri).is_file()]
    for path in sorted(needed_sources(pages)):
        add(shown_at(path), source_page(path), path)
    add("reference/python.md", python_reference())
    add("reference/tool.md", tool_reference())
    add("site.css", CSS)
    return files


def weigh(page):
    """What search does with a page: pages that teach come first, listings and texts of licences are not found."""
    here = page.file.src_uri
    if here.startswith("source/licences/") or here.endswith("_source.md"):
        page.meta["search"] = {"exclude": True}
    elif here in FIRST or here.startswith(("source/", "reference/cpp/", "reference/c/")):
        page.meta["search"] = {"boost": 4 if here in FIRST else 0.5}


def on_page_markdown(text, page, config, files):
    here = page.file.src_uri
    weigh(page)
    if here.startswith("reference/"):  # anchors that MkDoxy names otherwise than MkDocs does
        return re.sub(r"\]\(([\w.]*)#(?:friend|function-operator)-[\w-]*\)", lambda found: f"]({found[1] or posixpath.basename(here)})", text)

    def place(link):
        path, anchor = resolved(origin(here), link)
        if path is None:
            return link
        at = shown_at(path)
        return at and posixpath.relpath(at, posixpath.dirname(here) or ".") + (f"#{anchor}" if anchor else "")

    def rewritten(found):
        image, label, link = found.groups()
        to = place(link)
        if to:
            return f"{image}[{label}]({to})"
        return f"`{resolved(origin(here), link)[0]}`" if "results/" in link else f"{label} (`{resolved(origin(here), link)[0]}`)"
    parts = FENCE.split(text)
    for i in range(0, len(parts), 2):
        parts[i] = PICTURE.sub(lambda found: f"![{found[2]}]({place(found[3])}#only-light)![{found[2]}]({place(found[1])}#only-dark)", parts[i])
        parts[i] = re.sub(LINK, lambda found: found[0] if "#only-" in found[3] else rewritten(found), parts[i])
    return "".join(parts)

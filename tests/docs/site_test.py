#!/usr/bin/env python3
"""Builds the documentation as a site (scripts/docs) and reads it in a headless Chromium: search finds `gemm_batched`, no page scrolls
sideways at 1280 px, both palettes work, and nothing is asked of another host. Skipped (77) without Chromium or MkDocs; scripts/soak
installs both. usage: site_test.py [TOOL]"""

import functools
import http.server
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SITE = ROOT / "build" / "site"
SILENT_S = 240  # of the browser, which reports each page
# Lists that Doxygen makes of the same names, page after page.
LISTS = re.compile(r"reference/c(pp)?/(dir_|(class|namespace)_member|.*_source\.html|(hierarchy|links|macros|modules|pages|examples)\.html)")
CHECK = """<!doctype html><title>check</title><body><script>
const wait = ms => new Promise(done => setTimeout(done, ms));
const until = async (what, ms = 20000) => {
  for (let spent = 0; spent < ms; spent += 50) { const found = what(); if (found) return found; await wait(50); }
  return what();
};
async function open(page) {
  const frame = document.createElement("iframe");
  frame.style = "width:1280px;height:900px;border:0";
  const loaded = new Promise(done => frame.onload = done);
  frame.src = page;
  document.body.append(frame);
  await loaded;
  return frame;
}
async function search(words) {
  const frame = await open("/index.html"), page = frame.contentDocument;
  const input = page.querySelector(".md-search__input");
  input.focus(); input.value = words; input.dispatchEvent(new Event("input", {bubbles: true}));
  input.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
  await until(() => page.querySelector(".md-search-result__link"));
  const links = [...page.querySelectorAll(".md-search-result__link")].map(link => link.getAttribute("href"));
  frame.remove();
  return links;
}
async function palettes() {
  const frame = await open("/index.html"), page = frame.contentDocument, seen = {};
  for (const input of page.querySelectorAll("input[name=__palette]")) {
    input.click(); await wait(400);
    seen[page.body.getAttribute("data-md-color-scheme")] = frame.contentWindow.getComputedStyle(page.body).backgroundColor;
  }
  frame.remove();
  return seen;
}
async function widths(pages) {
  const wide = [];
  const queue = [...pages];
  await Promise.all([1, 2, 3, 4].map(async () => {
    for (let page; (page = queue.shift());) {
      const frame = await open("/" + page), root = frame.contentDocument.documentElement;
      if (root.scrollWidth > 1280) wide.push(page + ": " + root.scrollWidth);
      frame.remove();
      await fetch("/page", {method: "POST", body: "{}"});
    }
  }));
  return wide;
}
(async () => {
  const said = {};
  try {
    said.palettes = await palettes();
    await fetch("/page", {method: "POST", body: "{}"});
    said.links = await search("gemm_batched");
    said.wide = await widths(PAGES);
  } catch (error) { said.error = String(error.stack || error); }
  await fetch("/said", {method: "POST", body: JSON.stringify(said)});
})();
</script>"""


class Site(http.server.SimpleHTTPRequestHandler):
    said, heard = {}, time.monotonic()
    done = threading.Event()

    def do_GET(self):
        if self.path != "/check.html":
            super().do_GET()
            return
        pages = [str(page.relative_to(SITE)) for page in sorted(SITE.rglob("*.html")) if page.name != "404.html"]
        pages = [page for page in pages if not LISTS.match(page)]
        text = CHECK.replace("PAGES", json.dumps(pages)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        Site.said.update(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        Site.heard = time.monotonic()
        self.send_response(204)
        self.end_headers()
        if self.path == "/said":
            Site.done.set()

    def log_message(self, *_):
        pass


def read_in(chromium):
    """What the page that checks the others says."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Site, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1400,1000",
                   f"--user-data-dir={profile}", f"http://127.0.0.1:{server.server_port}/check.html"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as browser:
            Site.heard = time.monotonic()
            while not Site.done.wait(1) and time.monotonic() < Site.heard + SILENT_S:
                pass
            browser.terminate()
    server.shutdown()
    return Site.said if Site.done.is_set() else {"error": f"the browser said nothing for {SILENT_S} s"}


def other_hosts():
    """Scripts, styles and fonts that pages would load from elsewhere."""
    asked = re.compile(r'<(?:script|img|source)[^>]*\bsrc(?:set)?="(https?://[^"]+)|<link[^>]*rel="(?:stylesheet|preconnect)"[^>]*href="(https?://[^"]+)')
    for page in SITE.rglob("*.html"):
        yield from (f"{page.relative_to(SITE)}: {one or other}" for one, other in asked.findall(page.read_text()))


def main():
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium or not shutil.which("doxygen") or not (ROOT / "build/docs-venv/bin/mkdocs").exists():
        print("skipped: Chromium, Doxygen or build/docs-venv is missing (scripts/install_packages docs browser, scripts/docs)")
        return 77
    subprocess.run([ROOT / "scripts/docs", *sys.argv[1:2]], check=True)
    said = read_in(chromium)
    faults = [said["error"]] if "error" in said else []
    faults += list(other_hosts()) + said.get("wide", [])
    palettes = said.get("palettes", {})
    if set(palettes) != {"default", "slate"} or len(set(palettes.values())) != 2:
        faults.append(f"palettes: {palettes}")
    if not any("gemm" in link for link in said.get("links", [])):
        faults.append(f"search for gemm_batched found {said.get('links')}")
    print("\n".join(faults) or f"search finds {len(said['links'])} places, palettes {palettes}, no page is wider than 1280 px")
    return len(faults) > 0


if __name__ == "__main__":
    sys.exit(main())

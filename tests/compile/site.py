#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the documentation site and checks it: links and anchors lead somewhere, each routine of
OpenSHMEM 1.6 has a page with its signature, and each extension is on a page.

site.py PROJECT_FOLDER BUILD_FOLDER   the environment for MkDocs is beside BUILD_FOLDER
site.py --self-test                   plants each violation, and looks for the complaint

Ends with 77 if docs/site/make_site.py does: the environment is missing and cannot be made.
"""
import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile
from urllib.parse import unquote, urlsplit

from man_pages import OLDER
from symbols import INTERNAL, golden_names, listed_versions

REFERENCE = "docs/man"


class Page(html.parser.HTMLParser):
    """Names and files that a page refers to, its text, and the text of its first block of code."""

    def __init__(self, path):
        super().__init__()
        self.ids, self.links, self.loads = {""}, [], []
        self.words, self.code, self.depth = [], [], 0
        self.feed(path.read_text(encoding="utf-8"))
        self.text, self.signature = " ".join(self.words), "".join(self.code)

    def handle_starttag(self, tag, attributes):
        of = dict(attributes)
        self.ids.add(of.get("id") or "")
        if tag == "a":
            self.links.append(of.get("href") or "")
        elif of.get("src") or tag == "link":
            self.loads.append(of.get("src") or of.get("href") or "")
        self.depth += tag == "pre" and not self.code

    def handle_endtag(self, tag):
        self.depth -= tag == "pre" and self.depth > 0

    def handle_data(self, data):
        self.words.append(data)
        if self.depth:
            self.code.append(data)


def wrong_links(site, pages):
    for path, page in pages.items():
        for link in page.links + page.loads:
            to = urlsplit(link)
            if to.scheme or to.netloc:
                if link in page.loads:
                    yield f"{path}: loads {link} from elsewhere"
                continue
            base = site if to.path.startswith("/") else (site / path).parent
            target = (base / unquote(to.path).lstrip("/") if to.path else site / path).resolve()
            target = target / "index.html" if target.is_dir() else target
            name = target.relative_to(site.resolve()).as_posix()
            if not target.exists():
                yield f"{path}: {link} leads nowhere"
            elif name in pages and unquote(to.fragment) not in pages[name].ids:
                yield f"{path}: {link}: the page has no such anchor"


def operation(name, types):
    """shmem_ctx_long_put and shmem_put32 are shmem_put."""
    name = re.sub(rf"^shmem_(ctx_)?(({'|'.join(types)})_)?", "shmem_", name)
    return re.sub(r"(?<=[a-z])(8|16|32|64|128|(?<!sh)mem)(?=_|$)", "", name, count=1)


def wrong_routines(pages, standard, deprecated, extensions):
    reference = {pathlib.PurePath(path).stem: page for path, page in pages.items()
                 if path.startswith(REFERENCE)}
    words = {name: set(re.findall(r"\w+", page.text)) for name, page in reference.items()}
    types = {match[1] for match in (re.match(r"shmem_(?!ctx_)(\w+)_(g|sum_reduce)$", name)
                                    for name in standard) if match}
    for name in standard:
        page = name if name in reference else operation(name, types)
        if name in deprecated:
            page = "shmem_deprecated"
        if page not in reference:
            yield f"{name} has no page {page}"
            continue
        signature = re.sub(r"TYPE_|SIZE|(?<!sh)mem(?=[_(])", "", reference[page].signature)
        if name not in deprecated and f"{page}(" not in signature:
            yield f"{page} has no signature"
        if name not in words[page]:
            yield f"{page} does not name {name}"
    everywhere = set().union(*words.values()) if words else set()
    yield from (f"no page names {name}" for name in extensions if name not in everywhere)


def lists():
    golden = pathlib.Path(__file__).with_name("symbols_1.6.txt").read_text(encoding="utf-8")
    extensions = [name for name in listed_versions() if name.startswith("shmemx_")
                  and name not in INTERNAL and not re.fullmatch(OLDER, name)]
    return golden_names(), set(re.findall(r"^(\w+) DEPRECATED", golden, re.MULTILINE)), extensions


def complaints(site, standard, deprecated, extensions):
    pages = {str(path.relative_to(site)): Page(path) for path in sorted(site.rglob("*.html"))}
    return sorted({*wrong_links(site, pages),
                   *wrong_routines(pages, standard, deprecated, extensions)})


PLANTED = {
    "index.html": '<h1 id="top">a</h1><a href="docs/man/shmem_g.html#no">b</a><a href="#top">c</a>'
                  '<img src="none.png"><script src="https://x.org/y.js"></script>'
                  '<a href="https://z">',
    "docs/man/shmem_g.html": "<pre>long shmem_TYPE_g(int pe);</pre> shmem_long_g",
    "docs/man/shmem_put.html": "shmem_putmem <a href=../man/>x</a>",
    "docs/man/shmem_deprecated.html": "<pre>void shmem_wait(void);</pre> shmemx_y",
}
SAID = ["docs/man/shmem_put.html: ../man/ leads nowhere",
        "index.html: docs/man/shmem_g.html#no: the page has no such anchor",
        "index.html: loads https://x.org/y.js from elsewhere", "index.html: none.png leads nowhere",
        "no page names shmemx_z", "shmem_ctx_get32 has no page shmem_get",
        "shmem_deprecated does not name shmem_clear", "shmem_put has no signature"]


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        for name, text in PLANTED.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        found = complaints(pathlib.Path(folder),
                           ["shmem_long_g", "shmem_putmem", "shmem_ctx_get32", "shmem_wait",
                            "shmem_clear"],
                           {"shmem_wait", "shmem_clear"}, ["shmemx_y", "shmemx_z"])
    if found != SAID:
        sys.exit("site.py: found\n" + "\n".join(found) + "\nand not\n" + "\n".join(SAID))


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    project, build = map(pathlib.Path, sys.argv[1:3])
    made = subprocess.run([sys.executable, "-B", project / "docs/site/make_site.py",
                           build.parent / "site_venv", build / "site"], timeout=1100)
    if made.returncode:
        return made.returncode
    found = complaints(build / "site", *lists())
    for text in found:
        print(f"site.py: {text}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

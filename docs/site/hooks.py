# SPDX-License-Identifier: Apache-2.0
"""Tells MkDocs which pages there are, where their links lead, and what the navigation is.

The site's tree is the project's, so that a link is right in both. A text file that a page links to
becomes a page, src/exports.map.md, and so does a folder that docs/index.md lists. A link to another
folder becomes plain text. The navigation is docs/index.md: its headings are groups, its links are
pages. A README.md that it lists does the same for its folder.
"""
import os
import pathlib
import re
import subprocess
import sys

from mkdocs.structure.files import File, InclusionLevel

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import reference  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
INDEX = "docs/index.md"
CODE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
COPIED = (".svg", ".png", ".csv")
LANGUAGES = {".c": "c", ".h": "c", ".py": "python", ".cpp": "cpp", ".hpp": "cpp", ".hip": "cpp"}


def target_of(page, link):
    """The path in the project to which a link of that page leads."""
    return os.path.relpath((TOP / page).parent / link, TOP)


def links_of(page, text):
    for label, link, _ in LINK.findall("".join(CODE.split(text)[::2])):
        yield label, target_of(page, link)


def manual_page(path):
    command = ["mandoc", "-T", "html", "-O", "fragment", path]
    text = subprocess.run(command, cwd=path.parent.parent, check=True, capture_output=True,
                          text=True).stdout
    text = re.sub(r'<table class="(head|foot)">.*?</table>', "", text, flags=re.DOTALL)
    text = re.sub(r"(</?h)1\b", r"\g<1>2", re.sub(r"(</?h)2\b", r"\g<1>3", text))

    def lead(match):
        page = match[1] + (".1" if match[2] == "1" else "")
        known = page in reference.pages() or (path.parent / page).exists()
        return f'<a href="{page}.html">{match[1]}</a>' if known else match[0]
    return f"# {path.stem}\n\n" + re.sub(r"<b>([\w+-]+)</b>\(([13])\)", lead, text)


def page_of_file(path):
    if path.suffix == ".1":
        return manual_page(path)
    text, language = path.read_text(encoding="utf-8"), LANGUAGES.get(path.suffix, "text")
    return (f"---\nsearch: {{exclude: true}}\n---\n# {path.name}\n\n`{path.relative_to(TOP)}`\n\n"
            f"````{language}\n{text}\n````\n")


def summary(path):
    """A manual page's line on its program, or the first sentence of an example's comment."""
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if path.suffix == ".1":
        found = re.search(r" \\- (.*)", text)
        return found and found[1]
    comment = " ".join(re.findall("^// (.*)", text, re.MULTILINE)[1:])
    return re.match(r"\d\d_", path.name) and re.match(r".*?\.(?= |$)", comment)[0]


def page_of_folder(path):
    found = {file.name: summary(file) for file in sorted(path.iterdir())}
    rows = [f"| [{name}]({name}) | {said} |" for name, said in found.items() if said]
    return "\n".join([f"# {path.name}", "", "| file | what it is |", "|---|---|", *rows, ""])


class Pages:
    """All pages: path in the site's tree -> text."""

    def __init__(self):
        written = [*TOP.glob("*.md"), *TOP.glob("docs/**/*.md")]
        self.text = {str(path.relative_to(TOP)): path.read_text(encoding="utf-8")
                     for path in written}
        self.text |= {f"{reference.FOLDER}/{name}.md": text
                      for name, text in reference.pages().items()}
        self.listed = {target for _, target in links_of(INDEX, self.text[INDEX])}
        self.made = set()
        waiting = list(self.text)
        for page in waiting:
            for _, target in links_of(page, self.text[page]):
                waiting += self.make(target)

    def make(self, target):
        """The page for a file or folder without one, if it is to have one."""
        path = TOP / target
        if self.page(target) or path.suffix in COPIED:
            return []
        if path.is_file():
            page, text = f"{target}.md", page_of_file(path)
        elif path.is_dir() and target in self.listed:
            page, text = f"{target}/README.md", page_of_folder(path)
        else:
            return []
        self.text[page] = text
        self.made.add(page)
        return [page]

    def page(self, target):
        names = (target, f"{target}.md", f"{target}/README.md")
        return next((name for name in names if name in self.text), None)

    def navigation(self):
        groups, parts = [], re.split(r"^## (.*)$", self.text[INDEX], flags=re.MULTILINE)
        for heading, text in zip(parts[1::2], parts[2::2]):
            groups.append({heading: [self.entry(label, self.page(target))
                                     for label, target in links_of(INDEX, text)]})
        next(iter(groups[0].values())).insert(1, {"All pages": INDEX})
        return groups

    def entry(self, label, page):
        folder, _, name = (page or "").rpartition("/")
        below = []
        if page == f"{reference.FOLDER}/{reference.INDEX}.md":
            below = reference.navigation()
        elif folder and name == "README.md":
            linked = [self.page(target) for _, target in links_of(page, self.text[page])]
            others = {self.page(target) for target in self.listed}
            below = [to for to in dict.fromkeys(linked)
                     if to and to.startswith(f"{folder}/") and to not in others]
        return {label: [page, *below] if below else page}


def on_files(files, config):
    pages = config["extra"]["pages"] = Pages()
    config.nav = pages.navigation()
    for name, text in pages.text.items():
        kind = InclusionLevel.NOT_IN_NAV if name in pages.made else InclusionLevel.INCLUDED
        files.append(File.generated(config, name, content=text, inclusion=kind))
    for path in sorted(TOP.glob("docs/**/*")):
        if path.suffix in COPIED:
            files.append(File(str(path.relative_to(TOP)), str(TOP), config.site_dir, False))
    return files


def on_page_markdown(markdown, page, config, files):
    pages = config["extra"]["pages"]

    def lead(match):
        label, link, anchor = match.groups(default="")
        target = target_of(page.file.src_uri, link)
        to = pages.page(target)
        if to is None and (TOP / target).is_dir():
            return label
        return f"[{label}]({link.rstrip('/')}{to.removeprefix(target)}{anchor})" if to else match[0]
    parts = CODE.split(markdown)
    parts[::2] = [LINK.sub(lead, part) for part in parts[::2]]
    return "".join(parts)

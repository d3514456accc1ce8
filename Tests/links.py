#!/usr/bin/env python3
"""The links in the repository's Markdown.

    Tests/links.py                       fails if a relative link leads nowhere; prints how many links there are
    Tests/links.py copy FOLDER [BASE]    copies the documentation catalogs into FOLDER, with links as docc wants them

A plain Git host and docc resolve different links: a host follows `[Metrics](Metrics.md)` and knows no `doc:`, and docc
the other way round. So pages link to each other by relative paths, and docc gets a copy in which links between
articles of one catalog are `doc:` links. A link to an article of another catalog becomes an address of the site, below
BASE. A link to any other file becomes its text.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>(?:[^\[\]]|\[[^\[\]]*\])*)\]\(<?(?P<target>[^()\s>]+)>?(?:\s+\"[^\"]*\")?\)"
)
OTHER = re.compile(r"(?:\b(?:href|src)=[\"']|^\[[^\]]+\]:[ \t]+)(?P<target>[^\"'\s]+)", re.M)
CODE = re.compile(r"^ *(```|~~~).*?^ *\1[ \t]*$|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)", re.M | re.S)
HEADING = re.compile(r"^#{1,6} +(.*?)[ #]*$", re.M)
NAMED = re.compile(r"(?<![\w./-])(?:Sources|Tests|Deploy|\.github)/[\w./-]+\.md\b")


@dataclass(frozen=True)
class Link:
    """A link to a place in this repository."""

    page: str
    line: int
    target: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.target}"


def without_code(text: str) -> str:
    """Returns a text in which code is blank, and every other character has its place."""
    return CODE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def headings(text: str) -> list[str]:
    """Returns the headings of a page, as they are written."""
    plain = without_code(text)
    # The code in a heading belongs to it; the code between headings does not.
    return [HEADING.match(text, match.start())[1] for match in HEADING.finditer(plain)]


def words(heading: str) -> str:
    """Returns a heading without the marks of code, links and emphasis."""
    return re.sub(r"[`*]", "", LINK.sub(lambda match: match["text"], heading))


def slugs(text: str) -> dict[str, str]:
    """Returns the anchors of a page as GitHub makes them, each with its heading."""
    found: dict[str, str] = {}
    for heading in headings(text):
        slug = re.sub(r"[^\w\- ]", "", words(heading).lower()).replace(" ", "-")
        name, number = slug, 0
        while name in found:
            number += 1
            name = f"{slug}-{number}"
        found[name] = heading
    return found


def fragment(heading: str) -> str:
    """Returns the anchor that docc makes of a heading."""
    return re.sub(r"[^\w\-]", "", "-".join(words(heading).split()).replace("_", ""))


class Repository:
    """The files of a checkout as git sees them, without ignored ones."""

    def __init__(self, root: pathlib.Path):
        self.root = root
        command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout.split("\0")
        self.files = {name for name in listed if name and (root / name).is_file()}
        self.folders = {str(folder) for name in self.files for folder in pathlib.PurePosixPath(name).parents}
        self.pages = sorted(name for name in self.files if name.endswith(".md"))

    @functools.cache  # noqa: B019 - there is one object for a run
    def text(self, name: str) -> str:
        return (self.root / name).read_text(encoding="utf-8", errors="replace")

    @functools.cache  # noqa: B019
    def anchors(self, page: str) -> dict[str, str]:
        return slugs(self.text(page))

    def links(self) -> Iterator[Link]:
        for page in self.pages:
            text = without_code(self.text(page))
            links = list(LINK.finditer(text))
            # The text of a link may be a picture.
            pictures = [inner for link in links for inner in LINK.finditer(text, link.start("text"), link.end("text"))]
            for match in sorted([*links, *pictures, *OTHER.finditer(text)], key=lambda match: match.start()):
                if is_local(match["target"]):
                    yield Link(page, text.count("\n", 0, match.start()) + 1, match["target"])

    def fault(self, link: Link) -> str | None:
        """Returns what is wrong with a link, if something is."""
        path, _, anchor = link.target.partition("#")
        name = resolved(link.page, path)
        if name not in self.files and name not in self.folders:
            return f"{link}: there is no such file"
        if anchor and not name.endswith(".md"):
            return f"{link}: only a page has headings"
        if anchor and anchor not in self.anchors(name):
            return f"{link}: the page has no such heading"
        return None

    def faults(self) -> list[str]:
        found = [fault for link in self.links() if (fault := self.fault(link))]
        for page in self.pages:
            text = without_code(self.text(page))
            for match in re.finditer(r"<doc:[^>]*>|\]\(doc:[^)]*\)", text):
                line = text.count("\n", 0, match.start()) + 1
                found.append(f"{page}:{line}: {match[0]}: a Git host does not know it; write a relative link")
        # Code, scripts and settings name pages too, mostly in comments.
        for name in sorted(self.files):
            if name.startswith(("Sources/", "Tests/", "Deploy/")) and ".md" in self.text(name):
                named = {match[0] for match in NAMED.finditer(self.text(name))}
                found += [f"{name}: names {page}, which is missing" for page in sorted(named - self.files)]
        return found


def is_local(target: str) -> bool:
    return not re.match(r"[a-z][a-z0-9+.-]*:|//", target)


def resolved(page: str, path: str) -> str:
    """Returns the path of a link from the root; that of its own page if the link has only an anchor."""
    if not path:
        return page
    return os.path.normpath(path.lstrip("/") if path.startswith("/") else os.path.join(os.path.dirname(page), path))


# MARK: For docc


def catalog(name: str) -> str | None:
    """Returns the module of the documentation catalog that contains a file."""
    parts = name.split("/")
    return parts[2] if len(parts) > 4 and parts[0] == "Sources" and parts[3] == f"{parts[2]}.docc" else None


def for_docc(repository: Repository, page: str, base: str = "/") -> str:
    """Returns the text of a page with its links as docc resolves them."""
    text = repository.text(page)
    plain = without_code(text)

    def converted(match: re.Match[str]) -> str:
        whole, title = text[match.start() : match.end()], text[match.start("text") : match.end("text")]
        target = match["target"]
        if match["image"] or not is_local(target):
            return whole
        path, _, anchor = target.partition("#")
        name = resolved(page, path)
        module = catalog(name)
        if module is None or not name.endswith(".md"):
            return title
        article = pathlib.PurePosixPath(name).stem
        place = "#" + fragment(repository.anchors(name)[anchor]) if anchor else ""
        if module != catalog(page):
            own = "" if article == module else f"/{article.lower()}"
            return f"[{title}]({base}documentation/{module.lower()}{own}{place})"
        # A list of topics takes bare links only.
        alone = re.search(r"(^|\n)- $", text[: match.start()]) and text[match.end() : match.end() + 1] in ("\n", "")
        if alone and not place:
            return f"<doc:{article}>"
        return f"[{title}](doc:{'' if name == page else article}{place})"

    out, end = [], 0
    for match in LINK.finditer(plain):
        out += [text[end : match.start()], converted(match)]
        end = match.end()
    return "".join([*out, text[end:]])


def copy(repository: Repository, folder: pathlib.Path, base: str = "/") -> None:
    """Writes `FOLDER/MODULE.docc` for each module that has a catalog."""
    for name in sorted(repository.files):
        if module := catalog(name):
            file = folder.joinpath(f"{module}.docc", *pathlib.PurePosixPath(name).parts[4:])
            file.parent.mkdir(parents=True, exist_ok=True)
            if name.endswith(".md"):
                file.write_text(for_docc(repository, name, base), encoding="utf-8")
            else:
                shutil.copy(repository.root / name, file)


def main(arguments: list[str]) -> int:
    repository = Repository(ROOT)
    match arguments:
        case []:
            faults = repository.faults()
            print(*faults, sep="\n", end="\n" if faults else "")
            pages = len(repository.pages)
            print(f"links.py: {len(list(repository.links()))} links on {pages} pages, {len(faults)} faults")
            return 1 if faults else 0
        case ["copy", folder, *base] if len(base) < 2:
            copy(repository, pathlib.Path(folder), *base)
            return 0
    print(__doc__, file=sys.stderr)
    return 64


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

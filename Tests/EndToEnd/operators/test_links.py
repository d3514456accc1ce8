"""The relative links in the repository's Markdown, and the check that reads them: Tests/links.py."""

import subprocess
import sys

import pytest
from ringline_server import ROOT

sys.path.insert(0, str(ROOT / "Tests"))

import links

PAGE = """# A `page` with links, and more

## It's here: 4.2 (twice)
## It's here: 4.2 (twice)

```
# no heading
[no link](nowhere.md)
```

The end, `[neither](nowhere.md)`, and [out](https://example.com/nowhere.md).
"""


@pytest.fixture
def checked(tmp_path):
    """Returns the faults of a repository of these pages."""

    def check(**pages: str) -> list[str]:
        for name, text in pages.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".md").write_text(text)
        subprocess.run(["git", "init", "-q", tmp_path], check=True, timeout=10)
        return links.Repository(tmp_path).faults()

    return check


def test_every_relative_link_of_this_repository_leads_to_a_file_and_a_heading():
    repository = links.Repository(ROOT)
    assert repository.faults() == []
    assert len(list(repository.links())) > 150, "the links are found"


@pytest.mark.parametrize("form", ["[![a picture]({})](page.md)", "<img src='{}'>", '<a href="{}">x</a>'])
def test_a_picture_in_a_link_and_a_tag_are_links_too(checked, form):
    assert checked(README="# Top", page=form.format("README.md")) == []
    assert checked(page=form.format("missing.png")) == ["page.md:1: missing.png: there is no such file"]


@pytest.mark.parametrize(
    "target",
    [
        "page.md",
        "./page.md#its-here-42-twice",
        "page.md#its-here-42-twice-1",
        "../README.md#a-page-with-links-and-more",
        "/docs/page.md",
        "../docs",
        "#here",
    ],
)
def test_a_link_to_a_file_a_folder_or_a_heading_is_good(checked, target):
    assert checked(README=PAGE, docs__page=PAGE, docs__other=f"# Here\n\n[A\ntitle]({target}), {target}") == []


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        ("missing.md", "there is no such file"),
        ("../page.md", "there is no such file"),
        ("../../README.md", "there is no such file"),
        ("page.md#its-here-42-thrice", "the page has no such heading"),
        ("page.md#no-heading", "the page has no such heading"),
        ("#elsewhere", "the page has no such heading"),
        ("../docs#here", "only a page has headings"),
    ],
)
@pytest.mark.parametrize("form", ["[a `title`]({})", "![a picture]({})", '<img src="{}">', "[title]: {}"])
def test_a_link_that_leads_nowhere_is_found_in_each_form(checked, target, fault, form):
    text = f"# Here\n\n{form.format(target)}\n"
    assert checked(README=PAGE, docs__page=PAGE, docs__other=text) == [f"docs/other.md:3: {target}: {fault}"]


def test_a_link_that_only_docc_knows_and_a_missing_page_that_a_comment_names_are_found(checked, tmp_path):
    # In two parts, so that this file names no missing page itself.
    folder, gone = "Sources", "Deploy" + "/gone.md"
    (tmp_path / "Sources").mkdir()
    (tmp_path / "Sources/a.swift").write_text(f"// See {gone}, and {folder}/there.md.\n")
    first, second = checked(README="See <doc:Page>.", Sources__there="")
    assert (
        first.startswith("README.md:1: <doc:Page>: ") and second == f"Sources/a.swift: names {gone}, which is missing"
    )


def test_docc_gets_links_that_it_resolves(checked, tmp_path):
    catalog = "Sources__Core__One__One.docc__"
    text = (
        "# Page\n\n- [Two](Two.md)\n\n[Two](Two.md#its-here-42-twice), [here](#page), [far](../../Far/Far.docc/Far.md), "
        "[farther](../../Far/Far.docc/Page.md#a-page-with-links-and-more), [a file](../../../../README.md) and `[a](Two.md)`\n"
    )
    pages = {"README": PAGE, catalog + "Page": text, catalog + "Two": PAGE, "Sources__Core__Far__Far.docc__Far": PAGE}
    assert checked(**pages, **{"Sources__Core__Far__Far.docc__Page": PAGE}) == []
    links.copy(links.Repository(tmp_path), tmp_path / "out", "/site/")
    assert (tmp_path / "out/One.docc/Page.md").read_text() == (
        "# Page\n\n- <doc:Two>\n\n[Two](doc:Two#Its-here-42-twice), [here](doc:#Page), [far](/site/documentation/far), "
        "[farther](/site/documentation/far/page#A-page-with-links-and-more), a file and `[a](Two.md)`\n"
    )
    assert (tmp_path / "out/One.docc/Two.md").read_text() == PAGE

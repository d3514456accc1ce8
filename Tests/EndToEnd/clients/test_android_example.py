"""The Android example: there is no Android SDK here, so its Kotlin is parsed, and its names are looked up.

A name must be one of the example, an import, one of Kotlin's own, or inherited from a class of Android's.
"""

import functools
import re
import textwrap
import xml.etree.ElementTree

import pytest
import tree_sitter
import tree_sitter_kotlin
from ringline_server import ROOT

PAGES = ROOT / "Sources/Server/ringline/ringline.docc"
EXAMPLE = PAGES / "Examples/Android"
SOURCES = sorted(EXAMPLE.glob("*.kt"))
MANIFEST = EXAMPLE / "AndroidManifest.xml"
ANDROID = "{http://schemas.android.com/apk/res/android}"

KOTLIN = set(
    """Array Boolean HashSet Int LinkedHashMap List Long Map RuntimeException SecurityException String Synchronized
    System Throwable Unit Volatile android arrayOf break checkNotNull continue false it lazy listOf longArrayOf
    maxOf minOf null or run shl synchronized true until""".split()
)
# What the example's classes inherit, or get as the receiver of a function such as `apply`.
INHERITED = set(
    """Result START_NOT_STICKY answer applicationContext clear disconnect finish fitsSystemWindows flags
    getSystemService hint launch lifecycleScope orientation packageName putString registerAppWithTelecom
    registerForActivityResult setActive setContentView setOnClickListener setText startActivity stopSelf
    textSize""".split()
)
# Of which class of the example a variable is, so that its members can be looked up.
VARIABLES = {"call": "PhoneCall", "phone": "PhoneApp", "phone.server": "Server", "phone.login": "Login"}
VARIABLES |= {"phone.connection": "Connection", "phone.scope": None}


@functools.cache
def tree(path) -> tree_sitter.Node:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_kotlin.language()))
    return parser.parse(path.read_bytes()).root_node


def nodes(node: tree_sitter.Node, *types: str):
    """Yields the node and all below it, of these types or of any."""
    if not types or node.type in types:
        yield node
    for child in node.children:
        yield from nodes(child, *types)


def text(node: tree_sitter.Node) -> str:
    return node.text.decode()


def names(node: tree_sitter.Node) -> list[str]:
    return [text(child) for child in node.children if child.type == "identifier"]


def declared(node: tree_sitter.Node) -> set[str]:
    """Returns every name that is declared below a node."""
    kinds = ("class_declaration", "object_declaration", "function_declaration", "variable_declaration", "parameter")
    kinds += ("class_parameter", "enum_entry", "catch_block")
    return {name for each in nodes(node, *kinds) for name in names(each)[:1]}


def imports(path) -> dict[str, str]:
    """Returns the imported names, each with its line."""
    lines = [text(each) for each in nodes(tree(path), "import") if each.is_named]
    return {line.rsplit(".", 1)[-1]: line for line in lines}


def top(path):
    """Yields the declarations of a file that other files see."""
    for node in tree(path).children:
        name = node.child_by_field_name("name") or next(nodes(node, "variable_declaration"), None)
        if node.type.endswith("_declaration") and name is not None:
            yield text(name), node


CLASSES = {name: node for path in SOURCES for name, node in top(path)}


def uses(path):
    """Yields each identifier of a file that must be found by its name alone."""
    for node in nodes(tree(path), "identifier"):
        parent = node.parent
        place = parent.children.index(node)
        is_member = parent.type in ("navigation_expression", "user_type") and place > 0
        is_label = parent.type in ("this_expression", "qualified_identifier")
        is_label |= parent.type == "return_expression" and parent.child_by_field_name("label") == node
        after = parent.children[place + 1].type if place + 1 < len(parent.children) else ""
        if not is_member and not is_label and not (parent.type == "value_argument" and after == "="):
            yield node


def place_of(path, node) -> str:
    return f"{path.name}:{node.start_point.row + 1}: {text(node)}"


@pytest.mark.parametrize("path", [*SOURCES, EXAMPLE / "build.gradle.kts"], ids=lambda path: path.name)
def test_a_file_is_kotlin(path):
    wrong = [place_of(path, node) for node in nodes(tree(path)) if node.type == "ERROR" or node.is_missing]
    assert not wrong
    assert len(list(nodes(tree(path)))) > 50


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_name_is_of_the_example_or_imported(path):
    known = KOTLIN | INHERITED | set(CLASSES) | declared(tree(path)) | set(imports(path))
    assert [place_of(path, node) for node in uses(path) if text(node) not in known] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_import_is_used(path):
    used = {text(node) for node in nodes(tree(path), "identifier") if node.parent.type != "qualified_identifier"}
    assert [line for name, line in imports(path).items() if name not in used] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_member_of_an_object_of_the_example_exists(path):
    unknown = []
    for node in nodes(tree(path), "navigation_expression"):
        whose, member = text(node.children[0]).replace("?", ""), text(node.children[-1])
        owner = VARIABLES.get(whose, whose if whose in CLASSES and whose[0].isupper() else None)
        if owner is not None and member not in declared(CLASSES[owner]) | {"class", "let"}:
            unknown.append(place_of(path, node))
    assert unknown == []


def test_the_manifest_names_the_classes_and_the_permissions_of_the_example():
    manifest = xml.etree.ElementTree.parse(MANIFEST).getroot()
    named = [value for each in manifest.iter() for key, value in each.items() if key == f"{ANDROID}name"]
    assert {name.removeprefix(".") for name in named if name.startswith(".")} <= set(CLASSES)
    page = (PAGES / "AndroidApps.md").read_text()
    permissions = [name.rsplit(".", 1)[-1] for name in named if name.startswith("android.permission.")]
    assert len(permissions) > 5
    assert [name for name in permissions if f"`{name}`" not in page] == []


def test_the_page_quotes_the_example():
    page = (PAGES / "AndroidApps.md").read_text()
    example = [lines(path.read_text()) for path in [*SOURCES, MANIFEST]]
    quotes = re.findall(r"^ *```(?:kotlin|xml)\n(.*?)^ *```$", page, re.S | re.M)
    assert len(quotes) >= 4
    assert [quote for quote in quotes if not any(lines(quote) in file for file in example)] == []


def lines(code: str) -> str:
    """Returns code without the indentation of its lines, so that a quote may be of an inner block."""
    return "\n".join(line.strip() for line in textwrap.dedent(code).splitlines()) + "\n"

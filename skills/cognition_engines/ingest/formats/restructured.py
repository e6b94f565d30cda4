"""reStructuredText: converted by docutils; directives and roles of Sphinx become their content."""

import re
from collections.abc import Sequence
from io import StringIO
from typing import Any, Final

from docutils import nodes
from docutils.core import publish_doctree, publish_from_doctree
from docutils.languages import en as _english  # noqa: F401  docutils imports by name: later, this process cannot
from docutils.parsers.rst import Directive, directives, languages, roles
from docutils.parsers.rst.directives import admonitions, body, images, misc, parts, references, tables  # noqa: F401
from docutils.parsers.rst.languages import en as _english_names  # noqa: F401
from docutils.readers import doctree, standalone  # noqa: F401
from docutils.writers import html5_polyglot, null  # noqa: F401

from cognition_engines.ingest.formats.converted import Converted, Unreadable, members_of, right_of, split_front, text_of
from cognition_engines.ingest.formats.web_page import markdown_of_part, parse_html
from cognition_engines.markdown.front_block import Member

_SETTINGS: Final = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "doctitle_xform": False,
    "sectsubtitle_xform": False,
    "docinfo_xform": False,
    "initial_header_level": 1,
    "syntax_highlight": "none",
    "math_output": "LaTeX",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "report_level": 3,
    "halt_level": 5,
    "line_length_limit": 1_000_000,
    "smart_quotes": False,
    "input_encoding": "unicode",
    "output_encoding": "unicode",
}
_NAMED: Final = re.compile(r"^[ \t>*-]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w][\w:+.-]*?)[ \t]?::(?=\s|$)", re.MULTILINE)
_ROLE: Final = re.compile(r"(?::([a-zA-Z][\w:+.-]{0,99}):`)|(?:`:([a-zA-Z][\w:+.-]{0,99}):)")
_CODE: Final = frozenset(
    {"code-block", "sourcecode", "code", "ipython", "prompt", "testcode", "doctest", "productionlist"}
)
# their contents are names, options or files, not text
_NO_TEXT: Final = frozenset({"toctree", "index", "highlight", "currentmodule", "py:currentmodule", "include",
                             "literalinclude", "raw", "meta", "role", "default-role", "default-domain",
                             "tabularcolumns", "contents", "sectnum", "module-author", "sectionauthor", "codeauthor",
                             "plot", "graphviz", "digraph", "graph", "inheritance-diagram"})  # fmt: skip
_OF_CHANGES: Final = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_DOCINFO: Final = {"author": "authors", "authors": "authors", "date": "date", "project": "project",
                   "sensitivity": "sensitivity", "title": "title"}  # fmt: skip
_SHOWN: Final = 200  # characters of a flaw


class _AnyOption(dict[str, Any]):
    """Options of any name, in their source form."""

    def __missing__(self, name: str) -> Any:
        return directives.unchanged


class _Holder(Directive):  # type: ignore[misc]  # docutils has no types
    """A directive unknown to docutils: argument and content."""

    has_content = True
    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOption({"class": directives.unchanged})

    def run(self) -> Sequence[nodes.Node]:
        name, argument = self.name.lower(), " ".join(self.arguments)
        if name in _NO_TEXT:
            return []
        if name in _CODE:
            text = "\n".join(self.content)
            return [nodes.literal_block(text, text, classes=["code", argument])] if text.strip() else []
        held = nodes.container()
        if name in _OF_CHANGES:
            version, _, rest = argument.partition(" ")
            argument = f"{_OF_CHANGES[name]} {version}" + (f": {rest}" if rest else "")
        if argument:
            words, messages = self.state.inline_text(argument, self.lineno)
            held += [nodes.paragraph(argument, "", *words), *messages]
        self.state.nested_parse(self.content, self.content_offset, held)
        return [held]


class _Translator(html5_polyglot.HTMLTranslator):  # type: ignore[misc]
    """HTML with images as their alternative texts: docutils would read the file named by an image."""

    def visit_image(self, node: nodes.image) -> None:
        words = self.encode(node.get("alt", ""))
        is_inline = isinstance(node.parent, nodes.TextElement)
        self.body.append(words if is_inline or not words else f"<p>{words}</p>\n")


class _Writer(html5_polyglot.Writer):  # type: ignore[misc]
    """The document without the frame of a page, for which docutils would read a template."""

    def __init__(self) -> None:
        super().__init__()
        self.translator_class = _Translator

    def apply_template(self) -> str:
        return f"<main>{''.join(self.fragment)}</main>"


def _as_written(
    name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = ()
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Return a role unknown to docutils: the title given with a target, else the target."""
    title, _, target = text.removesuffix(">").rpartition("<")
    titled = text.endswith(">") and ">" not in target and title.rstrip()
    words = (titled or text).lstrip("~!")
    return [nodes.literal(rawtext, nodes.unescape(words))], []


def convert(content: bytes) -> Converted:
    """Return the document in a file; keep unsound reStructuredText unchanged, with a single warning."""
    front, text = split_front(text_of(content))
    _register(text)
    said = StringIO()
    tree = publish_doctree(text, settings_overrides=_SETTINGS | {"warning_stream": said})
    flaws = _without_messages(tree)
    members = _remove_fields(tree)
    page = publish_from_doctree(tree, writer=_Writer(), settings_overrides=_SETTINGS | {"warning_stream": said})
    main = parse_html(page if isinstance(page, str) else page.decode()).select_one("main")
    if main is None:
        raise Unreadable("is no sound rst")
    markdown = markdown_of_part(main)
    warnings: tuple[str, ...] = ()
    if flaws:
        line, reason = flaws[0]
        places = "1 place that is" if len(flaws) == 1 else f"{len(flaws)} places that are"
        warnings = (f"has {places} no sound reStructuredText, the first in line {line}: {reason[:_SHOWN]}",)
    return Converted(f"{front}\n{markdown}" if front else markdown, members, warnings=warnings, front=bool(front))


def _register(text: str) -> None:
    """Register every directive and role in the text that docutils does not know."""
    language = languages.get_language("en")
    known = {*language.directives, *directives._directive_registry} - _NO_TEXT - _CODE
    for name in {match[1] for match in _NAMED.finditer(text)}:
        if name.lower() not in known:
            directives.register_directive(name.lower(), _Holder)
    of_docutils = {*language.roles, *roles._role_registry}
    for match in _ROLE.finditer(text):
        name = (match[1] or match[2]).lower()
        if name not in of_docutils:
            roles.register_local_role(name, _as_written)


def _without_messages(tree: nodes.document) -> list[tuple[int, str]]:
    """Remove docutils messages from the document, but not their text; return each with a 1-based line."""
    flaws: list[tuple[int, str]] = []
    for message in list(tree.findall(nodes.system_message)):
        if message.get("level", 0) >= _SETTINGS["report_level"]:
            words = message[0].astext() if len(message) else ""
            flaws.append((int(message.get("line") or 1), " ".join(words.split())))
        held = [child for child in message.children if isinstance(child, nodes.literal_block)]
        if message.parent is not None:
            message.parent.replace(message, held)
    for problem in list(tree.findall(nodes.problematic)):
        problem.parent.replace(problem, nodes.Text(problem.astext()))
    return flaws


def _remove_fields(tree: nodes.document) -> tuple[Member, ...]:
    """Return the members of the fields above all text, which are taken out."""
    found: dict[str, list[str]] = {}
    first = next((node for node in tree.children if not isinstance(node, nodes.Invisible | nodes.target)), None)
    fields = [first] if isinstance(first, nodes.field_list) else []
    if isinstance(first, nodes.section):
        second = next((node for node in first.children[1:] if not isinstance(node, nodes.Invisible)), None)
        fields = [second] if isinstance(second, nodes.field_list) else []
    for field in (field for fields_ in fields for field in list(fields_.children)):
        name = field[0].astext().strip().lower()
        if name in _DOCINFO:
            found.setdefault(_DOCINFO[name], []).append(field[1].astext().strip())
            field.parent.remove(field)
    return members_of(
        next(iter(found.get("title", [])), None),
        found.get("authors", []),
        next(iter(found.get("date", [])), None),
        project=right_of(found.get("project", [])),
        sensitivity=right_of(found.get("sensitivity", [])),
    )

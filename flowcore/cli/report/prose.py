"""The model's Markdown as HTML that can do no harm.

Two walls. The renderer knows no raw HTML, makes no links and loads no pictures: an address in a text that nobody has
checked is shown, so that a reader can judge it, and is never one click away. Behind it stands a sanitiser with a short
list of what may remain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from flowcore.cli.report.words import printable

LONGEST = 100_000  # characters; more than a model says, and read within seconds however it is knotted
_DEEPEST_HEADING = 6
_TEXT = {"p", "br", "hr", "strong", "em", "s", "code", "pre", "blockquote", "ul", "ol", "li", "span"}
_HEADINGS = {"h3", "h4", "h5", "h6"}
_TABLES = {"div", "table", "thead", "tbody", "tr", "th", "td"}
_CLASSES = {"div": {"scroll"}, "th": {"right", "center"}, "td": {"right", "center"}, "span": {"address"}}
_CUT = Markup('<p class="missing">The text goes on; the file has all of it.</p>')
_ALIGNED = re.compile(r"text-align:(right|center)")


def as_html(markdown: str, *, headings_below: int) -> Markup:
    """`headings_below` is the level of the heading that the text stands under; its own highest is the next one."""
    reader = _reader()
    tokens = reader.parse(printable(markdown[:LONGEST]))
    highest = min((_level(token) for token in tokens if token.type == "heading_open"), default=1)
    lowered = list(_adapted(tokens, headings_below + 1 - highest))
    html = reader.renderer.render(lowered, reader.options, {})
    # Every attribute that is not named here goes; a `style` would not be obeyed anyway.
    cleaned = nh3.clean(
        html,
        tags=_TEXT | _HEADINGS | _TABLES,
        attributes={"ol": {"start"}},
        allowed_classes=_CLASSES,
        link_rel=None,
    )
    return Markup(cleaned) + (_CUT if len(markdown) > LONGEST else "")  # noqa: S704 - this is what the sanitiser is for


@cache
def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def _adapted(tokens: Iterable[Token], lower_by: int) -> Iterator[Token]:
    for token in tokens:
        if token.children:
            token.children = list(_without_targets(token.children))
        match token.type:
            case "heading_open" | "heading_close":
                token.tag = f"h{min(_DEEPEST_HEADING, _level(token) + lower_by)}"
            case "th_open" | "td_open":
                aligned = _ALIGNED.match(str(token.attrGet("style") or ""))
                token.attrs = {"class": aligned[1]} if aligned else {}
            case "table_open":
                yield Token("div_open", "div", 1, attrs={"class": "scroll"}, block=True)
        yield token
        if token.type == "table_close":
            yield Token("div_close", "div", -1, block=True)


def _level(heading: Token) -> int:
    return int(heading.tag[1:])


def _without_targets(tokens: Iterable[Token]) -> Iterator[Token]:
    """`[words](address)` becomes words and address, a picture becomes what it was said to show."""
    targets: list[str] = []
    for token in tokens:
        if token.type == "link_open":
            targets.append(str(token.attrGet("href") or ""))
        elif token.type == "link_close":
            yield from _address(targets.pop())
        elif token.type == "image":
            yield _text(f"[picture: {token.content}]" if token.content else "[picture]")
        else:
            yield token


def _address(target: str) -> Iterator[Token]:
    if target:
        yield _text(" ")
        yield Token("span_open", "span", 1, attrs={"class": "address"})
        yield _text(f"({target})")
        yield Token("span_close", "span", -1)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)

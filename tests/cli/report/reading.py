"""A page as a strict reader sees it: what is not nested properly is an error, and nothing is put right silently."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

INLINE = {"a", "b", "code", "em", "s", "span", "strong"}
VOID = {"meta", "br", "hr", "img"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    inside: tuple[str, ...]
    text: str = ""


@dataclass
class Page(HTMLParser):
    html: str
    elements: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._open: list[Element] = []
        self.feed(self.html)
        self.close()
        assert not self._open, f"never closed: {[element.tag for element in self._open]}"
        ids = [element.attributes["id"] for element in self.elements if "id" in element.attributes]
        assert len(ids) == len(set(ids)), "an id twice"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice: {tag} {attrs}"
        if tag not in INLINE:
            self.handle_data(" ")
        inside = tuple(element.tag for element in self._open)
        element = Element(tag, {name: value or "" for name, value in attrs}, inside)
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        raise AssertionError(f"<{tag}/> is no HTML")

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert (element := self._open.pop()).tag == tag, f"</{tag}> closes <{element.tag}>"

    def handle_data(self, data: str) -> None:
        assert self._open or not data.strip(), f"text outside of the page: {data!r}"
        for element in self._open:
            element.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data!r}")

    # --- what tests ask ---

    def all(self, tag: str) -> list[Element]:
        return [element for element in self.elements if element.tag == tag]

    @property
    def text(self) -> str:
        """What a person reads, with every gap as one space."""
        return " ".join(self.all("body")[0].text.split())

    @property
    def skeleton(self) -> list[tuple[str, tuple[str, ...]]]:
        """Everything but the words: which elements there are, and which attributes they have."""
        return [(element.tag, tuple(element.attributes)) for element in self.elements]

    @property
    def targets(self) -> set[str]:
        """Everything that a browser might load or go to, but for places on the page itself and data."""
        named = {"src", "href", "srcset", "action", "formaction", "poster", "data", "background", "ping", "xlink:href"}
        found = {element.attributes[name] for element in self.elements for name in named & element.attributes.keys()}
        return {target for target in found if not target.startswith(("#", "data:image/png;base64,"))}

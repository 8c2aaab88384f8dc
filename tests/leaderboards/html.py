"""Reads pages the way tests need them: rows of tables, texts, and every attribute."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "use", "wbr"}
INLINE = {"a", "abbr", "bdi", "span", "strong", "sup", "time"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What is read of it, blanks made one."""
        return " ".join(self._words().split())

    def _words(self) -> str:
        if self.tag in ("script", "style"):
            return ""
        inside = "".join(c if isinstance(c, str) else c._words() for c in self.children)
        is_inline = self.tag in INLINE and not self.has(class_="visually-hidden")
        return inside if is_inline else f" {inside} "

    def all(self, tag: str = "", **attributes: str) -> list["Element"]:
        """Every element inside, in the order of the page; `class_` is one of its classes."""
        found = []
        for child in self.children:
            if isinstance(child, str):
                continue
            if (not tag or child.tag == tag) and child.has(**attributes):
                found.append(child)
            found += child.all(tag, **attributes)
        return found

    def one(self, tag: str = "", **attributes: str) -> "Element":
        [element] = self.all(tag, **attributes)
        return element

    def has(self, class_: str = "", **attributes: str) -> bool:
        if class_ and class_ not in self.attributes.get("class", "").split():
            return False
        return all(self.attributes.get(name) == value for name, value in attributes.items())

    def rows(self) -> list[list[str]]:
        """The cells' texts of every row in a table's body."""
        return [
            [cell.text for cell in row.children if isinstance(cell, Element)]
            for body in self.all("tbody")
            for row in body.all("tr")
        ]


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def parse(response) -> Element:
    """The page as a tree. Fails where a tag is not closed in its place."""
    parser = _Parser()
    parser.feed(response.content.decode())
    parser.close()
    assert parser.open == [parser.root], f"<{parser.open[-1].tag}> is never closed"
    return parser.root

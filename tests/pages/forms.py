"""Reads a form from a page as a browser would send it."""

from __future__ import annotations

from html.parser import HTMLParser


class FormReader(HTMLParser):
    """The fields of the form with one id: disabled and unticked ones are left out."""

    def __init__(self, form_id: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self._form_id = form_id
        self._inside = False
        self._select = ""
        self._textarea = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = given.get("id") == self._form_id
        if not self._inside or "disabled" in given:
            return
        name = given.get("name", "")
        if tag == "input" and name and (given.get("type") != "checkbox" or "checked" in given):
            self.fields[name] = given.get("value", "on")
        elif tag == "select":
            self._select = name
        elif tag == "option" and self._select and "selected" in given:
            self.fields[self._select] = given.get("value", "")
            self._pending = "value" not in given
        elif tag == "textarea":
            self._textarea = name
            self.fields[name] = ""

    def handle_data(self, text: str) -> None:
        if self._select and getattr(self, "_pending", False):
            self.fields[self._select] = text.strip()
            self._pending = False
        elif self._textarea:
            self.fields[self._textarea] += text

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._textarea = ""


def fields_of(html: str, form_id: str) -> dict[str, str]:
    reader = FormReader(form_id)
    reader.feed(html)
    return reader.fields

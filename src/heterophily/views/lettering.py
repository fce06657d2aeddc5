"""The width of text on a page, whose font is not known, and names that are shortened to fit."""

from collections.abc import Sequence
from unicodedata import combining, east_asian_width

SIZE = 12.0  # pixels of the font to which widths refer
# Pixels in a wide sans-serif font (DejaVu Sans), so that names in narrower fonts have room, too.
CLASSES = {
    4.3: " ijlIJ'|,.·/:;\\-f",
    5.5: '!()[]rt"',
    6.7: "*_`–?cszL",
    7.6: "abdeghknopquvxyEFPSTY$0123456789{}",
    9.5: "GHNODQU&",
    10.4: "#+<=>^~−±wM",
    12.0: "mW%@…—",
}
WIDTHS = {character: width for width, characters in CLASSES.items() for character in characters}
UPPER, OTHER, FULL = 8.8, 7.8, 12.5  # of other characters: upper case, all others, and East Asian
ELLIPSIS = "…"


def text_width(text: str) -> float:
    """Return an upper estimate of the width of a text in pixels at a font size of 12 pixels.

    Examples
    --------
    >>> text_width("ill") < text_width("cmgnn") < text_width("CMGNN")
    True
    """
    return sum(map(_character_width, text))


def _character_width(character: str) -> float:
    if character in WIDTHS:
        return WIDTHS[character]
    if combining(character):
        return 0.0
    return FULL if east_asian_width(character) in "WF" else UPPER if character.isupper() else OTHER


def shorten(text: str, room: float, *, tail: int = 0) -> str:
    """Return the beginning of a text that is wider than `room`, and its last `tail` characters.

    Examples
    --------
    >>> shorten("Conjunctive adverbs", 80), shorten("noun", 80)
    ('Conjunctiv…', 'noun')
    >>> shorten("Conjunctive adverbs, group B", 120, tail=7)
    'Conjunct…group B'
    """
    if text_width(text) <= room:
        return text
    end = ELLIPSIS + (text[-tail:] if tail else "")
    left = room - text_width(end)
    count = 0
    while count < len(text) and (left := left - _character_width(text[count])) >= 0:
        count += 1
    return text[: max(1, count)].rstrip() + end


def shorten_all(names: Sequence[str], room: float) -> list[str]:
    """Return names that fit. If their beginnings do not distinguish them, their ends are retained, too.

    Examples
    --------
    >>> shorten_all(["sports news A", "sports news B"], 60)
    ['sport… A', 'sport… B']
    """
    found = [shorten(name, room) for name in names]
    if len(set(found)) == len(set(names)):
        return found
    tails = [max(1, len(name) * 4 // 10) for name in found]
    return [shorten(name, room, tail=tail) for name, tail in zip(names, tails, strict=True)]

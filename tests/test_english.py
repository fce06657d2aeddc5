"""Docs, templates, docstrings, messages, and comments are plain American English, without `FORBIDDEN` words.

Identifiers, code, and quoted titles are exempt. Run `python tests/test_english.py` to print all hits.
"""

import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FORBIDDEN = re.compile(
    r"\b(anew|beside|mend(s|ed)?|misspelt|whoever|hears?|heard|rightly|litter|could not be had|"
    r"commas? between|in the manner of|take note of|at hand|of one's own|is none of|by the alphabet|"
    r"out of sight|(is|are) on offer|stands? (apart|beside|under|around|in place of)|go(es)? on from|"
    r"labelled|unlabelled|neighbours?|licence|colour|(normal|symmetr|optim|minim|recogn|initial)is(e|ed|er|es|ing|ation))\b",
    re.IGNORECASE,
)
CODE = re.compile(
    r"```.*?```|``[^`]*``|`[^`\n]*`|^ *>>> .*$|^ *\.\.\. .*$|\"[A-Z][^\"\n]*\"|“[^”]*”", re.DOTALL | re.MULTILINE
)
MARKDOWN = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md")
TEMPLATES = ("src/**/*.html", "src/**/*.js", "src/**/*.j2")


def hits(text: str, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the line and the word of every hit outside of code."""
    prose = CODE.sub(lambda code: "\n" * code.group().count("\n"), text)
    for match in FORBIDDEN.finditer(prose):
        yield first_line + prose.count("\n", 0, match.start()), match.group()


def python_hits(text: str) -> Iterator[tuple[int, str]]:
    """Yield the hits in comments and in strings of several words. A single word is an identifier."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        is_text = token.type == tokenize.STRING and " " in token.string
        if is_text or token.type == tokenize.COMMENT:
            prose = re.sub(r"\{[^{}]*\}", "", token.string).strip("rbfu'\"")
            yield from hits(prose, token.start[0])


@cache
def all_hits() -> dict[str, list[str]]:
    """Return all hits by folder, or by package for source files."""
    result: dict[str, list[str]] = {}
    for pattern in (*MARKDOWN, *TEMPLATES, "src/**/*.py"):
        for path in sorted(ROOT.glob(pattern)):
            relative = path.relative_to(ROOT)
            folder = relative.parts[2] if relative.parts[0] == "src" else relative.parts[0]
            text = path.read_text(encoding="utf-8")
            lines = python_hits(text) if path.suffix == ".py" else hits(text)
            result.setdefault(folder, []).extend(f"{relative}:{n} {word}" for n, word in lines)
    return result


@pytest.mark.parametrize("folder", sorted(all_hits()))
def test_text_is_plain_english(folder):
    lines = all_hits()[folder]
    assert not lines, "\n".join(lines)


def test_code_and_identifiers_are_exempt():
    assert list(python_hits('x = "licence"\ny = "n_labelled nodes"  # `colour`\n')) == []
    assert list(python_hits('"""A node\nhears.\n"""\n# a mended file\n')) == [(2, "hears"), (4, "mended")]
    assert list(hits("One\n```\ncolour\n```\nbeside `anew`")) == [(5, "beside")]


if __name__ == "__main__":
    for folder, lines in all_hits().items():
        print(f"{len(lines):4} {folder}", *lines, sep="\n     ")

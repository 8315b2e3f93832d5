"""Text that speaks to whoever judges, found and withheld.

A deliverable is data. A sentence in it that tells the reader which verdict to give, copies the form
of a verdict, or pretends that the material has ended, is not shown to a judge: a mark says what was
withheld. The rules are fixed and few; what they miss, a judge sees as one more text in quotes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

#: Characters after a match that are withheld at most, to the end of its paragraph.
REACH = 1500
_MARK = "⟦withheld: {kind}, {size} characters⟧"
#: Cyrillic and Greek letters that look like Latin ones.
_LOOKALIKES = str.maketrans("аеорсухіјѕԁһοαερτυνικ", "aeopcyxijsdhoaeptuvik")
_COMMENT = re.compile(r"[ \t]*(?:#|//|/?\*|--|;|<!--|%)")
_SENTENCE = re.compile(r"[.!?]\s+")
_CLOSE, _BLANK = re.compile(r'(?<!\\)"'), re.compile(r"\n[ \t]*\n")

# Between two words: blanks, line ends, comment signs, quotes. A gap and a word have no character in
# common and both are short, so that no text can make a form try many ways to fit.
_GAP = r"[\W_]{1,12}"
_FEW = rf"(?:{_GAP}[^\W_]{{1,40}}){{0,4}}?{_GAP}"
_JUDGE = (
    rf"(?:judges?|graders?|evaluators?|assessors?|scorers?|raters?|(?:grading|judging|ai|language){_GAP}"
    r"models?|llms?|chatbots?)"
)
_RUBRIC = r"(?:criteria|criterions?|rubrics?)"
_GOOD = r"(?:met|satisfied|pass|passed|passing|fulfilled|true|full|maximum|perfect|highest|top|10|100|1\.0)"
_NEAR = re.compile(
    rf"\b(?:{_RUBRIC}|{_GOOD}|verdicts?|scores?|scored|grades?|graded|marks?|rate|rating|credit|approve)\b"
)
#: Kinds by how a person would name them, each with its form in folded text.
_FORMS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(form, re.MULTILINE))
    for kind, form in (
        (
            "an order to set instructions aside",
            (
                rf"\b(?:ignore|disregard|forget|override|bypass)\b{_FEW}(?:instructions?|prompts?|"
                rf"{_RUBRIC}|grading|guidelines?|directions?)\b"
            ),
        ),
        (
            "an order about the verdict",
            (
                rf"\b(?:mark|rate|score|grade|judge|consider|treat|return|answer|output|report|give|award|"
                rf"assign|set|count|accept|deem)\b{_FEW}(?:{_RUBRIC}\b{_FEW}{_GOOD}\b|"
                rf"(?:full|maximum|perfect|highest|top|best){_GAP}(?:marks?|credit|points?|scores?|grades?|"
                rf"rating)\b|{_GOOD}{_GAP}(?:for|on|to){_GAP}(?:all|every|each|any){_FEW}{_RUBRIC}\b)"
            ),
        ),
        (
            "the form of a verdict",
            (
                r"\"verdicts?\s*\"\s*:\s*[\[{]|\"criterion(?:_id)?\s*\"\s*:[^\n]{0,200}?\"(?:verdict|met|score)\s*\""
                r"\s*:|\"(?:verdict|met)\s*\"\s*:[^\n]{0,200}?\"criterion(?:_id)?\s*\"\s*:"
            ),
        ),
        (
            "a sign that the material has ended",
            (
                r"<\|[a-z_]{2,20}\|>|\[/?inst\]|<</?sys>>|</?(?:material|evidence|submission|deliverable)"
                r"(?:-\w+)?>|\b(?:end|close)\s+(?:of\s+)?(?:the\s+)?(?:material|evidence|submission|deliverable|"
                r"transcript)\b[\W_]{0,40}$"
            ),
        ),
        (
            "a new part for the reader",
            (
                rf"\b(?:you{_GAP}(?:are|act){_GAP}(?:now{_GAP})?(?:as{_GAP})?(?:an?|the)?{_GAP}?{_JUDGE}\b|"
                rf"(?:new|updated){_GAP}system{_GAP}(?:prompt|message)|system{_GAP}override)\b"
            ),
        ),
    )
)  # fmt: skip
#: Whoever judges is spoken to: of weight where a word about verdicts stands near.
_ADDRESS = re.compile(
    rf"\b(?:(?:notes?|attention|message|instructions?|dear|hey|hello|reminder|advice){_GAP}(?:(?:to|for)"
    rf"{_GAP})?(?:(?:the|all|any|our){_GAP})?{_JUDGE}\b|{_JUDGE}{_GAP}(?:must|should|shall|please|have{_GAP}"
    rf"to|has{_GAP}to|are{_GAP}to|is{_GAP}to)\b)|^[\W_]{{0,8}}{_JUDGE}[\s\"']{{0,3}}[:,]",
    re.MULTILINE,
)
_ADDRESSED = "words to whoever judges"
#: One of them is in every text that has one of the forms: to look for that is quick.
_HINTS = (
    *("ignor", "disregard", "forget", "overrid", "bypass", "criteri", "rubric", "verdict", "judg"),
    *("grade", "grading", "evaluator", "assessor", "scorer", "rater", "model", "llm", "<|", "inst]"),
    *("<</", "<<s", "material", "evidence", "submission", "deliverable", "transcript", "system", "\"met\""),
    *("full", "maximum", "perfect", "highest", "chatbot"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """Where text speaks to a judge, and how: ``kind`` is in words for people."""

    start: int
    end: int
    kind: str


def passages(text: str) -> tuple[Passage, ...]:
    """What is to be withheld of ``text``, in order, none overlapping."""
    folded, places = fold(text)
    if not any(hint in folded for hint in _HINTS):
        return ()
    joined: list[Passage] = []
    for start, end, kind in sorted(_matches(folded), key=lambda each: (each[0], -each[1])):
        first, last = _place(places, start), _place(places, end - 1) + 1
        if joined and last <= joined[-1].end:
            continue
        passage = Passage(*_around(text, first, last), kind)
        if joined and passage.start <= joined[-1].end:
            before = joined[-1]
            joined[-1] = Passage(before.start, max(before.end, passage.end), before.kind)
        else:
            joined.append(passage)
    return tuple(joined)


def withhold(text: str, found: tuple[Passage, ...]) -> str:
    """``text`` with a mark in the place of each passage."""
    for passage in reversed(found):
        mark = _MARK.format(kind=passage.kind, size=passage.end - passage.start)
        text = f"{text[: passage.start]}{mark}{text[passage.end :]}"
    return text


def visible(text: str) -> str:
    """``text`` with what nobody sees written out, as ⟨U+200B⟩, line ends and tabs apart."""
    if text.isprintable():
        return text
    return "".join(
        char if char in "\n\t" or not _hides(char) else f"⟨U+{ord(char):04X}⟩"
        for char in text.replace("\r\n", "\n")
    )


def fold(text: str) -> tuple[str, list[int] | None]:
    """``text`` as it is looked through: small letters, lookalikes and what is hidden undone.

    Beside it the place in ``text`` of each of its characters, None where the two are the same.
    """
    if text.isascii():
        return text.lower(), None
    folded: list[str] = []
    places: list[int] = []
    tagged = False
    for place, char in enumerate(text):
        before, tagged = tagged, 0xE0020 <= ord(char) <= 0xE007E
        if tagged:  # tags spell ASCII without being seen
            plain = chr(ord(char) - 0xE0000)
        elif _hides(char):
            plain = char if char in "\n\t" else ""
        else:
            plain = unicodedata.normalize("NFKC", char).translate(_LOOKALIKES)
        lowered = " " * (tagged is not before) + plain.lower().translate(_LOOKALIKES)
        folded.append(lowered)
        places.extend([place] * len(lowered))
    return "".join(folded), places


def _hides(char: str) -> bool:
    return not char.isprintable() and unicodedata.category(char) not in ("Zs", "Zl", "Zp")


def _matches(folded: str) -> Iterator[tuple[int, int, str]]:
    bare = folded.replace('\\"', ' "')  # of the same length
    for kind, form in _FORMS:
        for match in form.finditer(bare):
            yield *match.span(), kind
    for match in _ADDRESS.finditer(folded):
        if _NEAR.search(folded, max(0, match.start() - 60), match.end() + 200):
            # Its form may begin with what stands before the first word of a line.
            word = re.search(r"\w", match[0])
            yield match.start() + (word.start() if word else 0), match.end(), _ADDRESSED


def _place(places: list[int] | None, index: int) -> int:
    return index if places is None else places[index]


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence that begins before ``start``, to the end of its paragraph, comment or string."""
    nearby = max(0, start - REACH)
    line = max(nearby, text.rfind("\n", nearby, start) + 1)
    before = text[line:start]
    quoted = before.count('"') % 2 == 1
    if quoted:
        line += before.rfind('"') + 1
    elif sentence := [m.end() for m in _SENTENCE.finditer(before)]:
        line += sentence[-1]
    after = text[end : end + REACH]
    return line, end + _end(after, quoted=quoted, comment=bool(_COMMENT.match(before)))


def _end(after: str, *, quoted: bool, comment: bool) -> int:
    """How much of ``after`` still belongs to the passage."""
    if not comment:
        close = (_CLOSE if quoted else _BLANK).search(after)
        return close.start() if close else len(after)
    end = -1
    while True:
        end = after.find("\n", end + 1)
        if end < 0 or not _COMMENT.match(after[end + 1 : end + 201].partition("\n")[0]):
            return len(after) if end < 0 else end

"""Documents stay short and plain: the user documents are counted, and so are turns of phrase that are hard to read.

The numbers of CEILINGS may only fall: lower one with the sentences that it counts. A sentence names the thing that
acts and what it does; docs/CONTRIBUTING.md has the words to use.
"""

import re
from typing import Iterator

import pytest

from rayscaler_e2e.measure import TOP, user_documents, words

# 14,200 until there were pages by symptom, of concepts and for users of Ray, which nothing else replaces; 15,000 until
# each queue of Pods that wait and each limit of a GPUPool had its sentence; 15,150 until sick GPUs had a section;
# 15,450 until Ray's libraries had a page; 15,700 until the limit of a fleet and sick devices had a row; 15,760 until
# sharing had a part for each reader; 15,880 until Ray Data had its measured table.
USER_WORDS = 15930
# Made from tables of the source, and looked up by name: they grow with each reason, metric, flag and rule.
GENERATED = {"REASONS.md", "METRICS.md", "OPTIONS.md", "LINT.md"}

PATTERNS = {
    "person": r"\b(?:nobody|somebody|anybody|everybody)\b",
    "anew": r"\banew\b",
    "mend": r"\bmend(?:s|ed|ing)?\b",
    "wish": r"\bwish(?:es|ed)?\b",
    "stands": r"\bstands?\b(?!-in)",
    "told": r"\btold\b",
    "goes": r"(?<![-`/])\b(?:goes|gone)\b(?![-`]|\.h)",
    "is no": r"(?<![Tt]here )\bis no\b(?! longer)",
    # A free relative clause as the subject: "What it holds is freed."
    "what": r"(?:^|[.;:|] |/\* |\* )(?:What|Who|Whoever|Whatever)\b(?![^.?]*\?)",
}
CEILINGS = {
    "user documents": {"person": 0, "anew": 0, "mend": 0, "wish": 0, "stands": 0, "told": 0, "goes": 1, "is no": 0, "what": 1},
    "documents": {"person": 0, "anew": 0, "mend": 0, "wish": 0, "stands": 1, "told": 0, "goes": 0, "is no": 0, "what": 1},
    "comments": {"person": 0, "anew": 0, "mend": 0, "wish": 0, "stands": 0, "told": 3, "goes": 0, "is no": 0, "what": 0},
}


def texts(kind: str) -> Iterator[str]:
    """Whole documents, or the comments of C files."""
    if kind == "comments":
        for path in sorted((TOP / "src").rglob("*.[ch]")):
            yield from re.findall(r"/\*.*?\*/", path.read_text(), re.DOTALL)
    else:
        user = set(user_documents())
        every = {*user, *TOP.glob("docs/**/*.md"), *TOP.glob("e2e/**/*.md"), *TOP.glob("charts/**/*.md"), *TOP.glob("examples/*.md")}
        for path in sorted(user if kind == "user documents" else every - user):
            yield path.read_text()


def test_user_documents_are_short():
    """The pages that people write, together."""
    counts = {path.name: words(path) for path in user_documents() if path.name not in GENERATED}
    assert len(counts) > 15
    assert sum(counts.values()) < USER_WORDS, counts


@pytest.mark.parametrize("kind", sorted(CEILINGS))
def test_hard_turns_of_phrase_become_fewer(kind):
    parts = list(texts(kind))
    assert len(parts) > 10
    found = {name: [m for part in parts for m in re.findall(pattern, part, re.MULTILINE)] for name, pattern in PATTERNS.items()}
    over = {name: (len(hits), CEILINGS[kind][name]) for name, hits in found.items() if len(hits) > CEILINGS[kind][name]}
    assert not over, f"more than the ceiling in {kind}, see docs/CONTRIBUTING.md: {over}"


def test_the_patterns_find_what_they_mean():
    bad = {
        "person": "so nobody waits",
        "anew": "made anew",
        "mend": "mend the field",
        "wish": "a group without a wish",
        "stands": "the number stands in the log",
        "told": "Ray is told",
        "goes": "a worker goes",
        "is no": "is no number",
        "what": "Fine. What it holds is freed.",
    }
    good = "A stand-in that is no longer needed. What is a gang? Somewhere, a worker is terminated and the operator recreates it."
    for name, pattern in PATTERNS.items():
        assert re.search(pattern, bad[name], re.MULTILINE) and not re.search(pattern, good, re.MULTILINE), name

"""Prompts for probes: about so many tokens long, never twice the same.

An engine that keeps prompt prefixes would answer a repeated prompt without computing it, so each
begins with a nonce. The words are so common that each is one token for the tokenizers in use; what
a chat template adds is learnt from the first answer.
"""

import random
from typing import Final

__all__ = ["PromptMaker"]

_WORDS: Final = (
    "time", "people", "way", "water", "day", "part", "number", "sound", "work", "place", "year",
    "back", "thing", "name", "man", "line", "boy", "farm", "end", "mother", "world", "story",
    "city", "point", "river", "car", "night", "side", "head", "house", "page", "letter", "answer",
    "school", "food", "tree", "earth", "light", "country", "father", "paper", "music", "group",
    "book", "state", "mile", "mountain",
)  # fmt: skip
_NONCE_DIGITS: Final = 8  # digits are tokens of their own, or shares of one, everywhere


class PromptMaker:
    """Makes prompts.

    Args:
        seed: differs from start to start, so that no engine-side cache on disk knows a prompt.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 - variety, not secrecy
        self._overhead = 0

    def prompt(self, tokens: int) -> str:
        """Return a prompt that costs about ``tokens`` with its template, at least the nonce."""
        count = max(tokens - self._overhead - _NONCE_DIGITS, 1)
        nonce = self._random.randrange(10 ** (_NONCE_DIGITS - 1), 10**_NONCE_DIGITS)
        return f"{nonce} " + " ".join(self._random.choices(_WORDS, k=count))

    def learn(self, asked: int, measured: int) -> None:
        """Correct by what the engine counted for a prompt of ``asked`` tokens."""
        self._overhead += measured - asked

"""The words that scripts/lint_words finds, and where it looks for them."""

from __future__ import annotations

import unittest

from script import load

lint_words = load("lint_words")


class Findings(unittest.TestCase):

    def found(self, path: str, text: str, lines: set[int] | None = None) -> list[tuple[int, str]]:
        return [(line, words) for line, words, _ in lint_words.findings_of(path, text, lines)]

    def test_words_in_comments_alone(self) -> None:
        text = 'int told = 1;  // what an op reads\nPrint("what // is told");\n/// Returns what if nothing.\n'
        self.assertEqual(self.found("a.cc", text), [(1, "what")])

    def test_words(self) -> None:
        for sentence, words in (("A text is no list.", "is no"), ("There is no list.", ""), ("It is no longer.", ""),
                                ("It goes on.", "goes on"), ("Simulated anew.", "anew"), ("Of what it reads", "Of what"),
                                ("Somewhat faster", ""), ("as it is told", "told"), ("a programme", "programme")):
            with self.subTest(sentence=sentence):
                self.assertEqual([found for _, found in self.found("a.h", "// " + sentence)], [words] if words else [])

    def test_pages_without_code_and_lines_that_were_added(self) -> None:
        page = "It goes on.\n```\nit goes on\n```\n`goes on` stays.\nIt goes on.\n"
        self.assertEqual(self.found("a.md", page), [(1, "goes on"), (6, "goes on")])
        self.assertEqual(self.found("a.md", page, {6}), [(6, "goes on")])

    def test_docstrings(self) -> None:
        self.assertEqual(self.found("a.py", '"""It goes on."""\ntold = 1  # is told\n'), [(1, "goes on"), (2, "told")])


if __name__ == "__main__":
    unittest.main()

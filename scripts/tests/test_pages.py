"""The pages: their links lead somewhere, guides stay short, and every agent is described."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [page for page in sorted(ROOT.rglob("*.md")) if not {"build", ".github"} & set(page.relative_to(ROOT).parts)]
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]+))?\)")
GUIDES = ("README.md", "ARCHITECTURE.md", "experiments/README.md", "agents/README.md", "profilers/README.md",
          "configs/README.md")


def anchors_of(page: pathlib.Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


class Pages(unittest.TestCase):

    def test_links_lead_somewhere(self) -> None:
        found = 0
        for page in PAGES:
            for path, anchor in LINK.findall(page.read_text(encoding="utf-8")):
                if not path and not anchor:
                    continue
                found += 1
                target = page.parent / path if path else page
                with self.subTest(page=str(page.relative_to(ROOT)), path=path, anchor=anchor):
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors_of(target))
        self.assertGreater(found, 100)

    def test_guides_are_short(self) -> None:
        for guide in GUIDES:
            self.assertLessEqual(len((ROOT / guide).read_text(encoding="utf-8").splitlines()), 150, guide)

    def test_every_page_is_in_the_menu_of_the_site(self) -> None:
        menu = (ROOT / "scripts/lib/docs/mkdocs.yml").read_text(encoding="utf-8")
        missing = [page for page in (str(page.relative_to(ROOT)) for page in PAGES) if page not in menu]
        self.assertEqual(missing, [], "scripts/lib/docs/mkdocs.yml lists every page")

    def test_every_agent_is_described(self) -> None:
        listed = subprocess.run([os.environ["EMPLACE_PROGRAM"], "list", "agents"], check=True, capture_output=True,
                                text=True).stdout.splitlines()
        names = {line.split()[0] for line in listed if line and not line.startswith(" ")}
        table = re.findall(r"^\| (`[^|]*)\|", (ROOT / "agents/README.md").read_text(encoding="utf-8"), re.M)
        self.assertEqual(names, {name for cell in table for name in re.findall(r"`(\w+)`", cell)})


if __name__ == "__main__":
    unittest.main()

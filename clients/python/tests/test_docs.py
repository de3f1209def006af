"""The examples of the documents run."""

from __future__ import annotations

import contextlib
import io
import re
import unittest
from typing import Any

from . import live
from .test_package import PROJECT


class DocsTest(unittest.TestCase):
    def examples(self, file: str) -> list[str]:
        text = (PROJECT / file).read_text(encoding="utf-8")
        return [
            one.replace("http://127.0.0.1:8080", live.url())
            for one in re.findall(r"```python\n(.*?)```", text, re.S)
        ]

    def test_the_first_product_of_the_readme(self) -> None:
        (example,) = self.examples("../../README.md")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(example, "README.md", "exec"), {})
        self.assertEqual("[[19. 22.]\n [43. 50.]]\n", printed.getvalue())

    def test_the_guide(self) -> None:
        guide = self.examples("../../docs/clients.md")
        self.assertGreater(len(guide), 8)
        names: dict[str, Any] = {}
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for example in guide:
                exec(compile(example, "docs/clients.md", "exec"), names)
        lines = printed.getvalue().splitlines()
        for line in ("(4, 3) i8 (4,)", "shape-mismatch", "400", "[(8, 3)]"):
            self.assertIn(line, lines)
        self.assertTrue(names["a"]._http.is_closed)
        for said in re.findall(r"print\(e\.detail\) +# (.*)", "".join(guide)):
            self.assertIn(said, lines)

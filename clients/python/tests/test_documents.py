"""The examples of the documents."""

from __future__ import annotations

import contextlib
import io
import re
import unittest
from pathlib import Path

from . import live

ROOT = Path(__file__).resolve().parents[3]


class DocumentsTest(unittest.TestCase):
    def test_the_first_product_of_the_readme(self) -> None:
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        (example,) = (one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "connect" in one)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(example.replace("http://127.0.0.1:8080", live.url()), "README.md", "exec"), {})
        self.assertEqual("[[19. 22.]\n [43. 50.]]\n", output.getvalue())

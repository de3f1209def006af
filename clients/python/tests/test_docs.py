"""The examples of the documents run."""

from __future__ import annotations

import contextlib
import io
import json
import re
import unittest
from typing import Any

from . import live
from .test_package import PROJECT


def live_code(code: str) -> str:
    return code.replace("http://127.0.0.1:8080", live.url()).replace("grpc://127.0.0.1:9090", live.grpc_url())


class DocsTest(unittest.TestCase):
    def examples(self, file: str) -> list[str]:
        text = (PROJECT / file).read_text(encoding="utf-8")
        return [live_code(one) for one in re.findall(r"```python\n(.*?)```", text, re.S)]

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

    def test_the_notebook_prints_what_it_shows(self) -> None:
        file = "../../examples/notebook/athanor.ipynb"
        names: dict[str, Any] = {}
        cells = json.loads((PROJECT / file).read_text(encoding="utf-8"))["cells"]
        for cell in (one for one in cells if one["cell_type"] == "code"):
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(live_code("".join(cell["source"])), file, "exec"), names)
            shown = "".join(text for output in cell["outputs"] for text in output["text"])
            times = re.compile(r"\d+\.\d ms")
            self.assertEqual(times.sub("… ms", shown), times.sub("… ms", printed.getvalue()))
        self.assertTrue(names["a"]._http.is_closed)

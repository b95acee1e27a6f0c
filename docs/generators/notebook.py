"""The notebook of the documents, run from its first cell to its last, with what its cells show.

The cells are plain Python and run in this process. A kernel would be another one behind ports, would cost more than the
cells, and would show the same.
"""

import ast
import json
from contextlib import chdir
from pathlib import Path
from typing import Any, Final

NOTEBOOK: Final = Path(__file__).parents[1] / "examples" / "support_bot.ipynb"
_SHOWN_AS: Final = {"text/html": "_repr_html_", "image/svg+xml": "_repr_svg_", "text/plain": "__repr__"}
"""What gives a value as each kind, the one that is shown first."""


def executed(path: Path) -> str:
    """The notebook with what its cells show, run in its folder. Raises what a cell raises."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    with chdir(path.parent):
        for number, cell in enumerate((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), start=1):
            value = _value("".join(cell["source"]), names)
            cell |= {"execution_count": number, "outputs": [] if value is None else [_output(value, number)]}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _value(source: str, names: dict[str, Any]) -> object:
    """Runs a cell; what the expression at its end gives, None where it ends otherwise."""
    *statements, last = ast.parse(source).body
    if not isinstance(last, ast.Expr):
        exec(source, names)  # noqa: S102 - our own
        return None
    exec(compile(ast.Module(statements, []), NOTEBOOK.name, "exec"), names)  # noqa: S102
    return eval(compile(ast.Expression(last.value), NOTEBOOK.name, "eval"), names)  # noqa: S307


def _output(value: object, number: int) -> dict[str, Any]:
    kind, method = next((kind, method) for kind, method in _SHOWN_AS.items() if hasattr(value, method))
    data = {kind: getattr(value, method)().splitlines(keepends=True)}
    return {"output_type": "execute_result", "execution_count": number, "data": data, "metadata": {}}

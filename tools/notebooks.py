"""Run notebooks and store their outputs, or convert one to Markdown.

`python tools/notebooks.py` runs all notebooks of docs/notebooks and stores their outputs. Run it after a change of a
notebook, and look at the result. The notebook `reproduce` requires the datasets.
"""

import base64
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "notebooks"
SECONDS = 600  # time limit of a cell
UNSTORED = ("execution", "widgets")  # metadata that differ between runs


def run(path: Path, parameters: Mapping[str, object] | None = None) -> Any:
    """Return a notebook with the outputs of a run in an empty folder, and other values in its cell `parameters`."""
    from nbclient import NotebookClient

    notebook: Any = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if parameters and "parameters" in cell.metadata.get("tags", ()):
            cell.source += "".join(f"\n{name} = {value!r}" for name, value in parameters.items())
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"
        client = NotebookClient(
            notebook, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": folder}}
        )
        client.execute()
    return notebook


def store(path: Path) -> None:
    """Run a notebook and store its outputs in the file."""
    notebook = run(path)
    for cell in notebook.cells:
        for name in UNSTORED:
            cell.metadata.pop(name, None)
        if "outputs" in cell:
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    nbformat.write(notebook, path)


def to_markdown(path: Path, folder: Path) -> str:
    """Return a notebook as a page, and write its figures to a folder next to the page."""
    notebook: Any = nbformat.read(path, as_version=4)
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += _outputs(cell.outputs, folder, f"{path.stem}-{len(parts)}")
    title, *rest = parts[0].split("\n", 1)
    note = f"This page is a notebook. [Download it]({path.name}) and run it yourself."
    return "\n\n".join([title, note, "".join(rest).strip(), *parts[1:]]) + "\n"


def _outputs(outputs: list[Any], folder: Path, name: str) -> Iterator[str]:
    texts = []
    for number, output in enumerate(outputs):
        data = output.get("data", {})
        if "image/png" in data:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{name}-{number}.png").write_bytes(base64.b64decode(data["image/png"]))
            yield f"![Output of the cell above]({name}-{number}.png)"
        else:
            texts.append(output.get("text") or data.get("text/plain", ""))
    if text := "\n".join(text.rstrip() for text in texts if text.strip()):
        yield f"```text\n{text}\n```"


if __name__ == "__main__":
    for each in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        store(each)
        print(f"ran {each}")

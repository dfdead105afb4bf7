"""What the documents show is what happens."""

import doctest
import json
import re
import subprocess
import sys

import nbformat
import pytest
from nbclient import NotebookClient

import tandem


@pytest.mark.parametrize("module", [
    "tandem", "tandem._builder", "tandem._program", "tandem._recipe"])
def test_examples_in_docstrings(module):
    result = doctest.testmod(sys.modules[module])
    assert result.failed == 0


def test_the_example_of_the_readme(source):
    text = (source / "README.md").read_text()
    code, output = re.search(r"```python\n(.*?)```.*?```\n(.*?)```", text,
                             re.S).groups()
    run = subprocess.run([sys.executable, "-c", code], capture_output=True,
                         text=True, check=True)
    assert run.stdout == output


def test_the_notebook_runs(source):
    path = source / "samples" / "notebooks" / "first_recipe.ipynb"
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    # A cell that is meant to show something does.
    assert sum(bool(cell.get("outputs")) for cell in notebook.cells) >= 5


def test_stubs_are_those_of_the_table():
    from tandem import _native, _signatures
    import pathlib
    stubs = pathlib.Path(tandem.__file__).parent / "ref.pyi"
    assert stubs.read_text() == _signatures.stub(json.loads(_native.ops()))


def test_the_package_is_typed(source):
    run = subprocess.run([sys.executable, "-m", "mypy", "-p", "tandem",
                          "--strict"], capture_output=True, text=True,
                         cwd=source / "tests")
    assert run.returncode == 0, run.stdout


def test_the_command_line_is_the_same_tool():
    run = subprocess.run([sys.executable, "-m", "tandem", "ops", "--json"],
                         capture_output=True, text=True)
    # MAP has no opcode: only recipes know it.
    names = [op["name"] for op in json.loads(run.stdout)
             if op["code"] is not None]
    assert len(names) == len(tandem.ops())

"""Documentation that is executed, generated, or checked against the code it speaks of."""

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SRC = ROOT / "src"


def generator() -> ModuleType:
    """`docs/generate.py`, which is a script and no package."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_fresh():
    """Tables, diagrams and the tree say what the code says. If not: `nox -s docs`."""
    assert generator().stale() == []


def test_a_stale_page_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The check can fail: one changed word is enough, and so is a missing page."""
    generate = generator()
    page = tmp_path / "reference" / "decisions.md"
    page.parent.mkdir()
    page.write_text(generate.decisions_page().replace("PROVISIONING", "PROVIDING", 1))
    (tmp_path / "explanation").mkdir()
    architecture = DOCS / "explanation" / "architecture.md"
    (tmp_path / "explanation" / architecture.name).write_text(architecture.read_text())
    monkeypatch.setattr(generate, "DOCS", tmp_path)
    assert generate.stale() == ["reference/decisions.md"]


def test_the_tree_shows_every_module():
    """Every module on the disk is in the architecture page's tree, and nothing else is."""
    page = (DOCS / "explanation" / "architecture.md").read_text()
    tree = page.split("<!-- tree -->")[1].split("<!-- end of tree -->")[0]
    shown = re.findall(r"^ *(?:src/)?(\w+)/?  ", tree, re.MULTILINE)
    packages = [path.parent.name for path in SRC.rglob("__init__.py")]
    modules = [path.stem for path in SRC.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(shown) == sorted(packages + modules)


EXECUTED = sorted(path for path in DOCS.rglob("*.md") if ">>> " in path.read_text())


@pytest.mark.parametrize("page", EXECUTED, ids=lambda path: str(path.relative_to(DOCS)))
def test_what_a_page_shows_is_what_happens(page: Path):
    """Every example of a page is run, from its top to its end."""
    text = re.sub(r"^```.*$", "", page.read_text(), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    told: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=told.append)
    assert "".join(told) == ""


def test_the_tutorial_is_executed():
    """The page that people start with is among those that are run."""
    assert DOCS / "tutorial.md" in EXECUTED


CITED = re.compile(r"\bH(\d+)\b|[Cc]ontract (\d+)|\bI(\d+)\b")


def citations(text: str) -> set[str]:
    """The hazards, contracts and invariants that a text names."""
    found = CITED.findall(text)
    return {f"H{h}" if h else f"contract {c}" if c else f"I{i}" for h, c, i in found}


def test_everything_that_the_source_cites_can_be_looked_up():
    """A hazard, contract or invariant named in the source is explained in the documentation."""
    page = citations((DOCS / "reference" / "specification.md").read_text())
    names = {
        f"{path.relative_to(SRC)}: {name}"
        for path in SRC.rglob("*.py")
        for name in citations(path.read_text()) - page
    }
    assert names == set()


def test_citations_are_found():
    """The check can fail."""
    assert citations("H19, Contract 8 and I13, not HI7") == {"H19", "contract 8", "I13"}


ADRS = sorted((DOCS / "adr").glob("0*.md"))


@pytest.mark.parametrize("adr", ADRS, ids=lambda path: path.name)
def test_a_decision_record_is_whole_and_listed(adr: Path):
    """Each has its number, why, what and what follows, and stands in the list."""
    text = adr.read_text()
    assert text.startswith(f"# {int(adr.name[:4])}. ")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings == ["Why", "Decision", "What follows"]
    assert f"({adr.name})" in (DOCS / "adr" / "README.md").read_text()


def test_decision_records_are_numbered_without_gaps():
    """The numbers are 1, 2, 3 and so on."""
    assert [int(adr.name[:4]) for adr in ADRS] == list(range(1, len(ADRS) + 1))

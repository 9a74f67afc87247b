"""The documentation as a site: public names and commands have entries, nothing is fetched, mistakes fail the build."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
import yaml

from fivesentences.cli import app, command_line
from fivesentences.reproduction.paper.site.shell import Site

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SITE = ROOT / "docs" / "site"
pytest.importorskip("sphinx_external_toc", reason="needs the dependency group docs")
soup = importlib.import_module("bs4").BeautifulSoup


def build(source: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run Sphinx with the site's settings on another source folder."""
    command = [sys.executable, "-m", "sphinx", "-c", str(SITE), "-d", str(out / "doctrees"), *options]
    return subprocess.run([*command, str(source), str(out)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site's reference alone, without the documents that it links to."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (source / "README.md").write_text("# Start\n")
    (source / "contents.yml").write_text("root: README\nentries: [{glob: docs/reference/*}]\n")
    # All extensions but the pages of source code, which take a third of the time.
    sphinx = "myst_nb,sphinx_external_toc,sphinx.ext.autodoc,sphinx.ext.napoleon"
    extensions = f"extensions={sphinx},docstrings,reference_pages"
    options = ("-D", extensions, "-D", f"external_toc_path={source}/contents.yml")
    done = build(source, out, "--quiet", *options)
    assert done.returncode == 0, done.stderr
    unexpected = [line for line in done.stderr.splitlines() if "unknown document" not in line]
    assert unexpected == []
    return out


def public_names() -> Iterator[str]:
    """What the public packages export, as users import it."""
    contents = (SITE / "contents.yml").read_text()
    for package in re.findall(r"docs/reference/(fivesentences\.\w+)", contents):
        yield from (f"{package}.{name}" for name in importlib.import_module(package).__all__)


def articles(reference: Path) -> Iterator[tuple[str, object]]:
    """Name and content of each page of a package."""
    pages = sorted((reference / "docs" / "reference").glob("fivesentences.*.html"))
    assert len(pages) == 8
    for page in pages:
        yield page.stem, soup(page.read_text(encoding="utf-8"), "html.parser").find("article")


def test_every_public_name_has_an_entry_with_a_summary(reference: Path) -> None:
    names = set(public_names())
    assert len(names) > 120
    for page, article in articles(reference):
        of_page = {name for name in names if name.startswith(f"{page}.")}
        assert of_page - {one.get("id") for one in article.select("dt.sig")} == set()
        rows = {
            row.find("a").get_text(): row.find_all("td")[1].get_text() for row in article.select("table.overview tr")
        }
        assert rows.keys() == {name.rpartition(".")[2] for name in of_page}
        assert [name for name, summary in rows.items() if len(summary.split()) < 4] == []


def test_what_an_entry_says_is_laid_out(reference: Path) -> None:
    shown = dict(articles(reference))
    (ncs,) = [
        one for one in shown["fivesentences.metrics"].select("dt") if one.get("id") == "fivesentences.metrics.ncs"
    ]
    labels = [one.get_text().rstrip(":") for one in ncs.find_next_sibling("dd").select("dl.field-list > dt")]
    assert labels == ["Parameters", "Returns", "Raises"]
    assert "similarity: ArrayLike | Gallery" in " ".join(ncs.get_text(" ").split()).replace(" :", ":")
    # Gallery links to another package's page, and so does a name within a sentence.
    assert any("fivesentences.retrieval.html" in link["href"] for link in ncs.select("a[href]"))
    assert shown["fivesentences.metrics"].select_one('a[href="#fivesentences.metrics.TIE_RULE"]')
    # The range and the default of a setting come from the specification itself.
    named = {one.get("id"): one for one in shown["fivesentences.losses"].select("dt")}
    rank = named["fivesentences.losses.SoftRankLoss"].find_next_sibling("dd").get_text()
    assert "Values: number above 0; default 25." in rank


def test_no_page_shows_what_only_python_would_write(reference: Path) -> None:
    for page, article in articles(reference):
        text = article.get_text()
        python = ("_SupportsArray", "TypeAliasForwardRef", "FieldInfo(", "dtype[", "<factory>", "Alias for field", "`")
        for residue in python:
            assert residue not in text, f"{page}: {residue}"
        assert article.select("blockquote") == [], f"{page}: an indented block is no code; end the line above with '::'"
        assert article.select(".problematic, .system-message") == [], page


def test_every_command_has_a_page_with_its_options(reference: Path) -> None:
    folder = reference / "docs" / "reference"
    for name in app.commands:
        command = command_line().commands[name]
        within = {f"{name}_{word}": one for word, one in getattr(command, "commands", {}).items()}
        for words, one in (within or {name: command}).items():
            page = (folder / f"command_{words}.html").read_text(encoding="utf-8")
            shown = {code.get_text().split()[0] for code in soup(page, "html.parser").select("article td code")}
            assert {option for each in one.params for option in each.opts if option.startswith("--")} <= shown | {
                "--help"
            }
    text = (folder / "command_evaluate.html").read_text(encoding="utf-8")
    assert "--map-cutoffs" in text and "Examples" in text


def test_long_tables_are_inserted_where_a_document_marks_them() -> None:
    sys.path.insert(0, str(SITE))
    pages = importlib.import_module("written_pages")
    for name, table in pages.TABLES.items():
        documents = [one.read_text(encoding="utf-8") for one in (ROOT / "docs").glob("*.md")]
        (text,) = [one for one in documents if f"<!-- table {name} -->" in one]
        assert table() in pages.with_tables(text)
        assert table().count("\n| ") > 20


def test_a_browser_fetches_nothing_from_elsewhere(reference: Path) -> None:
    for page in reference.rglob("*.html"):
        content = soup(page.read_text(encoding="utf-8"), "html.parser")
        used = [one.get("src") for one in content.select("[src]")] + [
            one["href"] for one in content.select("link[href]")
        ]
        assert [one for one in used if re.match(r"(https?:)?//", str(one))] == [], page
    for sheet in reference.rglob("*.css"):
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", sheet.read_text(encoding="utf-8")), sheet


def test_search_needs_no_server(reference: Path) -> None:
    assert "Search.setIndex(" in (reference / "searchindex.js").read_text(encoding="utf-8")[:100]


WHOLE = {"README.md": "# Start\n\n[other](docs/other.md#a-part)\n", "docs/other.md": "# Other\n\n## A part\n"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, None),
        ({"README.md": "# Start\n\n[other](docs/others.md)\n"}, "docs/others.md"),
        ({"README.md": "# Start\n\n[other](docs/other.md#no-part)\n"}, "no-part"),
        ({"docs/forgotten.md": "# Forgotten\n"}, "toc.not_included"),
        ({"README.md": "# Start\n\n![picture](docs/images/none.png)\n"}, "docs/images/none.png"),
    ],
    ids=["whole", "link", "anchor", "contents", "picture"],
)
def test_a_mistake_fails_the_build(tmp_path: Path, change: dict[str, str], message: str | None) -> None:
    source = tmp_path / "source"
    for name, text in (WHOLE | change).items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    (source / "contents.yml").write_text("root: README\nentries: [{file: docs/other}]\n")
    options = ("-D", "extensions=myst_nb,sphinx_external_toc", "-D", f"external_toc_path={source}/contents.yml")
    strict = ("--fail-on-warning", "--keep-going", "-b", "dummy", "-D", "html_theme=basic")
    done = build(source, tmp_path / "out", *strict, *options)
    if message is None:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1
        assert message in done.stderr


def test_a_link_to_kept_results_leads_to_their_page_with_all_that_it_needs(tmp_path: Path) -> None:
    source, out = tmp_path / "source", tmp_path / "out"
    page = "[results](../results/paper/x/index.html), [table](../results/paper/x/t.md)"
    kept = {"results/paper/x/index.html": "<img src=a.png>", "results/paper/x/a.png": "picture"}
    kept |= {"results/paper/x/t.md": "### Table"}
    framed = {
        f"results/paper/x/{one}": Site("X", ()).render("shell.html", one) for one in ("runs.html", "y/index.html")
    }
    for name, text in (WHOLE | kept | framed | {"docs/other.md": f"# Other\n\n## A part\n\n{page}\n"}).items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    for command in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *command], cwd=source, check=True)
    (source / "results/paper/x/mine.html").write_text("not kept")
    (source / "contents.yml").write_text("root: README\nentries: [{file: docs/other}]\n")
    extensions = "extensions=myst_nb,sphinx_external_toc,results_pages"
    done = build(source, out, "-D", extensions, "-D", f"external_toc_path={source}/contents.yml")
    assert done.returncode == 0, done.stderr
    other = soup((out / "docs/other.html").read_text(encoding="utf-8"), "html.parser")
    link, table = (one["href"] for one in other.select("article a[href]") if one.get_text() in ("results", "table"))
    assert table == f"{link}#t"  # a code host shows Markdown, the site its page
    assert {name: (out / name).read_text() for name in kept} == kept and not (out / "_downloads").exists()
    assert (out / "docs" / link).resolve() == out / "results/paper/x/index.html"
    assert not (out / "results/paper/x/mine.html").exists()
    for name, text in framed.items():  # pages of the copy alone link back
        links = [one["href"] for one in soup((out / name).read_text(encoding="utf-8"), "html.parser").select("a[href]")]
        (back,) = [link for link in links if link.endswith("README.html")]
        assert ((out / name).parent / back).resolve() == out / "README.html" and back not in text
    assert (out / "README.html").exists()


def test_every_file_of_the_catalogue_is_listed_with_its_licence(reference: Path) -> None:
    page = soup((reference / "docs/reference/licences.html").read_text(encoding="utf-8"), "html.parser")
    listed = {tuple(cell.get_text() for cell in row.select("td")[1:]) for row in page.select("table tbody tr")}
    catalogue = yaml.safe_load((ROOT / "config" / "datasets.yaml").read_text(encoding="utf-8"))
    files = [file for entry in catalogue["datasets"].values() for file in entry["files"].values()]
    assert len(files) > 20 and listed == {(file["path"], file["licence"]) for file in files}


CONFIGURATION = {
    "scale": [path for path in sorted((ROOT / "config").glob("*.yaml")) if path.stem != "datasets"],
    "datasets": [ROOT / "config" / "datasets.yaml"],
    "study": sorted((ROOT / "config" / "studies").glob("*.yaml")),
    "claims": sorted((ROOT / "config" / "claims").glob("*.yaml")),
    "cluster": [ROOT / "profiles" / "slurm" / "cluster.yaml"],
}


def test_schemas_of_the_site_accept_every_file_here_and_refuse_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SITE))
    schemas = importlib.import_module("written_pages").schema_of
    for kind, paths in CONFIGURATION.items():
        validator = jsonschema.Draft202012Validator(schemas(kind))
        for path in paths:
            content = json.loads(json.dumps(yaml.safe_load(path.read_text(encoding="utf-8"))))  # keys are text
            assert [error.message for error in validator.iter_errors(content)] == [], path
            assert not validator.is_valid(content | {"unknown": 1}), path
    assert not jsonschema.Draft202012Validator(schemas("scale")).is_valid({"scale": "s"})

"""Sphinx's settings. The source folder is the repository, so that links between its documents hold on the site too.

    uv run docs/site/build

Warnings are errors there, such as a link to nowhere or a document that ``contents.yml`` does not list.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

import fivesentences

project = "fivesentences"
html_title = "fivesentences"
author = project_copyright = "The fivesentences developers"
release = version = fivesentences.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx_external_toc",
    "docstrings",
    "reference_pages",
    "results_pages",
]
suppress_warnings = ["etoc.glob"]  # a document that no entry names is reported all the same
external_toc_path = "docs/site/contents.yml"
include_patterns = ["*.md", "docs/**", "config/README.md", "benchmarks/README.md", "envs/README.md"]
# What is not looked into at all, since it is large or no document.
exclude_patterns = [".*", "build", "data", "docs/site", "logs", "results", "src", "tests", "tmp", "workflow"]

# Anchors as code hosts make them.
myst_heading_anchors = 6

# The tutorial is run at every build, in one process of its own; an error in it is an error of the build.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # seconds per cell, against one that hangs: none takes more than some 15 on an idle core
nb_merge_streams = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"ArrayLike": "ArrayLike", "Similarity": "ArrayLike | fivesentences.retrieval.Gallery"}
autodoc_default_options = {
    "special-members": "__call__, __getitem__",
    "exclude-members": "extra_repr, kind, model_config, model_post_init",
}
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
napoleon_attr_annotations = False
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "pydata_sphinx_theme"
html_theme_options = {
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "primary_sidebar_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_nav_level": 1,
    "navigation_depth": 3,
    "show_prev_next": True,
}
html_sidebars = {"**": ["contents.html"]}
html_static_path = ["static", "../images/hero.png"]
templates_path = ["templates"]
html_additional_pages = {"index": "start.html"}
html_show_search_summary = False  # would fetch pages, which browsers refuse from file://
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
copybutton_selector = (
    "div.highlight-default pre, div.highlight-bash pre, div.highlight-python pre, div.highlight-yaml pre"
)


def setup(app: Sphinx) -> None:
    """Let blocks of CSV stand without colours: Pygments does not know them, code hosts do."""
    app.add_lexer("csv", TextLexer)

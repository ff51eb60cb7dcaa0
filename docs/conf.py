"""The documentation site. It is made of the pages of the repository, which can be read there as well.

`make site` builds it into build/site. Pages of other folders belong to it too, so the root of the repository is its
source; `toc.yml` says which pages it has.
"""

import shutil
from pathlib import Path

from docutils import nodes
from pygments.lexers.special import TextLexer
from sphinx.addnodes import download_reference
from sphinx.application import Sphinx

from proofs_tests.console_lexer import ConsoleLexer
from proofs_tests.playable import frame, playable, write_program_page
from wingspan import __version__ as release
from wingspan.views.lexer import WingspanLexer

project = "wingspan"
copyright = "the wingspan authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click", "sphinx_external_toc"]
external_toc_path = "docs/toc.yml"
external_toc_exclude_missing = True
exclude_patterns = [".*", "build", "dist", "**/__pycache__", "*.egg-info"]

myst_heading_anchors = 4
"""Titles have the anchors that they have on GitHub."""

default_role = "code"
"""Docstrings write `names` as Markdown does."""
autodoc_default_options = {"special-members": "__call__"}
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
python_use_unqualified_type_names = True

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
pygments_style = "default"
pygments_dark_style = "monokai"
html_title = f"wingspan {release}"
html_copy_source = False


def setup(app: Sphinx) -> None:
    """What Sphinx does not know of these pages."""
    app.add_lexer("mermaid", TextLexer)
    app.add_lexer("wingspan", WingspanLexer)
    for name in ("console", "shell-session"):  # the former are run by the tests
        app.add_lexer(name, ConsoleLexer)
    app.connect("doctree-read", plain_titles, priority=400)  # before titles are collected
    app.connect("doctree-resolved", program_pages)
    app.connect("build-finished", front_page)


def plain_titles(app: Sphinx, doctree: nodes.document) -> None:
    """Titles without links to files, which the collector of titles does not expect."""
    for title in doctree.findall(nodes.title):
        for link in list(title.findall(download_reference)):
            link.replace_self(link.children)


def program_pages(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Comments that name a program become its page, to step through."""
    if app.builder.name != "html":
        return
    for comment in list(doctree.findall(nodes.raw)):
        if shown := playable(comment.astext()):
            name = f"playable/{page.replace('/', '-')}-{Path(shown.name).stem}.html"
            write_program_page(app.env.doc2path(page), shown, Path(app.outdir, name))
            up = "../" * page.count("/")
            comment.replace_self(nodes.raw("", frame(shown, up + name), format="html"))


def front_page(app: Sphinx, error: Exception | None) -> None:
    """The README is the first page, under the name that servers look for."""
    if error is None and app.builder.name == "html":
        shutil.copyfile(Path(app.outdir, "README.html"), Path(app.outdir, "index.html"))

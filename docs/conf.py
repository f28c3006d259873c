"""Configuration of the site; the README has the command that builds it.

No page needs the network: the theme's fonts and scripts and MathJax are files of the site.
"""

from __future__ import annotations

import importlib
import os
import sys
import warnings
from pathlib import Path

import numpydoc.docscrape_sphinx
import sphinx_gallery.sorting
from jinja2 import FileSystemLoader
from jinja2.sandbox import SandboxedEnvironment

# before NumPy is imported: the gallery has two processes, whose threads would hinder each other
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE / "_extensions")]  # the package as it stands here

import qpsvm  # noqa: E402 - after its folder is on the path

MATHJAX = Path(str(importlib.import_module("sphinx-mathjax-offline").__file__)).parent

project = "qpsvm"
author = "The qpsvm developers"
project_copyright = author
release = version = qpsvm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "backend_table",
    "name_breaks",
    "parameters",
    "source_pages",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "_extensions", "README.md", "gallery/**/*.ipynb", "gallery/**/*.py"]
templates_path = ["_templates"]
nitpicky = True  # a reference that leads nowhere is a warning, and a warning is an error
nitpick_ignore_regex = [(r"py:.*", r"(sklearn|abc|enum|collections)\..*")]  # of other projects
default_role = "code"

# --- Markdown ------------------------------------------------------------------------------------
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4  # links to headings work as on other readers of Markdown

# --- API -----------------------------------------------------------------------------------------
autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the numpydoc sections have the types, and the shapes
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
maximum_signature_line_length = 72  # longer ones have a line for each parameter
# numpydoc compiles its one template anew for every docstring, a fifth of the build's time
TEMPLATES = SandboxedEnvironment(
    loader=FileSystemLoader(Path(numpydoc.docscrape_sphinx.__file__).parent / "templates")
)
numpydoc.docscrape_sphinx.SandboxedEnvironment = lambda **_: TEMPLATES
numpydoc_show_class_members = False  # the pages of classes list them, docs/_templates
numpydoc_xref_param_type = False

# --- mathematics without a network ---------------------------------------------------------------
mathjax_path = "tex-svg.js"  # one file, and no fonts

# --- gallery -------------------------------------------------------------------------------------
PLAIN_EXAMPLES = ("benchmark_solver", "more_than_memory")
"""Scripts of ``examples/`` that print only, and have no page of their own."""

GALLERY = (
    "two_clouds", "rbf_boundary", "textbook_program", "kkt_and_leave_one_out", "hard_to_soft",
    "blobs_sgd", "iris", "moons", "lifted", "quadratic_kernel", "mercer", "choosing_a_kernel",
    "quantile_band", "fair_and_monotone", "audit", "is_this_svc_optimal", "certificate",
    "choosing_a_solver", "sequences", "own_backend", "own_formulation",
)  # fmt: skip
"""Scripts of ``examples/`` that have a page, in the order of the overview."""

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",
    "ignore_pattern": rf"^({'|'.join(PLAIN_EXAMPLES)})\.py$",
    "within_subsection_order": sphinx_gallery.sorting.ExplicitOrder(
        [f"{name}.py" for name in GALLERY]
    ),
    "abort_on_example_error": True,
    "capture_repr": (),
    "download_all_examples": False,
    "min_reported_time": 1e9,
    "parallel": 2,
    "plot_gallery": "True",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "reset_modules": (),
    "log_level": {"backreference_missing": "debug"},
}

# --- pages ---------------------------------------------------------------------------------------
html_theme = "pydata_sphinx_theme"
html_title = "qpsvm"
html_static_path = ["_static", str(MATHJAX / "static" / "mathjax" / "tex-svg.js")]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark as the reader's system says
html_theme_options = {
    "logo": {"text": "qpsvm"},
    "header_links_before_dropdown": 8,
    "navbar_align": "left",
    "navigation_with_keys": False,
    # pages with wide tables have the whole width
    "secondary_sidebar_items": {
        "**": ["page-toc"],
        "backends": [],
        "glossary": [],
        "index": [],
        **{f"measured/{page.stem}": [] for page in (HERE / "measured").glob("*.md")},
    },
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "faq": [], "five_objects": [], "start": []}

# a documented command for a machine with a network: python -m sphinx -b linkcheck docs OUT
linkcheck_timeout = 20

warnings.filterwarnings("ignore", category=UserWarning, module="sphinx_gallery")

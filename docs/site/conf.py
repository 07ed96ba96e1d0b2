"""How Sphinx makes the pages of `make docs`; tools/docs.py prepares what it reads."""

import os

project = "Verbena"
copyright = "the Verbena authors, Apache-2.0"
author = ""
root_doc = "README"
extensions = ["myst_parser", "breathe"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["examples", "include", "src", "sim", "tests"]

# Links to sections are those of GitHub.
myst_heading_anchors = 4
# A link to a source file is a copy of it; the C++ of its name is no cross-reference.
suppress_warnings = ["myst.header"]

breathe_projects = {"verbena": os.environ["VERBENA_API_XML"]}
breathe_default_project = "verbena"
breathe_show_include = False
breathe_default_members = ("members", "undoc-members")
primary_domain = "cpp"
highlight_language = "none"
cpp_id_attributes = ["[[nodiscard]]"]

html_theme = "furo"
html_title = "Verbena"
html_static_path = [os.path.join(os.path.dirname(__file__), "static")]
html_css_files = ["pages.css"]
html_show_sphinx = False
html_copy_source = False
html_show_sourcelink = False

"""A verdict as one HTML file: facts in, the page's text out. It reads nothing and opens nothing.

facts.py: what a page says. page.py: the page, from the template. span.py: addresses on a line with gaps folded.
regions.py, heat.py, timing.py: the drawings, as inline SVG. text.py: foreign text made visible. Called by the report
workflow.
"""

from kerncap.report.facts import Argument, Bundle, Comparison, Facts, FileChange, Region, Reproduce
from kerncap.report.page import render

__all__ = ["Argument", "Bundle", "Comparison", "Facts", "FileChange", "Region", "Reproduce", "render"]

"""The page: facts, drawings and the template together.

In: Facts. Out: one HTML document that needs nothing else. Called by the report workflow.
"""

from __future__ import annotations

from typing import Any

import jinja2

from kerncap.names import base_name
from kerncap.report import heat, regions, text
from kerncap.report.facts import Facts
from kerncap.report.timing import HEIGHT, timing

_MOST_HEADING = 200
_WORDS = {
    "faithful": "the captured code did the same again, byte for byte",
    "equivalent": "another code object did the same, byte for byte",
    "within-tolerance": "float data differs by no more than was allowed",
    "nondeterministic": "iterations disagree among themselves",
    "differs": "something came out otherwise than expected",
}


def render(facts: Facts) -> str:
    """The document. Everything in it that is not the template's own is escaped."""
    return _environment().get_template("report.html.j2").render(**_values(facts))


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("kerncap.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=text.finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters = ("size", "duration", "dims", "address", "code_line")
    environment.filters.update({name: getattr(text, name) for name in filters})
    return environment


def _values(facts: Facts) -> dict[str, Any]:
    verdict, bundle = facts.verdict, facts.bundle
    found = verdict.mismatch_map
    names = {region.number: region.name for region in bundle.regions} if bundle else {}
    return {
        "facts": facts,
        "verdict": verdict,
        "heading": base_name(verdict.kernel)[:_MOST_HEADING],
        "word_means": _WORDS.get(verdict.verdict, ""),
        "bundle": bundle,
        "strip": regions.region_strip(bundle.regions) if bundle else None,
        "lanes": regions.lanes(bundle.regions, found) if bundle else (),
        "region_heat": [heat.region_heat(one, names.get(one.region, "")) for one in found.regions] if found else [],
        "output_heat": [heat.output_heat(one) for one in found.outputs] if found else [],
        "levels": heat.LEVELS,
        "timing": timing(verdict.timing_ns),
        "timing_height": HEIGHT,
    }

"""The bundle format: types, limits, layouts, sealing and verifying.

In: reproducer directories and bundles, both hostile until checked. Out: Bundle objects and sealed OCI image layouts.
Called by transport, workflows and cli. `bundle_spec/SPEC.md` is the normative text.
"""

from kerncap.bundle.reader import Bundle, open_bundle

__all__ = ["Bundle", "open_bundle"]

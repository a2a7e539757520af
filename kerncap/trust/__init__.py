"""Who vouches for a bundle, and for what: signatures, provenance, verdicts and the bill of materials.

In: manifest digests, keys of a person, referrers of strangers. Out: envelopes and documents to attach; what holds of
those that are there. Called by workflows. The only user of `cryptography` and `license_expression`; docs/trust.md says
what a signature means.
"""

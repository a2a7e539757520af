"""Moves a sealed bundle unchanged and checks it on arrival. The only user of oras.

In: a local bundle and a reference, or the reverse. Out: the same bundle at the other place.
Called by workflows and cli.
"""

from kerncap.transport.transfer import Transferred, copy_bundle, open_any, open_place, push, referrers_in, referrers_of

__all__ = ["Transferred", "copy_bundle", "open_any", "open_place", "push", "referrers_in", "referrers_of"]

"""Which runtime image a bundle is judged in, and what is said of the choice.

In: an opened bundle, RunOptions. Out: the name of an image. Called by the workflows run and print_launch.
"""

from __future__ import annotations

from collections.abc import Callable

from kerncap import native
from kerncap.bundle import Bundle
from kerncap.errors import HostError
from kerncap.runtime import image_choice, triton_images
from kerncap.runtime.catalog import DEFAULT_SUITE, image_name
from kerncap.workflows.run_options import RunOptions


def default_image() -> str:
    return image_name("runtime", DEFAULT_SUITE)


def image_for(bundle: Bundle | None, options: RunOptions, remark: Callable[[str], None]) -> str:
    """`--image`, else the one that matches what the capture recorded, else the default; `remark` gets which and why.

    One container compiles and judges: of a Triton kernel it is one with Triton then.
    """
    if options.image is not None:
        return options.image
    default = default_image()
    if bundle is None:
        remark(f"image {default}: the default one")
        return default
    try:
        release = bundle.capture.triton
        if release is not None and (options.recompile or options.configuration is not None):
            name = triton_images.image_for(release)
            remark(f"image {name}: the kernel is compiled by Triton {release}")
            return name
        return chosen_image(bundle, remark)
    except HostError as error:
        remark(f"image {default}: the default one, as {error.message}")
        return default


def chosen_image(bundle: Bundle, remark: Callable[[str], None]) -> str:
    """Raises: HostError `host.no-docker`, `host.docker`."""
    target = native.target_of_isa(bundle.capture.code_object.isa)
    choice = image_choice.choose(bundle.capture.runtime, target, image_choice.runtime_images())
    remark(f"image {choice.why}")
    return choice.image

"""Compares two bundles without a GPU: the call, versions, code, source, regions, and what memory holds.

In: two places, each a code object or a bundle of any kind. Out: a CodeDiff when a code object is among them, else a
BundleDiff. Called by `kerncap diff`. Of a bundle in a registry only what differs is fetched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncap.bundle import Bundle
from kerncap.bundle.dispatch import Argument
from kerncap.bundle.sequence import Step
from kerncap.errors import HostError, UsageError
from kerncap.transport import open_any
from kerncap.verdict.arguments import argument_name, argument_types, argument_value
from kerncap.workflows.code import is_code_object
from kerncap.workflows.code_diff import CodeDiff, diff_code
from kerncap.workflows.content_diff import Budget, ContentDiff, Pair, diff_contents, match_regions


@dataclass(frozen=True)
class DiffOptions:
    """`code_only`: of two bundles only the code. `look_bytes`: memory of each bundle that may be read at most."""

    kernel: str | None = None
    context: int = 3
    code_only: bool = False
    look_bytes: int = 256 << 20
    most_ranges: int = 16
    plain_http: bool = False


@dataclass(frozen=True)
class Change:
    """Something that both have, as text; None: only the other one has it."""

    what: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        if self.before is None or self.after is None:
            return f"{self.what}: only {'before' if self.after is None else 'after'}: {self.before or self.after}"
        return f"{self.what}: {self.before} to {self.after}"

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "before": self.before, "after": self.after}


@dataclass(frozen=True)
class BundleDiff:
    before: Bundle
    after: Bundle
    call: tuple[Change, ...]
    versions: tuple[Change, ...]
    same_code: bool
    code: CodeDiff | None
    """None: the code objects are the same bytes, or could not be compared."""
    code_remark: str | None
    """Why they could not."""
    same_source: bool | None
    """None: a side is not sealed."""
    regions: tuple[Change, ...]
    pairs: tuple[Pair, ...]
    contents: tuple[ContentDiff, ...]

    @property
    def changes(self) -> list[str]:
        """All of it as text, without the byte ranges."""
        found = [str(change) for change in (*self.call, *self.versions)]
        if not self.same_code:
            found += self.code.changes if self.code is not None else []
            found += [] if self.code is not None and self.code.changes else ["the code objects are other bytes"]
        found += ["the source is another one"] if self.same_source is False else []
        found += [str(change) for change in self.regions]
        return found + [
            f"region {one.pair.before} ({one.pair.what}), {one.state} the dispatch" for one in self.contents
        ]

    @property
    def same(self) -> bool:
        return not self.changes

    def to_json(self) -> dict[str, Any]:
        """Has all members of a `kerncap.code-diff/1`, and more."""
        code = self.code.to_json() if self.code is not None else {"before": None, "after": None}
        return {
            "assembly": [],
            "functions": {},
            **code,
            "schema": "kerncap.bundle-diff/1",
            "kernel": self.before.capture.kernel.name,
            "same": self.same,
            "changes": self.changes,
            "digests": [self.before.manifest_digest, self.after.manifest_digest],
            "call": [change.to_json() for change in self.call],
            "versions": [change.to_json() for change in self.versions],
            "same_code": self.same_code,
            "code_remark": self.code_remark,
            "same_source": self.same_source,
            "regions": [change.to_json() for change in self.regions],
            "matched_regions": [[pair.before, pair.after, pair.what] for pair in self.pairs],
            "contents": [one.to_json() for one in self.contents],
        }


def diff(before: str, after: str, options: DiffOptions) -> CodeDiff | BundleDiff:
    """Raises: UsageError, as `diff_code` does, too; BundleError; HostError; TransportError."""
    sides = [_open(one, options) for one in (before, after)]
    old, new = sides
    if options.code_only or options.kernel is not None or not (isinstance(old, Bundle) and isinstance(new, Bundle)):
        return diff_code(old, new, options.kernel, options.context)
    return diff_bundles(old, new, options)


def diff_bundles(old: Bundle, new: Bundle, options: DiffOptions) -> BundleDiff:
    """Raises: BundleError; TransportError."""
    pairs = tuple(match_regions(old, new))
    same_code = [step.code_object.digest for step in old.capture.steps] == [
        step.code_object.digest for step in new.capture.steps
    ]
    code, remark = (None, None) if same_code else _code(old, new, options)
    budget = Budget(options.look_bytes)
    return BundleDiff(
        before=old,
        after=new,
        call=tuple(_call(old, new, pairs)),
        versions=tuple(_versions(old, new)),
        same_code=same_code,
        code=code,
        code_remark=remark,
        same_source=_same_source(old, new),
        regions=tuple(_regions(old, new, pairs)),
        pairs=pairs,
        contents=tuple(diff_contents(old, new, pairs, budget, options.most_ranges)),
    )


def _open(one: str, options: DiffOptions) -> Path | Bundle:
    file = Path(one)
    if file.is_file() and is_code_object(file):
        return file
    return open_any(one, plain_http=options.plain_http)


def _code(old: Bundle, new: Bundle, options: DiffOptions) -> tuple[CodeDiff | None, str | None]:
    """Which kernel there is and what lists its instructions is this machine's matter: the rest is compared without."""
    try:
        return diff_code(old, new, None, options.context), None
    except HostError as error:
        if error.code != "host.no-native-files":
            raise
        return None, "the instructions are not listed: kerncap-isa is not here (kerncap doctor)"
    except UsageError as error:
        return None, f"the instructions are not compared: {error.message}"


def _call(old: Bundle, new: Bundle, pairs: tuple[Pair, ...]) -> Iterator[Change]:
    before, after = old.capture, new.capture
    if len(before.steps) != len(after.steps):
        yield Change("dispatches", str(len(before.steps)), str(len(after.steps)))
    for number, (one, other) in enumerate(zip(before.steps, after.steps, strict=False)):
        where = f"dispatch {number}: " if max(len(before.steps), len(after.steps)) > 1 else ""
        for what, left, right in _facts(one, other):
            if left != right:
                yield Change(where + what, left, right)
    if before.status != after.status:
        yield Change("outcome", before.status, after.status)
    yield from _arguments(old, new, pairs)


def _facts(one: Step, other: Step) -> Iterator[tuple[str, str, str]]:
    old, new = one.dispatch, other.dispatch
    yield "kernel", one.kernel.demangled or one.kernel.name, other.kernel.demangled or other.kernel.name
    yield "target", one.code_object.target, other.code_object.target
    yield "grid", _dim3(old.grid), _dim3(new.grid)
    yield "workgroup", _dim3(old.workgroup), _dim3(new.workgroup)
    yield "bytes of LDS", str(old.group_segment_bytes), str(new.group_segment_bytes)
    yield "bytes of scratch", str(old.private_segment_bytes), str(new.private_segment_bytes)
    yield "bytes of kernel arguments", str(one.kernarg.size), str(other.kernarg.size)


def _arguments(old: Bundle, new: Bundle, pairs: tuple[Pair, ...]) -> Iterator[Change]:
    """By their offsets; a pointer is the same when it points to the same place of the same region."""
    together = {pair.before: pair.after for pair in pairs}
    sides = [{a.offset: (i, a) for i, a in enumerate(bundle.capture.kernarg.args)} for bundle in (old, new)]
    types = [argument_types(bundle.capture) for bundle in (old, new)]
    for offset in sorted(sides[0].keys() | sides[1].keys()):
        texts: list[str | None] = []
        for bundle, side, typed in zip((old, new), sides, types, strict=True):
            number, argument = side.get(offset, (0, None))
            kind = typed.get(offset, "")
            texts.append(
                None
                if argument is None
                else f"{kind or argument.kind} {argument_value(bundle.capture, argument, kind)}".strip()
            )
        one, other = (side.get(offset, (0, None))[1] for side in sides)
        if texts[0] == texts[1] or (one and other and (_of_the_runtime(one) or _same_place(one, other, together))):
            continue
        number, named = next(side[offset] for side in sides if offset in side)
        yield Change(f"argument {argument_name(named, number)}", texts[0], texts[1])


def _of_the_runtime(argument: Argument) -> bool:
    """An address that the runtime has chosen: another one at each start."""
    return argument.hidden and argument.size == 8 and "offset" not in argument.kind


def _same_place(one: Argument, other: Argument, together: dict[int, int]) -> bool:
    return (
        one.region is not None
        and together.get(one.region) == other.region
        and (one.region_offset, one.kind, one.type) == (other.region_offset, other.kind, other.type)
    )


def _versions(old: Bundle, new: Bundle) -> Iterator[Change]:
    before, after = ({**bundle.capture.runtime, **_device(bundle)} for bundle in (old, new))
    for name in sorted(before.keys() | after.keys()):
        if before.get(name) != after.get(name):
            yield Change(name, before.get(name), after.get(name))


def _device(bundle: Bundle) -> dict[str, str]:
    device = bundle.capture.device
    said = {"device": f"{device.product or device.agent} ({device.device_class or 'unknown class'})"}
    return said | ({} if bundle.config is None else {"format": bundle.config.spec_version})


def _same_source(old: Bundle, new: Bundle) -> bool | None:
    if old.manifest is None or new.manifest is None:
        return None
    one, other = (None if side.code is None else side.code.digest for side in (old.manifest, new.manifest))
    return one == other


def _regions(old: Bundle, new: Bundle, pairs: tuple[Pair, ...]) -> Iterator[Change]:
    for pair in pairs:
        one, other = old.index.regions[pair.before], new.index.regions[pair.after]
        for what, left, right in (
            ("bytes", one.size, other.size),
            ("kind", f"{one.kind}, {one.segment}", f"{other.kind}, {other.segment}"),
            ("flags", ", ".join(one.flags), ", ".join(other.flags)),
        ):
            if left != right:
                yield Change(f"region {pair.before} ({pair.what}): {what}", str(left), str(right))
    matched = {pair.before for pair in pairs}, {pair.after for pair in pairs}
    for number, region in enumerate(old.index.regions):
        if number not in matched[0]:
            yield Change(f"region {number}", f"{region.size} bytes at {region.va:#x}", None)
    for number, region in enumerate(new.index.regions):
        if number not in matched[1]:
            yield Change(f"region {number}", None, f"{region.size} bytes at {region.va:#x}")


def _dim3(values: tuple[int, int, int]) -> str:
    return " x ".join(map(str, values))

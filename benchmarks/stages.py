"""One build of a project with a clock at each stage's door: the real verb, and the processor time that each stage took.

The doors are functions of the builder. A stage inside another is taken out of the outer one's time, so that the stages
add up; a clock costs a microsecond, and none stands inside a loop over values.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, Final

_START: Final = time.process_time()

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

_REST: Final = "the rest"


class Clock:
    """Processor seconds by stage; the stage that began last is the one that runs."""

    def __init__(self) -> None:
        self.spent: dict[str, float] = {}
        self._open = [_REST]
        self._since = _START

    def _turn(self) -> None:
        now = time.process_time()
        self.spent[self._open[-1]] = self.spent.get(self._open[-1], 0.0) + now - self._since
        self._since = now

    def begin(self, stage: str) -> None:
        """Count for this stage from now on."""
        self._turn()
        self._open.append(stage)

    def end(self) -> None:
        """Count for the stage around it again."""
        self._turn()
        self._open.pop()

    def timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with this clock at its door."""

        @wraps(work)
        def run(*given: Any, **named: Any) -> Any:
            self.begin(stage)
            try:
                return work(*given, **named)
            finally:
                self.end()

        return run

    def each(self, stage: str, work: Callable[..., Iterable[Any]]) -> Callable[..., Iterator[Any]]:
        """Return the generator with this clock at each of its steps."""

        @wraps(work)
        def run(*given: Any, **named: Any) -> Iterator[Any]:
            steps = iter(work(*given, **named))
            while True:
                self.begin(stage)
                try:
                    item = next(steps)
                except StopIteration:
                    return
                finally:
                    self.end()
                yield item

        return run


def _with_clock(clock: Clock) -> None:
    clock.begin("start")
    from site_builder import checking, project, site, units, verification
    from site_builder.project import output
    from site_builder.site.links import Links

    clock.end()
    doors: tuple[tuple[Any, str, str], ...] = (
        (project, "read_inputs", "read"),
        (verification, "snapshot_gate", "hold sources"),
        (units.Keys, "__init__", "stand"),
        (units.Keys, "carried", "stand"),
        (verification, "receipt_gate", "hold receipts"),
        (checking, "sound", "open receipts"),
        (verification, "computed", "run audits"),
        (verification, "read_guide", "parse"),
        (verification, "read_page", "parse"),
        (verification, "claim_gate", "bind"),
        (output, "write_site", "write"),
        (Links, "page", "link"),
    )
    for home, name, stage in doors:
        setattr(home, name, clock.timed(stage, getattr(home, name)))
    site.render = clock.each("render", site.render)


def main() -> None:
    """Build the project at the first path and write the stages' seconds to the second; the rest goes to `build`."""
    root, out, *options = sys.argv[1:]
    clock = Clock()
    _with_clock(clock)
    import build

    sys.argv = ["build.py", "build", "--root", root, *options]
    try:
        build.main()
    except SystemExit as ended:
        clock.begin(_REST)
        Path(out).write_text(json.dumps(clock.spent))
        sys.exit(ended.code)


if __name__ == "__main__":
    main()

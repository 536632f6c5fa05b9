"""Time a corpus: this builder's cold, no-op and one-edit builds, and Hugo's of the same text, in one run.

    python benchmarks/run.py -n 100

Each build is a process of its own. Wall is the clock's, CPU the process's and its children's, peak the most memory that it
held at once; of several rounds the median counts. A stage's share is of the processor time of one more build, whose
stages have clocks.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent / "build.py"
_HUGO_MADE = ("public", "resources")
_STAGES = (
    *("start", "read", "hold sources", "open receipts", "run audits", "hold receipts", "stand", "parse", "bind"),
    *("render", "link", "write", "the rest"),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """What one build took."""

    wall: float
    cpu: float
    peak: float
    """MB."""


def _run(command: Sequence[str], folder: Path) -> Cost:
    """Run a command to its end and return what it took.

    Raises:
        SystemExit: it failed, and its own message says why.
    """
    # CI would keep `build` from carrying verdicts over, and that is what a no-op build is about.
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(command, cwd=folder, env=environment, stdout=said, stderr=said)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begun
        if child.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)}: exit {child.returncode}\n{said.read().decode(errors='replace')}")
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Cost(wall=wall, cpu=used.ru_utime + used.ru_stime, peak=used.ru_maxrss / unit)


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        wall=median(cost.wall for cost in costs),
        cpu=median(cost.cpu for cost in costs),
        peak=median(cost.peak for cost in costs),
    )


def _edit(folder: Path, round_: int) -> None:
    """Add a sentence to the first guide: an edit that changes no figure."""
    guide = min((folder / "content" / "guides").iterdir())
    word = "again " * round_
    guide.write_text(
        f"{guide.read_text(encoding='utf-8')}\nThis sentence was added {word}by the benchmark.\n", encoding="utf-8"
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Builder:
    """A builder, its folder of the corpus, and how it is asked for a build."""

    name: str
    folder: Path
    command: tuple[str, ...]
    made: tuple[str, ...]
    """What a cold build does not find."""

    def times(self, rounds: int) -> dict[str, Cost]:
        """Return the median cost of each kind of build."""
        found: dict[str, list[Cost]] = {"cold": [], "no-op": [], "one edit": []}
        for round_ in range(rounds):
            for name in self.made:
                shutil.rmtree(self.folder / name, ignore_errors=True)
            found["cold"].append(_run(self.command, self.folder))
            found["no-op"].append(_run(self.command, self.folder))
            _edit(self.folder, round_)
            found["one edit"].append(_run(self.command, self.folder))
        return {kind: _median(costs) for kind, costs in found.items()}

    def pages(self) -> tuple[int, float]:
        """Return how many pages the last build left, and their size in MB."""
        built = [path.stat().st_size for path in (self.folder / self.made[0]).rglob("*.html")]
        return len(built), sum(built) / 1e6


def _stages(folder: Path, kind: str, root: Path) -> tuple[dict[str, float], Cost]:
    if kind == "cold":
        for name in ("dist", ".build"):
            shutil.rmtree(folder / name, ignore_errors=True)
    out = root / "stages.json"
    cost = _run((sys.executable, str(HERE / "stages.py"), str(folder), str(out)), folder)
    spent: dict[str, float] = json.loads(out.read_text())
    return spent, cost


def _say(kind: str, name: str, cost: Cost, n: int) -> None:
    print(
        f"{kind:9} {name:5} {cost.wall:8.2f} s wall {cost.cpu:8.2f} s CPU {cost.peak:7.0f} MB peak"
        f" {1000 * cost.cpu / n:7.1f} ms CPU a guide"
    )


def measure(n: int, rounds: int, seed: int, *, keep_bytes: bool, root: Path) -> None:
    """Print what the builds of n guides took, and each ratio to Hugo where it is installed."""
    corpus = [sys.executable, str(HERE / "corpus.py"), str(root), "-n", str(n), "--seed", str(seed)]
    # In a process of its own: what this one held would count as its children's peak.
    made = _run([*corpus, "--bytes"] if keep_bytes else corpus, HERE.parent)
    stored = "with" if keep_bytes else "without"
    print(f"corpus    {n} guides, seed {seed}, {stored} the sources' bytes; made in {made.wall:.0f} s")
    ours = Builder(
        name="ours",
        folder=root / "ours",
        command=(sys.executable, str(BUILD), "build", "--root", "."),
        made=("dist", ".build"),
    )
    guides = [path.stat().st_size for path in (ours.folder / "content" / "guides").iterdir()]
    held = [path.stat().st_size for path in ours.folder.glob("evidence/*/receipts/1.json")]
    print(f"          {sum(guides) / n / 1000:.0f} KB a guide, {sum(held) / n / 1000:.0f} KB a receipt")
    if rounds:
        _compare(
            ours, Builder(name="Hugo", folder=root / "hugo", command=("hugo", "--quiet"), made=_HUGO_MADE), rounds, n
        )
    for kind in ("cold", "no-op") if rounds else ("cold",):
        spent, cost = _stages(ours.folder, kind, root)
        total = sum(spent.values())
        print(f"{kind:9} all stages             {1000 * total / n:7.1f} ms CPU a guide {cost.peak:7.0f} MB peak")
        for stage in _STAGES:
            seconds = spent.get(stage, 0.0)
            print(f"{kind:9} {stage:14} {100 * seconds / total:5.1f} % {1000 * seconds / n:7.1f} ms CPU a guide")


def _compare(ours: Builder, hugo: Builder, rounds: int, n: int) -> None:
    builders = [ours] if shutil.which("hugo") is None else [ours, hugo]
    if len(builders) == 1:
        print("Hugo      not installed: nothing to compare with (Debian's package is hugo)")
    else:
        said = subprocess.run(["hugo", "version"], capture_output=True, text=True, check=True).stdout
        print(f"Hugo      {said.split()[1]}")
    costs = {builder.name: builder.times(rounds) for builder in builders}
    for builder in builders:
        count, size = builder.pages()
        print(f"pages     {builder.name:5} {count} of {size:.1f} MB")
    for kind in ("cold", "no-op", "one edit"):
        for builder in builders:
            _say(kind, builder.name, costs[builder.name][kind], n)
        if "Hugo" in costs:
            mine, theirs = costs["ours"][kind], costs["Hugo"][kind]
            print(
                f"{kind:9} ratio {mine.wall / theirs.wall:8.1f} × wall {mine.cpu / theirs.cpu:8.1f} × CPU"
                f" {mine.peak / theirs.peak:6.2f} × peak"
            )


def main() -> None:
    """Make a corpus in a folder for the time being, and time it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, nargs="+", default=[100], help="how many guides (default: 100)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="rounds of each build (default: 3); with 0 only the stages of one"
    )
    parser.add_argument("--seed", type=int, default=20260826)
    parser.add_argument("--bytes", action="store_true", help="with the sources' bytes in the store")
    asked = parser.parse_args()
    for n in asked.n:
        with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
            measure(n, asked.rounds, asked.seed, keep_bytes=asked.bytes, root=Path(folder))


if __name__ == "__main__":
    main()

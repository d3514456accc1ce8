"""Readers for the output of valgrind, for `instructions`: profiles of callgrind, and allocations of DHAT."""

import collections
import json
import re
import subprocess

ALLOCATORS = {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "valloc", "reallocarray"}
# Functions of the runtime between an allocation and the code that causes it.
RUNTIME = re.compile(
    r"malloc|calloc|realloc|posix_memalign|aligned_alloc|_?swift_(slowAlloc|allocObject)|swift::"
    r"|specialized (_Contiguous|Contiguous)?Array(Buffer)?[.<]|specialized _ContiguousArrayBuffer|specialized _copy"
    r"|(append|init|reserveCapacity|AbsOriFnNameNotFound)$"
)


def demangled(names):
    names = list(names)
    command = ["swift", "demangle", "--simplified", "--compact"]
    done = subprocess.run(command, input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, done.stdout.splitlines(), strict=True))


class Profile:
    """The costs by function in a dump of callgrind (its manual, "Callgrind Format Specification")."""

    def __init__(self, path):
        self.own, self.inclusive = collections.Counter(), collections.Counter()
        self.instructions = self.allocations = 0
        self.names = {}
        function = called = calls = None
        with open(path) as file:
            for line in file:
                key, _, rest = line.rstrip("\n").partition("=")
                if key == "fn":
                    function = self._name(rest)
                elif key == "cfn":
                    called = self._name(rest)
                elif key == "calls":
                    calls = int(rest.split()[0])
                elif line.startswith("summary:"):
                    self.instructions = int(line.split()[1])
                elif line[0] in "0123456789+-*" and function:
                    self._cost(function, called, calls, int(line.split()[1]))
                    calls = None
        for name, cost in self.own.items():
            self.inclusive[name] += cost

    def _name(self, text):
        # A name is written out once, as `(7) malloc`, and then abbreviated as `(7)`.
        number, _, name = text.partition(" ")
        return self.names.setdefault(number, name)

    def _cost(self, function, called, calls, cost):
        if calls is None:
            self.own[function] += cost
            return
        # The cost of a recursion is in its first call. A call of malloc by realloc is not another allocation.
        if called != function:
            self.inclusive[function] += cost
        if called in ALLOCATORS and function not in ALLOCATORS:
            self.allocations += calls

    def lines(self, times, count=60):
        names = demangled(self.own)
        found = [f"{'with callees':>12} {'own':>8}  instructions each time"]
        for name, cost in self.inclusive.most_common(count):
            if cost / times >= 1:
                found.append(f"{cost / times:12,.0f} {self.own[name] / times:8,.0f}  {names.get(name, name)[:140]}")
        found += ["", f"{'own':>12}"]
        own = self.own.most_common(count // 2)
        return found + [f"{cost / times:12,.0f}  {names[name][:140]}" for name, cost in own]


def allocation_lines(path, times, least=0.01):
    """Returns the places that allocate, from a file of DHAT: the number per repetition, the size and the callers."""
    with open(path) as file:
        data = json.load(file)
    frames = [re.search(r": (.*?) \((?:in )?([^()]*)\)$", frame) for frame in data["ftbl"]]
    names = demangled(frame[1] if frame else "" for frame in frames)
    frames = [(names[frame[1]], frame[2]) if frame else ("?", "") for frame in frames]
    counts, sizes = collections.Counter(), collections.Counter()
    for point in data["pps"]:
        chain = [frames[index] for index in point["fs"]]
        main = next((index for index, (name, _) in enumerate(chain) if name == "pure_benchmarks_main"), 0)
        del chain[main:]
        # Leave out the preparation. The operation itself is the closure that the preparing closure has returned.
        last = chain[-1][0] if chain else ""
        if "closure #" not in last or re.match(r"(partial apply for )?closure #\d+ in variable initialization", last):
            continue
        while chain and RUNTIME.match(chain[0][0]):
            del chain[0]
        # Inlined functions have lost their names, but not their files and lines.
        ours = [f"{name[:90]} ({place})" for name, place in chain if re.search(r"\.swift:[1-9]", place)]
        where = " < ".join(ours[:4] or [name[:90] for name, _ in chain[:4]])
        counts[where] += point["tbk"]
        sizes[where] += point["tb"]
    return [f"{count / times:6.2f} {sizes[where] / count:8,.0f} B  {where}" for where, count in counts.most_common(40)
            if count / times >= least]

# SPDX-License-Identifier: Apache-2.0
"""Write sqli_matcher.sv; with --check, tell whether the committed file matches patterns.txt."""

from __future__ import annotations

import sys

from .automaton import build, merge
from .emit import matcher
from .expression import parse
from .patterns import PATTERNS_FILE, read_patterns

OUTPUT = PATTERNS_FILE.parent / "sqli_matcher.sv"


def generate() -> str:
    patterns = read_patterns()
    states = merge(build([parse(pattern.expression) for pattern in patterns]))
    return matcher(states, len(patterns))


def main() -> int:
    text = generate()
    if sys.argv[1:] == ["--check"]:
        if OUTPUT.read_text(encoding="ascii") != text:
            print(f"{OUTPUT.name} does not match patterns.txt; run python3 -m generator", file=sys.stderr)
            return 1
        return 0
    OUTPUT.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main())

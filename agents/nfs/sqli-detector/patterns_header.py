# SPDX-License-Identifier: Apache-2.0
"""Writes the patterns that boards search for as a C++ header: patterns_header.py PATTERNS HEADER."""

import json
import sys

COUNT = 32


def read_patterns(path: str) -> list[tuple[str, str]]:
    """Name and expression of each line that is neither blank nor a comment."""
    patterns = []
    with open(path, encoding="ascii") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip() or line.startswith("#"):
                continue
            words = line.split(maxsplit=1)
            if len(words) != 2:
                sys.exit(f"{path}:{number}: must be a name and an expression")
            patterns.append((words[0], words[1].rstrip("\n")))
    if len(patterns) != COUNT:
        sys.exit(f"{path}: must hold {COUNT} patterns, not {len(patterns)}")
    return patterns


def main() -> None:
    source, header = sys.argv[1:]
    rows = "".join(f"    {{{json.dumps(name)}, {json.dumps(text)}}},\n" for name, text in read_patterns(source))
    with open(header, "w", encoding="ascii") as file:
        file.write(
            "// SPDX-License-Identifier: Apache-2.0\n"
            "#pragma once\n\n"
            "namespace orrery {\n\n"
            "struct SqliPattern {\n  const char* name;\n  const char* expression;\n};\n\n"
            f"inline constexpr SqliPattern kSqliPatterns[] = {{\n{rows}}};\n\n"
            "}  // namespace orrery\n"
        )


if __name__ == "__main__":
    main()

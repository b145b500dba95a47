# SPDX-License-Identifier: Apache-2.0
"""Builds that run while the twin does (`scripts/setup/building.mjs`)."""

import time
from pathlib import Path

ABANDONED_S = 60.0


def progress_of(building: Path) -> str | None:
    """Return the progress that a running build keeps writing to the file; None if none is running."""
    try:
        age_s = time.time() - building.stat().st_mtime
        return building.read_text() if age_s < ABANDONED_S else None
    except OSError:
        return None

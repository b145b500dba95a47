# SPDX-License-Identifier: Apache-2.0
"""Write how it was started into its state directory, and wait."""

import os
import signal
import sys
from pathlib import Path

state = Path(sys.argv[sys.argv.index("--state-dir") + 1])
interfaces = [line.split(":")[0].strip() for line in Path("/proc/net/dev").read_text().splitlines()[2:]]
partial = state / "started.new"
partial.write_text(
    " ".join(sys.argv[1:])
    + f"\ninterfaces: {' '.join(sorted(interfaces))}\n"
    + f"join token: {os.environ.get('ORRERY_JOIN_TOKEN')}\n"
)
partial.replace(state / "started")
signal.pause()

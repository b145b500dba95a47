# SPDX-License-Identifier: Apache-2.0
"""Docker's two daemons as the twin runs them: their programs, settings and directories."""

import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

COMMAND_VARIABLE = "ORRERY_DOCKERD_COMMAND"
RUN = Path("/run")
"""In the twin's own file system: it ends with the twin, so no PID or socket of an earlier twin is ever found."""
CONTAINERD_RUN = RUN / "containerd"
CONTAINERD_SOCKET = CONTAINERD_RUN / "containerd.sock"
CONTAINERD_CONFIG = RUN / "containerd.toml"
UMASK = 0o022
"""For both daemons: container users must be able to traverse the directories that they create."""
RUNTIMES = ("containerd", "runc")
# Plugins that the twin does not use; they would look for Kubernetes or missing file systems, or restart things.
PLUGINS_OFF = (
    "io.containerd.grpc.v1.cri",
    "io.containerd.internal.v1.restart",
    "io.containerd.snapshotter.v1.btrfs",
    "io.containerd.snapshotter.v1.devmapper",
    "io.containerd.snapshotter.v1.zfs",
)
LOG_MAX_SIZE = "1m"


@dataclass(frozen=True)
class DockerDaemons:
    """`program`: dockerd, possibly with arguments; `state`: images and layers; `cgroup`: name of the twin's group."""

    program: tuple[str, ...]
    state: Path
    cgroup: str

    @classmethod
    def of_machine(cls, state: Path, cgroup: str) -> "DockerDaemons":
        return cls(tuple(shlex.split(os.environ.get(COMMAND_VARIABLE, ""))) or ("dockerd",), state, cgroup)

    def missing(self) -> str | None:
        """Return why there are no containers; None if there can be."""
        missing = [program for program in (self.program[0], *RUNTIMES) if shutil.which(program) is None]
        return f"not installed: {', '.join(missing)} (Debian package docker.io)" if missing else None

    def containerd(self) -> list[str]:
        """Write the settings of containerd. If dockerd started it, it would leave directories in the machine's /opt."""
        CONTAINERD_CONFIG.write_text(self.containerd_config())
        return ["containerd", "--config", str(CONTAINERD_CONFIG), "--log-level", "warn"]

    def containerd_config(self) -> str:
        # A JSON string is also a TOML string.
        return f"""version = 2
root = {json.dumps(str(self.state / "containerd"))}
state = {json.dumps(str(CONTAINERD_RUN))}
disabled_plugins = {json.dumps(PLUGINS_OFF)}

[grpc]
address = {json.dumps(str(CONTAINERD_SOCKET))}

[plugins."io.containerd.internal.v1.opt"]
path = {json.dumps(str(CONTAINERD_RUN / "opt"))}
"""

    def dockerd(self, socket: Path) -> list[str]:
        """No networks: interfaces come from the agents. Containers keep running when it restarts."""
        return [
            *self.program,
            *("--host", f"unix://{socket}", "--group", "root"),
            *("--containerd", str(CONTAINERD_SOCKET)),
            *("--data-root", str(self.state / "docker")),
            *("--exec-root", str(RUN / "docker"), "--pidfile", str(RUN / "docker.pid")),
            *("--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false"),
            # With cgroup version 2, Docker would use systemd, which is not in the twin.
            *("--exec-opt", "native.cgroupdriver=cgroupfs", "--cgroup-parent", f"/{self.cgroup}"),
            *("--log-driver", "json-file", "--log-opt", f"max-size={LOG_MAX_SIZE}", "--log-opt", "max-file=2"),
            *("--live-restore", "--log-level", "warn"),
        ]

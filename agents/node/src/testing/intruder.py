# SPDX-License-Identifier: Apache-2.0
"""Try what a compromised NF could do: write anywhere in its container.

usage: intruder.py PID  (of the NF). Prints its privileges, what it sees of its container and where it could write.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

NOT_FILES = ("/proc", "/sys")


def paths():
    for directory, folders, files in os.walk("/"):
        if directory == "/":
            folders[:] = [name for name in folders if f"/{name}" not in NOT_FILES]
        yield Path(directory), [Path(directory, name) for name in files]


def can_write_into(directory):
    target = directory / "planted"
    try:
        target.symlink_to("/somewhere")
    except OSError:
        return False
    target.unlink()
    return True


def main():
    lines = Path(f"/proc/{sys.argv[1]}/status").read_text("ascii").splitlines()
    status = {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}
    space = os.open(f"/proc/{sys.argv[1]}/ns/mnt", os.O_RDONLY)
    if ctypes.CDLL(None, use_errno=True).setns(space, 0) != 0:
        raise OSError(ctypes.get_errno(), "setns")
    seen = list(paths())
    uid, gid = (int(status[name].split()[0]) for name in ("Uid", "Gid"))
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    writable = [str(directory) for directory, _ in seen if can_write_into(directory)]
    files = [str(path) for _, inside in seen for path in inside if path.parts[1] != "dev"]
    writable += [path for path in files if os.access(path, os.W_OK)]
    rights = {name: status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb", "NoNewPrivs")}
    print(json.dumps({"uid": uid, "gid": gid, **rights, "files": files, "writable": writable}))


main()

# SPDX-License-Identifier: Apache-2.0
"""Compiles the protocol files of P4Runtime into C++: sources flat in a folder, headers below it under their paths."""

import subprocess
import sys
from pathlib import Path

FILES = [
    "google/rpc/status",
    "p4/config/v1/p4types",
    "p4/config/v1/p4info",
    "p4/v1/p4data",
    "p4/v1/p4runtime",
]
SERVICE = "p4/v1/p4runtime"


def main(protoc: str, plugin: str, protos: str, out: Path) -> None:
    headers = out / "messages"
    headers.mkdir(parents=True, exist_ok=True)
    sources = [f"{name}.proto" for name in FILES]
    subprocess.run([protoc, f"-I{protos}", f"--cpp_out={headers}", *sources], check=True)
    grpc = [f"--plugin=protoc-gen-grpc={plugin}", f"--grpc_out={headers}"]
    subprocess.run([protoc, f"-I{protos}", *grpc, f"{SERVICE}.proto"], check=True)
    for source in [*(f"{name}.pb.cc" for name in FILES), f"{SERVICE}.grpc.pb.cc"]:
        (headers / source).replace(out / Path(source).name)
    (out / "p4runtime_headers.h").write_text(
        f'#pragma once\n#include "{SERVICE}.grpc.pb.h"\n#include "google/rpc/status.pb.h"\n'
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]))

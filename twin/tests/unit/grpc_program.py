# SPDX-License-Identifier: Apache-2.0
"""A program with the options of simple_switch_grpc that serves nothing by gRPC, at the address that it is given."""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc

server = grpc.server(ThreadPoolExecutor(1))
server.add_insecure_port(sys.argv[sys.argv.index("--grpc-server-addr") + 1])
server.start()
server.wait_for_termination()

# SPDX-License-Identifier: Apache-2.0
"""Payload of probes and their replies, in network byte order."""

import struct

PROBE = struct.Struct("!QQQ")
"""Session, sequence number, send time in ns since the Unix epoch."""

REPLY = struct.Struct("!QQQQQ")
"""A probe, its arrival time, and how many probes of the session have arrived (so lost replies do not distort the loss).
"""

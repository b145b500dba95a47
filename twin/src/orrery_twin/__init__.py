# SPDX-License-Identifier: Apache-2.0
"""The digital twin: an emulated network on which the product's own agents and data plane run.

`domain` decides (pure), `adapters` touch the machine, `service` reconciles, `api` serves HTTP on a unix socket.
"""

__version__ = "0.1.0"

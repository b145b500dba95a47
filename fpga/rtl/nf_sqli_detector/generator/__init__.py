# SPDX-License-Identifier: Apache-2.0
"""Generate the matcher of the sqli-detector from patterns.txt."""

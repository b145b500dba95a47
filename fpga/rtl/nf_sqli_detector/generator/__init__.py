# SPDX-License-Identifier: Apache-2.0
"""Makes the matcher of the sqli-detector from patterns.txt."""

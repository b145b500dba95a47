# SPDX-License-Identifier: Apache-2.0
"""The automaton as SystemVerilog: all states in one vector, so that simulators and synthesizers work on whole words."""

from __future__ import annotations

from collections import defaultdict
from string import Template

from .automaton import State

# From this many transitions on, a distance between predecessor and state is implemented as a shift of the whole vector.
SHIFT_WORTH = 15

MODULE = Template(
    """\
// SPDX-License-Identifier: Apache-2.0
// Made by `python3 -m generator` from patterns.txt; do not edit.
//
// Searches a text, a byte a cycle, for $pattern_count patterns; the automaton has $state_count states. The five stages
// are: symbol of the byte, states that the symbol allows (read from memory, then held), active states, states seen.
`default_nettype none

module sqli_matcher (
    input wire clk,

    // Forgets the text before; not together with a byte.
    input wire start,

    input wire       byte_valid,
    input wire [7:0] byte_data,

    // Patterns that occur in the bytes since `start`; five cycles after the last byte it is complete.
    output logic [$pattern_high:0] hits
);
  localparam int STATES = $state_count;
  localparam logic [STATES-1:0] STARTS = $starts;
  localparam logic [STATES-1:0] ENDS = $ends;

  // Bytes that no expression tells apart have one symbol.
  function automatic logic [$symbol_high:0] symbol_of(input logic [7:0] value);
    case (value)
$symbols
    endcase
  endfunction

  function automatic logic [STATES-1:0] states_of(input logic [$symbol_high:0] value);
    case (value)
$rows
      default: states_of = '0;
    endcase
  endfunction

  // States that follow the active ones, whatever the byte.
  function automatic logic [STATES-1:0] following(input logic [STATES-1:0] active);
    following = STARTS;
$follows
  endfunction

  logic symbol_valid, read_valid, allowed_valid, active_valid;
  logic [$symbol_high:0] symbol;
  logic [STATES-1:0] allowed_read, allowed, active, seen;

  always_ff @(posedge clk) begin
    symbol_valid <= byte_valid;
    read_valid <= symbol_valid;
    allowed_valid <= read_valid;
    active_valid <= allowed_valid;
    if (byte_valid) symbol <= symbol_of(byte_data);
    if (symbol_valid) allowed_read <= states_of(symbol);
    if (read_valid) allowed <= allowed_read;
    if (start) begin
      symbol_valid <= 1'b0;
      read_valid <= 1'b0;
      allowed_valid <= 1'b0;
      active_valid <= 1'b0;
      active <= '0;
      seen <= '0;
    end else begin
      if (allowed_valid) active <= following(active) & allowed;
      if (active_valid) seen <= seen | (active & ENDS);
    end
  end

$hits
endmodule

`default_nettype wire
"""
)


def _vector(width: int, bits: set[int]) -> str:
    return f"{width}'h{sum(1 << bit for bit in bits):0{(width + 3) // 4}x}"


def _symbols(states: list[State]) -> tuple[list[int], list[int]]:
    """Return the symbol of each byte, and a byte of each symbol."""
    numbers: dict[tuple[bool, ...], int] = {}
    examples: list[int] = []
    symbol_of = []
    for byte in range(256):
        number = numbers.setdefault(tuple(byte in state.members for state in states), len(numbers))
        if number == len(examples):
            examples.append(byte)
        symbol_of.append(number)
    return symbol_of, examples


def _symbol_cases(symbol_of: list[int], width: int) -> list[str]:
    """The most frequent symbol is the default."""
    default = max(set(symbol_of), key=symbol_of.count)
    lines = []
    for symbol in sorted(set(symbol_of) - {default}):
        labels = ", ".join(f"8'h{byte:02x}" for byte in range(256) if symbol_of[byte] == symbol)
        lines.append(f"      {labels}: symbol_of = {width}'d{symbol};")
    return [*lines, f"      default: symbol_of = {width}'d{default};"]


def _follow_lines(states: list[State]) -> list[str]:
    by_distance: dict[int, set[int]] = defaultdict(set)
    for target, state in enumerate(states):
        for source in state.predecessors:
            by_distance[target - source].add(target)
    lines = []
    single: dict[int, list[int]] = defaultdict(list)
    for distance, targets in sorted(by_distance.items()):
        if len(targets) < SHIFT_WORTH:
            for target in targets:
                single[target].append(target - distance)
            continue
        moved = f"(active {'<<' if distance > 0 else '>>'} {abs(distance)})" if distance else "active"
        lines.append(f"    following = following | ({moved} & {_vector(len(states), targets)});")
    for target, sources in sorted(single.items()):
        terms = " | ".join(f"active[{source}]" for source in sorted(sources))
        lines.append(f"    following[{target}] = following[{target}] | {terms};")
    return lines


def matcher(states: list[State], pattern_count: int) -> str:
    symbol_of, examples = _symbols(states)
    symbol_width = max(1, (len(examples) - 1).bit_length())
    rows = []
    for symbol, byte in enumerate(examples):
        allowed = {position for position, state in enumerate(states) if byte in state.members}
        rows.append(f"      {symbol_width}'d{symbol}: states_of = {_vector(len(states), allowed)};")
    hits = []
    for pattern in range(pattern_count):
        ends = " | ".join(f"seen[{position}]" for position, state in enumerate(states) if pattern in state.accepts)
        hits.append(f"  assign hits[{pattern}] = {ends};")
    return MODULE.substitute(
        pattern_count=pattern_count,
        pattern_high=pattern_count - 1,
        state_count=len(states),
        symbol_high=symbol_width - 1,
        starts=_vector(len(states), {position for position, state in enumerate(states) if state.is_start}),
        ends=_vector(len(states), {position for position, state in enumerate(states) if state.accepts}),
        symbols="\n".join(_symbol_cases(symbol_of, symbol_width)),
        rows="\n".join(rows),
        follows="\n".join(_follow_lines(states)),
        hits="\n".join(hits),
    )

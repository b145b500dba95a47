// SPDX-License-Identifier: Apache-2.0
// Tells when a held slot is empty: nothing has moved and the slot was not busy for QUIET_CYCLES; and when that takes
// too long.
`default_nettype none

module drain_watch #(
    parameter int QUIET_CYCLES = 32  // longer than a beat takes through the register slices around the slot
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         closed,
    input  wire         held,
    input  wire         active,       // a beat waits or moves, or the slot is busy
    input  wire         tick_us,
    input  wire  [15:0] timeout_us,
    output logic        drained,
    output logic        timed_out
);

  localparam int QUIET_W = $clog2(QUIET_CYCLES);
  logic [QUIET_W-1:0] quiet;
  logic [15:0] waited_us;

  always_ff @(posedge clk) begin
    if (rst || !held || active) begin
      quiet   <= '0;
      drained <= 1'b0;
    end else begin
      if (!drained) quiet <= quiet + 1'b1;
      if (quiet == QUIET_W'(QUIET_CYCLES - 1)) drained <= 1'b1;
    end
  end

  always_ff @(posedge clk) begin
    if (rst || !closed) begin
      waited_us <= '0;
      timed_out <= 1'b0;
    end else if (tick_us && !drained && !timed_out) begin
      waited_us <= waited_us + 1'b1;
      timed_out <= waited_us >= timeout_us;
    end
  end

endmodule

`default_nettype wire

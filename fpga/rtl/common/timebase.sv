// SPDX-License-Identifier: Apache-2.0
// Board time since reset in milliseconds and seconds, from the microsecond tick.
`default_nettype none

module timebase #(
    parameter int US_PER_MS = 1000,  // less in simulation only
    parameter int MS_PER_S = 1000
) (
    input  wire         clk,
    input  wire         rst,
    input  wire         tick_us,
    output logic [31:0] now_ms,
    output logic [15:0] now_s,
    output logic        tick_s      // one cycle: now_s has a new value
);

  localparam int US_W = $clog2(US_PER_MS + 1);
  localparam int MS_W = $clog2(MS_PER_S + 1);
  logic [US_W-1:0] us;
  logic [MS_W-1:0] ms;
  wire ms_ends = tick_us && us == US_W'(US_PER_MS - 1);
  wire s_ends = ms_ends && ms == MS_W'(MS_PER_S - 1);

  always_ff @(posedge clk) begin
    tick_s <= !rst && s_ends;
    if (rst) begin
      us     <= '0;
      ms     <= '0;
      now_ms <= '0;
      now_s  <= '0;
    end else if (tick_us) begin
      us <= ms_ends ? '0 : us + 1'b1;
      if (ms_ends) begin
        ms     <= s_ends ? '0 : ms + 1'b1;
        now_ms <= now_ms + 1'b1;
      end
      if (s_ends) now_s <= now_s + 1'b1;
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// One cycle in every microsecond.
`default_nettype none

module tick_gen #(
    parameter int CLOCK_HZ = 100_000_000  // a multiple of 1 MHz, at least 2 MHz
) (
    input  wire  clk,
    input  wire  rst,
    output logic tick_us
);

  localparam int CYCLES = CLOCK_HZ / 1_000_000;
  localparam int COUNT_W = $clog2(CYCLES);

  logic [COUNT_W-1:0] count;
  always_ff @(posedge clk) begin
    tick_us <= !rst && count == COUNT_W'(CYCLES - 1);
    if (rst || count == COUNT_W'(CYCLES - 1)) count <= '0;
    else count <= count + 1'b1;
  end

endmodule

`default_nettype wire

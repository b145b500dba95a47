// SPDX-License-Identifier: Apache-2.0
// First-word-fall-through FIFO. A push into a full FIFO and a pop from an empty one do nothing.
`default_nettype none

module sync_fifo #(
    parameter int WIDTH = 32,
    parameter int DEPTH = 16,  // a power of two, at least 2
    localparam int ADDR_W = $clog2(DEPTH)
) (
    input  wire              clk,
    input  wire              rst,
    input  wire              push,
    input  wire  [WIDTH-1:0] push_data,
    output logic             full,
    input  wire              pop,
    output wire  [WIDTH-1:0] pop_data,
    output logic             empty,
    output logic [ADDR_W:0]  count
);

  logic [WIDTH-1:0]  store [DEPTH];
  logic [ADDR_W-1:0] write_at;
  logic [ADDR_W-1:0] read_at;
  wire               do_push = push && !full;
  wire               do_pop = pop && !empty;

  assign full     = count[ADDR_W];
  assign empty    = count == 0;
  assign pop_data = store[read_at];

  always_ff @(posedge clk) begin
    if (rst) begin
      write_at <= '0;
      read_at  <= '0;
      count    <= '0;
    end else begin
      if (do_push) write_at <= write_at + 1'b1;
      if (do_pop) read_at <= read_at + 1'b1;
      if (do_push && !do_pop) count <= count + 1'b1;
      if (do_pop && !do_push) count <= count - 1'b1;
    end
  end

  always_ff @(posedge clk) if (do_push) store[write_at] <= push_data;

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// Key stream of AES in counter mode (NIST SP 800-38A 6.5), a block ahead. The earlier byte is the more significant.
`default_nettype none

module aes_key_stream (
    input wire clk,
    input wire rst,

    // Begins anew with this counter block; its lower 32 bits count.
    input wire         start,
    input wire [127:0] counter_block,
    input wire         stop,
    input wire         key_is_256,    // stand until `stop`
    input wire [255:0] key,           // AES-128: the upper half

    output wire        valid,
    output wire [63:0] data,
    input  wire        take
);

  logic running, held;  // `held`: the core holds a block that is not used yet
  logic [127:0] counter, stream;
  logic [1:0] halves;
  wire core_busy, core_done;
  wire [127:0] core_result;
  wire core_start = running && !core_busy && !core_done && !held;
  wire move = held && halves == 2'd0;
  aes_core u_core (
      .clk, .rst(rst || start), .start(core_start), .key_is_256, .key, .block(counter), .busy(core_busy),
      .done(core_done), .result(core_result));

  assign valid = halves != 2'd0;
  assign data = stream[127:64];

  always_ff @(posedge clk) begin
    if (rst || start) begin
      running <= start && !rst;
      held <= 1'b0;
      halves <= 2'd0;
    end else begin
      if (stop) running <= 1'b0;
      if (core_done) held <= 1'b1;
      else if (move) held <= 1'b0;
      if (move) halves <= 2'd2;
      else if (take && valid) halves <= halves - 2'd1;
    end
    if (start) counter <= counter_block;
    else if (core_start) counter[31:0] <= counter[31:0] + 32'd1;
    if (move) stream <= core_result;
    else if (take) stream <= stream << 64;
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// CRC-32C (RFC 3720 B.4: reflected, initial value and final XOR all ones) of a word of fixed width, one cycle later.
// The first byte is the most significant one, so that a key of network-order fields is hashed in wire order.
// Each result bit is the parity of the data under a constant mask: a tree, not a chain.
`default_nettype none

module crc32c #(
    parameter int WIDTH = 104  // a multiple of 8
) (
    input  wire              clk,
    input  wire              start,
    input  wire  [WIDTH-1:0] data,
    output logic [31:0]      crc  // of the data at the last `start`
);

  localparam logic [31:0] POLYNOMIAL = 32'h82f63b78;
  localparam int ROW = WIDTH + 1;  // a mask over the data, and the constant bit above it

  // Runs the CRC over masks instead of bits.
  function automatic logic [32*ROW-1:0] masks(input int width);
    logic [32*ROW-1:0] state;
    logic [ROW-1:0]    feedback;
    state = '0;
    for (int i = 0; i < 32; i++) state[i*ROW+WIDTH] = 1'b1;
    for (int n = 0; n < width; n++) begin
      feedback = state[ROW-1:0] ^ ({{WIDTH{1'b0}}, 1'b1} << (width - 8 - (n / 8) * 8 + n % 8));
      state    = state >> ROW;
      for (int i = 0; i < 32; i++) if (POLYNOMIAL[i]) state[i*ROW+:ROW] = state[i*ROW+:ROW] ^ feedback;
    end
    for (int i = 0; i < 32; i++) state[i*ROW+WIDTH] = !state[i*ROW+WIDTH];
    masks = state;
  endfunction

  localparam logic [32*ROW-1:0] MASKS = masks(WIDTH);

  for (genvar i = 0; i < 32; i++) begin : g_bit
    always_ff @(posedge clk) if (start) crc[i] <= ^({1'b1, data} & MASKS[i*ROW+:ROW]);
  end

endmodule

`default_nettype wire

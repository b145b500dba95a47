// SPDX-License-Identifier: Apache-2.0
// Toeplitz hash (as receive-side scaling has) of a word under a key, one cycle later: bit n of the hash is the parity of
// the data under the key from bit n on. Who does not know the key cannot choose data that collide; a CRC, also of data
// that are XORed with a key, has the same collisions under every key.
`default_nettype none

module toeplitz #(
    parameter int WIDTH = 104,
    parameter int HASH_W = 10
) (
    input  wire                     clk,
    input  wire                     start,
    input  wire  [WIDTH-1:0]        data,
    input  wire  [WIDTH+HASH_W-2:0] key,
    output logic [HASH_W-1:0]       hash  // of the data at the last `start`
);

  for (genvar i = 0; i < HASH_W; i++) begin : g_bit
    always_ff @(posedge clk) if (start) hash[i] <= ^(data & key[i+:WIDTH]);
  end

endmodule

`default_nettype wire

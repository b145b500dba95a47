// SPDX-License-Identifier: Apache-2.0
// Replaces 16-bit words of a frame as it passes. Combinational; places count 16-bit words from the frame's first byte.
`default_nettype none

module frame_patch (
    input  wire         clk,
    input  wire         rst,
    input  wire         on,
    input  wire  [79:0] values,   // five words, in host order, the first in bits 15:0
    input  wire  [29:0] places,   // 6 bits each
    input  wire  [63:0] s_tdata,
    input  wire         s_tlast,
    input  wire         moves,    // the beat is taken in this cycle
    output logic [63:0] m_tdata
);

  logic [4:0] beat;  // 16: beyond every place
  always_ff @(posedge clk) begin
    if (rst) beat <= '0;
    else if (moves) beat <= s_tlast ? 5'd0 : beat[4] ? beat : beat + 1'b1;
  end

  always_comb begin
    m_tdata = s_tdata;
    for (int lane = 0; lane < 4; lane++) begin
      for (int n = 0; n < 5; n++) begin
        if (on && {1'b0, places[n*6+2+:4]} == beat && places[n*6+:2] == 2'(lane)) begin
          m_tdata[lane*16+:16] = {values[n*16+:8], values[n*16+8+:8]};
        end
      end
    end
  end

endmodule

`default_nettype wire

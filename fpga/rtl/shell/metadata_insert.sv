// SPDX-License-Identifier: Apache-2.0
// Writes the class of a frame into the metadata word, the low 16 bits of a destination MAC 02:0e:HH:HH:MM:MM:
// word = (word & ~mask) | value[class]. Other frames, and classes above 3, are left alone. Combinational.
`default_nettype none

module metadata_insert (
    input  wire         clk,
    input  wire         rst,
    input  wire  [15:0] mask,
    input  wire  [63:0] values,   // of class 0 in bits 15:0
    input  wire  [85:0] s_data,   // {error, user, last, keep, data}
    input  wire         moves,    // the beat is taken in this cycle
    output wire  [85:0] m_data
);

  logic in_frame;
  always_ff @(posedge clk) begin
    if (rst) in_frame <= 1'b0;
    else if (moves) in_frame <= !s_data[72];
  end

  wire [ 7:0] frame_class = s_data[84:77];
  wire [15:0] word = {s_data[39:32], s_data[47:40]};
  wire [15:0] value = values[{frame_class[1:0], 4'd0}+:16];
  wire [15:0] written = (word & ~mask) | value;
  wire        applies = !in_frame && s_data[15:0] == 16'h0e02 && frame_class < 8'd4 && s_data[69:64] == 6'h3f;

  assign m_data = applies ? {s_data[85:48], written[7:0], written[15:8], s_data[31:0]} : s_data;

endmodule

`default_nettype wire

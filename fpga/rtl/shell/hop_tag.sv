// SPDX-License-Identifier: Apache-2.0
// Writes the next hop of a frame into HH:HH of its destination MAC 02:0e:HH:HH:MM:MM, by the frame's direction and class,
// and marks the frames that have no next hop. Frames without a hop tag, and those to the host, are left alone.
// Combinational.
`default_nettype none

module hop_tag (
    input  wire          clk,
    input  wire          rst,
    input  wire  [127:0] hops,    // 16 bits each: forward, then return, of class 0 in the lowest bits
    input  wire  [85:0]  s_data,  // {error, user, last, keep, data}
    input  wire          moves,   // the beat is taken in this cycle
    output wire  [85:0]  m_data,
    output wire          no_hop   // the beat belongs to a frame to be dropped
);

  // Frames of class 4 and above go as class 0.
  wire [7:0]  frame_class = s_data[84:77];
  wire [2:0]  entry = {s_data[73], |frame_class[7:2] ? 2'd0 : frame_class[1:0]};
  wire [15:0] hop = hops[{entry, 4'd0}+:16];

  // Of every entry, so that no frame waits for it: hop 0 is not written, hop 0xffff is none.
  logic [7:0] set, none;
  always_comb for (int n = 0; n < 8; n++) {set[n], none[n]} = {|hops[n*16+:16], &hops[n*16+:16]};

  logic in_frame, marked;  // the first beat decides: the hops may change while the frame leaves
  wire  to_host = s_data[74];
  wire  applies = !in_frame && !to_host && s_data[15:0] == 16'h0e02 && s_data[69:64] == 6'h3f;

  assign no_hop = in_frame ? marked : applies && none[entry];
  assign m_data = applies && set[entry] ? {s_data[85:32], hop[7:0], hop[15:8], s_data[15:0]} : s_data;

  always_ff @(posedge clk) begin
    if (rst) {in_frame, marked} <= 2'b00;
    else if (moves) {in_frame, marked} <= {!s_data[72], no_hop};
  end

endmodule

`default_nettype wire

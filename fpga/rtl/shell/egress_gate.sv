// SPDX-License-Identifier: Apache-2.0
// Takes frames from the slot. Where the slot is cut off within a frame, it ends the frame with a marked beat.
// A slot beat is {user, last, keep, data}; the output adds the error mark on top.
`default_nettype none

module egress_gate (
    input  wire         clk,
    input  wire         rst,
    input  wire         cut,
    output logic        in_frame,

    input  wire  [84:0] slot_data,
    input  wire         slot_valid,
    output wire         slot_ready,

    output wire  [85:0] m_data,
    output wire         m_valid,
    input  wire         m_ready
);

  logic [11:0] user;  // of the frame that leaves; what a slot says later in the frame does not count
  wire  [11:0] frame_user = in_frame ? user : slot_data[84:73];
  wire  [85:0] slot_beat = {1'b0, frame_user, slot_data[72:0]};
  wire  [85:0] end_beat = {1'b1, user, 1'b1, 8'h01, 64'd0};

  assign m_valid    = cut ? in_frame : slot_valid;
  assign m_data     = cut ? end_beat : slot_beat;
  assign slot_ready = m_ready && !cut;

  always_ff @(posedge clk) begin
    if (rst) in_frame <= 1'b0;
    else if (m_valid && m_ready) in_frame <= !m_data[72];
    if (m_valid && m_ready) user <= m_data[84:73];
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// Decides at each frame's first beat whether the frame enters the slot, goes round it, is dropped or waits.
// A beat is {host, direction, last, keep, data}.
`default_nettype none

module ingress_gate (
    input  wire         clk,
    input  wire         rst,
    input  wire         closed,     // no further frame enters the slot
    input  wire         cut,        // the slot takes nothing; the rest of a frame that was entering is dropped
    input  wire         drained,    // nothing is left of the frames that entered
    input  wire  [ 1:0] policy,     // for frames while closed and drained or cut: 0 wait, 1 drop, 2 bypass
    output logic        in_frame,   // a frame has entered in part

    input  wire  [74:0] s_data,
    input  wire         s_valid,
    output wire         s_ready,

    output wire  [74:0] slot_data,
    output wire         slot_valid,
    input  wire         slot_ready,

    output wire  [74:0] bypass_data,
    output wire         bypass_valid,
    input  wire         bypass_ready,

    output wire         drop,       // the beat is dropped, in the cycle with `drop_ready`
    input  wire         drop_ready
);

  localparam logic [1:0] WAIT = 2'd0, DROP = 2'd1, BYPASS = 2'd2, ENTER = 2'd3;

  wire last = s_data[72];
  wire from_host = s_data[74];

  // What happens to a frame that starts now. A frame from the host has no port to leave at untreated.
  wire [1:0] by_policy = policy == BYPASS && from_host ? DROP : policy == ENTER ? WAIT : policy;
  wire [1:0] fresh = cut || (closed && drained) ? by_policy : closed ? WAIT : ENTER;

  logic       going;  // the frame at hand has begun
  logic [1:0] begun;
  wire  [1:0] way = !going ? fresh : begun == ENTER && cut ? DROP : begun;

  assign slot_data    = s_data;
  assign bypass_data  = s_data;
  assign slot_valid   = s_valid && way == ENTER;
  assign bypass_valid = s_valid && way == BYPASS;
  assign drop         = s_valid && way == DROP;
  assign s_ready      = way == ENTER ? slot_ready : way == BYPASS ? bypass_ready : way == DROP && drop_ready;
  assign in_frame     = going && begun == ENTER;

  always_ff @(posedge clk) begin
    if (rst) begin
      going <= 1'b0;
      begun <= WAIT;
    end else begin
      if (s_valid && s_ready) going <= !last;
      if ((s_valid && s_ready) || going) begun <= way;  // a cut counts for the rest of the frame, come it when it may
    end
  end

endmodule

`default_nettype wire

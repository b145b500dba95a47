// SPDX-License-Identifier: Apache-2.0
// What the shell has for one slot: the way in (port mux, gate), the way out (gate, metadata, next hop, port demux), and
// the watch over draining. Register slices stand on both sides of the boundary.
`default_nettype none

module slot_lane (
    input  wire         clk,
    input  wire         rst,
    input  wire         tick_us,

    // Control and state (regs/nf_shell.yaml).
    input  wire         hold,
    input  wire         decouple,
    input  wire  [ 1:0] policy,
    input  wire  [15:0] drain_timeout_us,
    input  wire  [15:0] metadata_mask,
    input  wire  [63:0] metadata_values,
    input  wire [127:0] hops,
    output wire         held,
    output wire         drained,
    output wire         timed_out,
    output wire         slot_is_busy,

    // Beats that count: {error, last, bytes}, each valid for one cycle with its strobe.
    output logic        in_beat, out_beat, drop_beat, bypass_beat,
    output logic        in_last, out_last, drop_last, bypass_last,
    output logic [ 3:0] in_bytes, out_bytes, drop_bytes, bypass_bytes,
    output logic        out_error,
    output logic        no_hop,   // a frame was dropped that has no next hop

    // Ports: stream n of near, far, host at [n].
    input  wire [191:0] rx_tdata,
    input  wire [ 23:0] rx_tkeep,
    input  wire [  2:0] rx_tvalid,
    output wire [  2:0] rx_tready,
    input  wire [  2:0] rx_tlast,
    input  wire         host_rx_tuser,   // direction
    output wire [ 63:0] tx_tdata,        // of whichever port is valid
    output wire [  7:0] tx_tkeep,
    output wire [  2:0] tx_tvalid,
    input  wire [  2:0] tx_tready,
    output wire         tx_tlast,
    output wire         tx_terror,
    output wire [  7:0] tx_class,
    output wire         tx_direction,

    // The boundary.
    output wire  [63:0] slot_s_axis_tdata,
    output wire  [ 7:0] slot_s_axis_tkeep,
    output wire         slot_s_axis_tvalid,
    input  wire         slot_s_axis_tready,
    output wire         slot_s_axis_tlast,
    output wire  [ 1:0] slot_s_axis_tuser,
    input  wire  [63:0] slot_m_axis_tdata,
    input  wire  [ 7:0] slot_m_axis_tkeep,
    input  wire         slot_m_axis_tvalid,
    output wire         slot_m_axis_tready,
    input  wire         slot_m_axis_tlast,
    input  wire  [11:0] slot_m_axis_tuser,
    input  wire         slot_busy
);

  wire closed = hold || decouple;

  function automatic logic [3:0] keep_bytes(input logic [7:0] keep);
    keep_bytes = 4'd0;
    for (int i = 0; i < 8; i++) keep_bytes = keep_bytes + 4'(keep[i]);
  endfunction

  // Way in. A beat is {host, direction, last, keep, data}.
  wire [224:0] rx_beats;
  wire [ 74:0] rx_beat, gate_beat;
  wire         rx_valid, rx_ready, gate_valid, gate_ready;
  assign rx_beats[74:0]    = {2'b00, rx_tlast[0], rx_tkeep[7:0], rx_tdata[63:0]};
  assign rx_beats[149:75]  = {2'b01, rx_tlast[1], rx_tkeep[15:8], rx_tdata[127:64]};
  assign rx_beats[224:150] = {1'b1, host_rx_tuser, rx_tlast[2], rx_tkeep[23:16], rx_tdata[191:128]};

  frame_mux #(.STREAMS(3), .WIDTH(75)) u_rx_mux (
      .clk, .rst, .s_data(rx_beats), .s_last(rx_tlast), .s_valid(rx_tvalid), .s_ready(rx_tready),
      .m_data(rx_beat), .m_valid(rx_valid), .m_ready(rx_ready), .m_stream());
  axis_skid #(.WIDTH(75)) u_rx_skid (
      .clk, .rst, .s_data(rx_beat), .s_valid(rx_valid), .s_ready(rx_ready),
      .m_data(gate_beat), .m_valid(gate_valid), .m_ready(gate_ready));

  wire [74:0] enter_beat, bypass_data, slot_beat;
  wire        enter_valid, enter_ready, bypass_valid, bypass_ready, gate_drop, entering, slot_beat_valid;
  wire        flush = slot_beat_valid && decouple;  // a beat that the slot did not take any more
  ingress_gate u_ingress (
      .clk, .rst, .closed, .cut(decouple), .drained, .policy, .in_frame(entering),
      .s_data(gate_beat), .s_valid(gate_valid), .s_ready(gate_ready),
      .slot_data(enter_beat), .slot_valid(enter_valid), .slot_ready(enter_ready),
      .bypass_data, .bypass_valid, .bypass_ready, .drop(gate_drop), .drop_ready(!flush));
  axis_skid #(.WIDTH(75)) u_enter_skid (
      .clk, .rst, .s_data(enter_beat), .s_valid(enter_valid), .s_ready(enter_ready),
      .m_data(slot_beat), .m_valid(slot_beat_valid), .m_ready(slot_s_axis_tready || decouple));
  assign {slot_s_axis_tuser, slot_s_axis_tlast, slot_s_axis_tkeep, slot_s_axis_tdata} = decouple ? '0 : slot_beat;
  assign slot_s_axis_tvalid = slot_beat_valid && !decouple;

  // Way out. A beat is {error, user, last, keep, data}.
  wire [85:0] leave_beat, leaving_beat, marked_beat, leaving_tagged, bypass_tagged;
  wire        leave_valid, leave_ready, leaving_valid, leaving_ready, leaving, leaving_no_hop, bypass_no_hop;
  wire [86:0] tx_beat_in, tx_beat;
  wire        tx_valid_in, tx_ready_in, tx_valid, tx_ready;
  egress_gate u_egress (
      .clk, .rst, .cut(decouple), .in_frame(leaving),
      .slot_data({slot_m_axis_tuser, slot_m_axis_tlast, slot_m_axis_tkeep, slot_m_axis_tdata}),
      .slot_valid(slot_m_axis_tvalid), .slot_ready(slot_m_axis_tready),
      .m_data(leave_beat), .m_valid(leave_valid), .m_ready(leave_ready));
  axis_skid #(.WIDTH(86)) u_leave_skid (
      .clk, .rst, .s_data(leave_beat), .s_valid(leave_valid), .s_ready(leave_ready),
      .m_data(leaving_beat), .m_valid(leaving_valid), .m_ready(leaving_ready));
  metadata_insert u_metadata (
      .clk, .rst, .mask(metadata_mask), .values(metadata_values), .s_data(leaving_beat),
      .moves(leaving_valid && leaving_ready), .m_data(marked_beat));
  hop_tag u_hop (
      .clk, .rst, .hops, .s_data(marked_beat),
      .moves(leaving_valid && leaving_ready), .m_data(leaving_tagged), .no_hop(leaving_no_hop));
  hop_tag u_bypass_hop (
      .clk, .rst, .hops, .s_data({1'b0, 8'd0, 2'b00, bypass_data}),
      .moves(bypass_valid && bypass_ready), .m_data(bypass_tagged), .no_hop(bypass_no_hop));

  // Behind here a beat is {no next hop, error, user, last, keep, data}.
  frame_mux #(.STREAMS(2), .WIDTH(87)) u_tx_mux (
      .clk, .rst, .s_data({bypass_no_hop, bypass_tagged, leaving_no_hop, leaving_tagged}),
      .s_last({bypass_data[72], leaving_beat[72]}),
      .s_valid({bypass_valid, leaving_valid}), .s_ready({bypass_ready, leaving_ready}),
      .m_data(tx_beat_in), .m_valid(tx_valid_in), .m_ready(tx_ready_in), .m_stream());
  axis_skid #(.WIDTH(87)) u_tx_skid (
      .clk, .rst, .s_data(tx_beat_in), .s_valid(tx_valid_in), .s_ready(tx_ready_in),
      .m_data(tx_beat), .m_valid(tx_valid), .m_ready(tx_ready));

  // Forward leaves at the far port, return at the near port, and nowhere what has no next hop.
  wire       tx_drop = tx_beat[86];
  wire       to_host = tx_beat[74];
  wire [2:0] tx_port = to_host ? 3'b100 : tx_direction ? 3'b001 : 3'b010;
  assign {tx_terror, tx_class, tx_tlast, tx_tkeep, tx_tdata} = {tx_beat[85:77], tx_beat[72:0]};
  assign tx_direction = tx_beat[73];
  assign tx_tvalid    = tx_valid && !tx_drop ? tx_port : 3'b000;
  assign tx_ready     = tx_drop || |(tx_port & tx_tready);
  wire unused = &{1'b0, tx_beat[76:75]};

  // Draining.
  assign held = closed && !entering;
  assign slot_is_busy = slot_busy && !decouple;
  wire slot_speaks = slot_m_axis_tvalid && !decouple;
  drain_watch u_drain (
      .clk, .rst, .closed, .held, .tick_us, .timeout_us(drain_timeout_us), .drained, .timed_out,
      .active(slot_beat_valid || slot_speaks || leaving || leaving_valid || slot_is_busy));

  // Counted beats.
  always_ff @(posedge clk) begin
    {in_beat, out_beat, drop_beat, bypass_beat} <= rst ? 4'd0 : {
        slot_s_axis_tvalid && slot_s_axis_tready, leave_valid && leave_ready, gate_drop || flush,
        bypass_valid && bypass_ready};
    {in_last, in_bytes}         <= {slot_beat[72], keep_bytes(slot_beat[71:64])};
    {out_last, out_bytes}       <= {leave_beat[72], keep_bytes(leave_beat[71:64])};
    {drop_last, drop_bytes}     <= flush ? {slot_beat[72], keep_bytes(slot_beat[71:64])} :
                                           {gate_beat[72], keep_bytes(gate_beat[71:64])};
    {bypass_last, bypass_bytes} <= {bypass_data[72], keep_bytes(bypass_data[71:64])};
    out_error                   <= leave_beat[85];
    no_hop                      <= !rst && tx_valid && tx_drop && tx_tlast && !tx_terror;
  end

endmodule

`default_nettype wire

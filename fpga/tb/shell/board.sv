// SPDX-License-Identifier: Apache-2.0
// The shell with one slot, whose outputs a bench can replace.
`default_nettype none

module board (
    input  wire         clk,
    input  wire         rst,

    input  wire         stuck,       // the slot moves nothing and answers nothing
    input  wire         absent,      // the slot's outputs are X
    input  wire         garbage,     // the slot's outputs are what follows
    input  wire  [63:0] noise,
    input  wire  [ 7:0] frame_class,
    input  wire         class_in_frame,  // byte 7 of a frame is its class

    input  wire  [19:0] host_csr_addr,
    input  wire         host_csr_write,
    input  wire  [31:0] host_csr_wdata,
    input  wire         host_csr_read,
    output wire  [31:0] host_csr_rdata,
    output wire         host_csr_ack,
    output wire         link_up,
    output wire         tick_us,

    input  wire  [63:0] near_rx_tdata, far_rx_tdata, host_rx_tdata,
    input  wire  [ 7:0] near_rx_tkeep, far_rx_tkeep, host_rx_tkeep,
    input  wire         near_rx_tvalid, far_rx_tvalid, host_rx_tvalid,
    output wire         near_rx_tready, far_rx_tready, host_rx_tready,
    input  wire         near_rx_tlast, far_rx_tlast, host_rx_tlast,
    input  wire         host_rx_tuser,
    output wire  [63:0] near_tx_tdata, far_tx_tdata, host_tx_tdata,
    output wire  [ 7:0] near_tx_tkeep, far_tx_tkeep, host_tx_tkeep,
    output wire         near_tx_tvalid, far_tx_tvalid, host_tx_tvalid,
    input  wire         near_tx_tready, far_tx_tready, host_tx_tready,
    output wire         near_tx_tlast, far_tx_tlast, host_tx_tlast,
    output wire         near_tx_tuser, far_tx_tuser,
    output wire  [ 9:0] host_tx_tuser,
    output wire         slot_s_axis_tvalid
);

  wire        slot_rst, s_tready, s_tlast, m_tvalid, m_tready, m_tlast, csr_write, csr_read, csr_ack, busy;
  wire [63:0] s_tdata, m_tdata;
  wire [ 7:0] s_tkeep, m_tkeep;
  wire [ 1:0] s_tuser;
  wire [11:0] m_tuser;
  wire [15:0] csr_addr;
  wire [31:0] csr_wdata, csr_rdata;

  store_slot u_slot (
      .clk, .rst(slot_rst), .s_axis_tdata(s_tdata), .s_axis_tkeep(s_tkeep), .s_axis_tvalid(slot_s_axis_tvalid && !stuck),
      .s_axis_tready(s_tready), .s_axis_tlast(s_tlast), .s_axis_tuser(s_tuser), .m_axis_tdata(m_tdata),
      .m_axis_tkeep(m_tkeep), .m_axis_tvalid(m_tvalid), .m_axis_tready(m_tready && !stuck), .m_axis_tlast(m_tlast),
      .m_axis_tuser(m_tuser), .csr_addr, .csr_write(csr_write && !stuck), .csr_wdata, .csr_read(csr_read && !stuck),
      .csr_rdata, .csr_ack, .busy);

  wire [  7:0] told_class = class_in_frame ? (m_tkeep[7] ? m_tdata[63:56] : 8'd0) : frame_class;
  wire [153:0] told = {s_tready && !stuck, m_tdata, m_tkeep, m_tvalid && !stuck, m_tlast,
                       m_tuser | {told_class, 4'd0}, csr_rdata, csr_ack && !stuck, 33'd0, busy};
  wire [153:0] says = absent ? 'x : garbage ? {noise, ~noise, noise[25:0]} : told;

  nf_shell #(.CLOCK_HZ(2_000_000), .SHELL_UUID(128'h00112233_44556677_8899aabb_ccddeeff)) u_shell (
      .slot_s_axis_tready(says[153]), .slot_m_axis_tdata(says[152:89]), .slot_m_axis_tkeep(says[88:81]),
      .slot_m_axis_tvalid(says[80]), .slot_m_axis_tlast(says[79]), .slot_m_axis_tuser(says[78:67]),
      .slot_csr_rdata(says[66:35]), .slot_csr_ack(says[34]), .slot_busy(says[0]),
      .slot_s_axis_tdata(s_tdata), .slot_s_axis_tkeep(s_tkeep), .slot_s_axis_tlast(s_tlast),
      .slot_s_axis_tuser(s_tuser), .slot_m_axis_tready(m_tready), .slot_csr_addr(csr_addr), .slot_csr_write(csr_write),
      .slot_csr_wdata(csr_wdata), .slot_csr_read(csr_read), .*);

endmodule

`default_nettype wire

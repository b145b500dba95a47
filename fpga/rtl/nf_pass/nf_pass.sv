// SPDX-License-Identifier: Apache-2.0
// Passes every frame: the smallest slot module, and the pattern for the ports of all.
`default_nettype none

module nf_pass (
    input  wire         clk,
    input  wire         rst,

    input  wire  [63:0] s_axis_tdata,
    input  wire  [ 7:0] s_axis_tkeep,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    input  wire         s_axis_tlast,
    input  wire  [ 1:0] s_axis_tuser,

    output wire  [63:0] m_axis_tdata,
    output wire  [ 7:0] m_axis_tkeep,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready,
    output wire         m_axis_tlast,
    output wire  [11:0] m_axis_tuser,

    input  wire  [15:0] csr_addr,
    input  wire         csr_write,
    input  wire  [31:0] csr_wdata,
    input  wire         csr_read,
    output wire  [31:0] csr_rdata,
    output wire         csr_ack,

    input  wire         tick_us,
    output wire         busy
);

  `include "nf_pass_regs.svh"

  wire [1:0] user;
  assign m_axis_tuser = {10'd0, user};
  assign busy = m_axis_tvalid;

  axis_skid #(.WIDTH(75)) u_skid (
      .clk, .rst,
      .s_data({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .s_valid(s_axis_tvalid), .s_ready(s_axis_tready),
      .m_data({user, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_valid(m_axis_tvalid), .m_ready(m_axis_tready));

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable(), .clear(), .busy, .clearing(1'b0),
      .frame_in(s_axis_tvalid && s_axis_tready && s_axis_tlast),
      .frame_out(m_axis_tvalid && m_axis_tready && m_axis_tlast),
      .frame_oversize(1'b0), .frame_drop(4'd0),
      .event_valid(1'b0), .event_words(256'd0),
      .table_start(), .table_operation(), .table_index(), .table_wdata(), .table_done(1'b0), .table_valid(1'b0),
      .table_full(1'b0), .table_rdata(256'd0), .table_in_use(16'd0),
      .own_write(), .own_addr(), .own_wdata(), .own_rdata(32'd0));

  wire unused = &{1'b0, tick_us};

endmodule

`default_nettype wire

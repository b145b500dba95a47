// SPDX-License-Identifier: Apache-2.0
// A slot module that stores each frame and lets it go.
`default_nettype none

module store_slot (
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
    output wire         busy
);

  wire       hdr_valid, empty;
  wire [1:0] hdr_user, user;
  assign m_axis_tuser = {10'd0, user};
  assign busy = !empty;

  frame_path #(.VERDICT_W(2)) u_path (
      .clk, .rst, .s_axis_tdata, .s_axis_tkeep, .s_axis_tvalid, .s_axis_tready, .s_axis_tlast, .s_axis_tuser,
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast, .m_axis_tuser(user),
      .hdr_valid, .hdr_take(hdr_valid), .hdr_user, .hdr_is_ipv4(), .hdr_malformed(), .hdr_vlan(),
      .hdr_later_fragment(), .hdr_transport(), .hdr_protocol(), .hdr_ip_bytes(), .hdr_ip_checksum(), .hdr_src_ip(), .hdr_dst_ip(),
      .hdr_src_port(), .hdr_dst_port(), .hdr_tcp_flags(), .hdr_icmp_type(), .hdr_icmp_id(),
      .hdr_transport_checksum(), .hdr_l4_offset(), .verdict_valid(hdr_valid), .verdict_drop(1'b0),
      .verdict(hdr_user), .frame_in(), .frame_oversize(), .frame_out(), .empty);

  csr_common #(.ID("STO1"), .VERSION(32'd0)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable(), .clear(), .busy, .clearing(1'b0), .frame_in(1'b0), .frame_out(1'b0), .frame_oversize(1'b0),
      .frame_drop(4'd0), .event_valid(1'b0), .event_words(256'd0),
      .table_start(), .table_operation(), .table_index(), .table_wdata(), .table_done(1'b0), .table_valid(1'b0),
      .table_full(1'b0), .table_rdata(256'd0), .table_in_use(16'd0),
      .own_write(), .own_addr(), .own_wdata(), .own_rdata(32'd0));

endmodule

`default_nettype wire

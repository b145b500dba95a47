// SPDX-License-Identifier: Apache-2.0
// The way of frames through a module that decides by headers: register slices, header parser, frame store. The headers
// of the oldest undecided frame stand at `hdr_*` while `hdr_valid`; `hdr_take` moves on to the next one. Verdicts are
// given in the order of the headers, and may lag them.
`default_nettype none

module frame_path #(
    parameter int USER_W = 2,     // bits that come with a frame
    parameter int VERDICT_W = 8   // what a verdict says beside drop; leaves with the frame
) (
    input  wire                  clk,
    input  wire                  rst,

    input  wire  [63:0]          s_axis_tdata,
    input  wire  [ 7:0]          s_axis_tkeep,
    input  wire                  s_axis_tvalid,
    output wire                  s_axis_tready,
    input  wire                  s_axis_tlast,
    input  wire  [USER_W-1:0]    s_axis_tuser,

    output wire  [63:0]          m_axis_tdata,
    output wire  [ 7:0]          m_axis_tkeep,
    output wire                  m_axis_tvalid,
    input  wire                  m_axis_tready,
    output wire                  m_axis_tlast,
    output wire  [VERDICT_W-1:0] m_axis_tuser,   // the verdict, constant in a frame

    output wire                  hdr_valid,
    input  wire                  hdr_take,
    output wire  [USER_W-1:0]    hdr_user,       // s_axis_tuser of the frame
    output wire                  hdr_is_ipv4,
    output wire                  hdr_malformed,
    output wire                  hdr_vlan,
    output wire                  hdr_later_fragment,
    output wire                  hdr_transport,
    output wire  [ 7:0]          hdr_protocol,
    output wire  [15:0]          hdr_ip_bytes,
    output wire  [15:0]          hdr_ip_checksum,
    output wire  [31:0]          hdr_src_ip,
    output wire  [31:0]          hdr_dst_ip,
    output wire  [15:0]          hdr_src_port,
    output wire  [15:0]          hdr_dst_port,
    output wire  [ 5:0]          hdr_tcp_flags,
    output wire  [ 7:0]          hdr_icmp_type,
    output wire  [15:0]          hdr_icmp_id,
    output wire  [15:0]          hdr_transport_checksum,
    output wire  [ 6:0]          hdr_l4_offset,

    input  wire                  verdict_valid,
    input  wire                  verdict_drop,
    input  wire  [VERDICT_W-1:0] verdict,

    output wire                  frame_in,       // one cycle for each frame that came in, the oversize too
    output wire                  frame_oversize,
    output wire                  frame_out,
    output logic                 empty           // no frame inside
);

  // In: a beat is {user, last, keep, data}.
  wire [63:0] in_tdata;
  wire [ 7:0] in_tkeep;
  wire [USER_W-1:0] in_tuser;
  wire        in_tvalid, in_tready, in_tlast;
  axis_skid #(.WIDTH(73 + USER_W)) u_in (
      .clk, .rst, .s_data({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}),
      .s_valid(s_axis_tvalid), .s_ready(s_axis_tready),
      .m_data({in_tuser, in_tlast, in_tkeep, in_tdata}), .m_valid(in_tvalid), .m_ready(in_tready));
  assign frame_in = in_tvalid && in_tready && in_tlast;

  // Headers; the user bits follow the parser's two cycles.
  localparam int HEADER_W = 194 + USER_W;
  wire [HEADER_W-1:0] header;
  wire                parsed, parsed_oversize, no_header;
  logic [USER_W-1:0]  user_1, user_2;
  assign header[HEADER_W-1:194] = user_2;
  always_ff @(posedge clk) begin
    user_1 <= in_tuser;
    user_2 <= user_1;
  end
  hdr_parse u_parse (
      .clk, .rst, .beat(in_tvalid && in_tready), .tdata(in_tdata), .tkeep(in_tkeep), .tlast(in_tlast),
      .valid(parsed), .oversize(parsed_oversize),
      .is_ipv4(header[193]), .malformed(header[192]), .vlan(header[191]), .later_fragment(header[190]),
      .transport(header[189]),
      .protocol(header[188:181]), .ip_bytes(header[180:165]), .ip_checksum(header[164:149]),
      .src_ip(header[148:117]), .dst_ip(header[116:85]), .src_port(header[84:69]), .dst_port(header[68:53]),
      .tcp_flags(header[52:47]), .icmp_type(header[46:39]), .icmp_id(header[38:23]),
      .transport_checksum(header[22:7]), .l4_offset(header[6:0]), .payload_offset(), .payload_bytes());
  // Never full: the store takes no more frames than fit.
  wire [HEADER_W-1:0] oldest;
  sync_fifo #(.WIDTH(HEADER_W), .DEPTH(16)) u_headers (
      .clk, .rst, .push(parsed && !parsed_oversize), .push_data(header), .full(),
      .pop(hdr_take), .pop_data(oldest), .empty(no_header), .count());
  assign hdr_valid = !no_header;
  assign {hdr_user, hdr_is_ipv4, hdr_malformed, hdr_vlan, hdr_later_fragment, hdr_transport, hdr_protocol,
          hdr_ip_bytes, hdr_ip_checksum, hdr_src_ip, hdr_dst_ip, hdr_src_port, hdr_dst_port, hdr_tcp_flags, hdr_icmp_type,
          hdr_icmp_id, hdr_transport_checksum, hdr_l4_offset} = oldest;

  // Frames.
  wire [63:0] out_tdata;
  wire [ 7:0] out_tkeep;
  wire        out_tvalid, out_tready, out_tlast, store_empty;
  wire [VERDICT_W-1:0] out_verdict;
  frame_store #(.FRAMES(16), .VERDICT_W(VERDICT_W)) u_store (
      .clk, .rst,
      .s_tdata(in_tdata), .s_tkeep(in_tkeep), .s_tvalid(in_tvalid), .s_tready(in_tready), .s_tlast(in_tlast),
      .stored(), .oversize(frame_oversize), .verdict_valid, .verdict_drop, .verdict,
      .m_tdata(out_tdata), .m_tkeep(out_tkeep), .m_tvalid(out_tvalid), .m_tready(out_tready), .m_tlast(out_tlast),
      .m_verdict(out_verdict), .empty(store_empty));

  axis_skid #(.WIDTH(73 + VERDICT_W)) u_out (
      .clk, .rst, .s_data({out_verdict, out_tlast, out_tkeep, out_tdata}), .s_valid(out_tvalid), .s_ready(out_tready),
      .m_data({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}), .m_valid(m_axis_tvalid),
      .m_ready(m_axis_tready));
  assign frame_out = m_axis_tvalid && m_axis_tready && m_axis_tlast;

  always_ff @(posedge clk) empty <= rst || (store_empty && !in_tvalid && !m_axis_tvalid && !out_tvalid);

endmodule

`default_nettype wire

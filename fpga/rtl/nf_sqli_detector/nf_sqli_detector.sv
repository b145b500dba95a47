// SPDX-License-Identifier: Apache-2.0
// Searches the payload of TCP segments to watched ports for SQL injection, a byte a cycle. Frames wait meanwhile, in
// their order, in the frame store; a second copy feeds the search.
`default_nettype none

module nf_sqli_detector (
    input wire clk,
    input wire rst,

    input  wire [63:0] s_axis_tdata,
    input  wire [ 7:0] s_axis_tkeep,
    input  wire        s_axis_tvalid,
    output wire        s_axis_tready,
    input  wire        s_axis_tlast,
    input  wire [ 1:0] s_axis_tuser,

    output wire [63:0] m_axis_tdata,
    output wire [ 7:0] m_axis_tkeep,
    output wire        m_axis_tvalid,
    input  wire        m_axis_tready,
    output wire        m_axis_tlast,
    output wire [11:0] m_axis_tuser,

    input  wire [15:0] csr_addr,
    input  wire        csr_write,
    input  wire [31:0] csr_wdata,
    input  wire        csr_read,
    output wire [31:0] csr_rdata,
    output wire        csr_ack,

    input  wire tick_us,
    output wire busy
);

  `include "nf_sqli_detector_regs.svh"

  localparam logic [7:0] TCP = 8'd6;
  localparam logic [7:0] CLASS_NONE = 8'd0, CLASS_CLEAN = 8'd1, CLASS_ATTACK = 8'd2;

  // Register slices towards the shell: a beat is {user, last, keep, data}.
  wire [63:0] in_tdata;
  wire [7:0] in_tkeep;
  wire [1:0] in_tuser;
  wire in_tvalid, in_tready, in_tlast;
  axis_skid #(.WIDTH(75)) u_in (
      .clk, .rst, .s_data({s_axis_tuser, s_axis_tlast, s_axis_tkeep, s_axis_tdata}), .s_valid(s_axis_tvalid),
      .s_ready(s_axis_tready), .m_data({in_tuser, in_tlast, in_tkeep, in_tdata}), .m_valid(in_tvalid),
      .m_ready(in_tready));

  wire [63:0] out_tdata;
  wire [7:0] out_tkeep;
  wire [9:0] out_tuser;
  wire out_tvalid, out_tready, out_tlast;
  wire [9:0] m_user;
  axis_skid #(.WIDTH(83)) u_out (
      .clk, .rst, .s_data({out_tuser, out_tlast, out_tkeep, out_tdata}), .s_valid(out_tvalid), .s_ready(out_tready),
      .m_data({m_user, m_axis_tlast, m_axis_tkeep, m_axis_tdata}), .m_valid(m_axis_tvalid), .m_ready(m_axis_tready));
  assign m_axis_tuser = {m_user[9:2], 2'b00, m_user[1:0]};

  // Frames in, to the store, the parser and the search memory.
  wire store_ready, search_ready, store_empty, oversize;
  wire take = in_tvalid && in_tready;
  assign in_tready = store_ready && search_ready;

  wire verdict_valid, verdict_drop;
  wire [9:0] verdict;
  frame_store #(.VERDICT_W(10)) u_store (
      .clk, .rst,
      .s_tdata(in_tdata), .s_tkeep(in_tkeep), .s_tvalid(in_tvalid && search_ready),
      .s_tready(store_ready), .s_tlast(in_tlast), .stored(), .oversize,
      .verdict_valid, .verdict_drop, .verdict,
      .m_tdata(out_tdata), .m_tkeep(out_tkeep), .m_tvalid(out_tvalid), .m_tready(out_tready),
      .m_tlast(out_tlast), .m_verdict(out_tuser), .empty(store_empty));

  wire parsed, parsed_oversize, is_ipv4, transport;
  wire [7:0] protocol, payload_offset;
  wire [31:0] src_ip, dst_ip;
  wire [15:0] src_port, dst_port;
  wire [11:0] payload_bytes;
  hdr_parse u_parse (
      .clk, .rst, .beat(take), .tdata(in_tdata), .tkeep(in_tkeep), .tlast(in_tlast),
      .valid(parsed), .oversize(parsed_oversize), .is_ipv4, .malformed(), .vlan(), .later_fragment(), .transport,
      .protocol, .ip_bytes(), .ip_checksum(), .src_ip, .dst_ip, .src_port, .dst_port, .tcp_flags(), .icmp_type(), .icmp_id(),
      .transport_checksum(), .l4_offset(), .payload_offset, .payload_bytes);

  // The user bits of the frame that `parsed` is about.
  logic [1:0] user_1, user_2;
  always_ff @(posedge clk) {user_2, user_1} <= {user_1, in_tuser};

  // Configuration.
  wire enable, clear;
  logic drop_attacks;
  logic [15:0] ports [4];
  wire [3:0] port_matches;
  for (genvar i = 0; i < 4; i++) begin : g_port
    assign port_matches[i] = ports[i] != 0 && ports[i] == dst_port;
  end
  wire search = enable && transport && protocol == TCP && payload_bytes != 0 && port_matches != 0;

  // What the search needs of each frame, in order.
  wire job_done, no_job;
  wire job_search, job_ipv4;
  wire [1:0] job_user;
  wire [7:0] job_offset;
  wire [11:0] job_bytes;
  wire [95:0] job_flow;
  sync_fifo #(.WIDTH(120), .DEPTH(4)) u_jobs (
      .clk, .rst, .push(parsed && !parsed_oversize),
      .push_data({search, enable && is_ipv4, user_2, payload_offset, payload_bytes, src_ip, dst_ip, src_port, dst_port}),
      .full(), .pop(job_done), .pop_data({job_search, job_ipv4, job_user, job_offset, job_bytes, job_flow}),
      .empty(no_job), .count());

  logic counting;
  wire [31:0] hits;
  wire found, searching;
  sqli_search u_search (
      .clk, .rst, .beat(take), .tdata(in_tdata), .tlast(in_tlast), .ready(search_ready),
      .job(!no_job), .job_search, .job_offset, .job_bytes, .done(job_done), .found, .hits,
      .hold(counting), .searching);

  wire attack = job_done && job_search && found;
  assign verdict_valid = job_done;
  assign verdict_drop = attack && drop_attacks;
  assign verdict = {attack ? CLASS_ATTACK : job_ipv4 ? CLASS_CLEAN : CLASS_NONE, job_user};

  // Packets by pattern: one memory, walked after each attack and to clear it.
  logic zeroing;
  logic [4:0] pattern;
  logic [31:0] hit_patterns;
  logic [31:0] packets [32];
  always_ff @(posedge clk) begin
    if (rst || clear) begin
      {counting, zeroing} <= 2'b11;
      pattern <= '0;
    end else if (counting) begin
      pattern <= pattern + 1'b1;
      if (&pattern) {counting, zeroing} <= 2'b00;
    end else if (attack) begin
      counting <= 1'b1;
    end
    if (!counting) hit_patterns <= hits;
    if (counting) packets[pattern] <= zeroing ? 32'd0 : packets[pattern] + 32'(hit_patterns[pattern]);
  end

  // Registers.
  wire own_write;
  wire [15:0] own_addr;
  wire [31:0] own_wdata;
  logic [31:0] own_rdata, attacks;
  wire [1:0] port_index = own_addr[3:2];
  wire port_space = own_addr[15:4] == REG_PORT[15:4];
  always_ff @(posedge clk) begin
    if (rst) begin
      drop_attacks <= 1'b0;
      ports[0] <= 16'd80;
      for (int i = 1; i < 4; i++) ports[i] <= '0;
    end else if (own_write) begin
      if (own_addr == REG_OPTIONS) drop_attacks <= own_wdata[0];
      if (port_space) ports[port_index] <= own_wdata[15:0];
    end
    attacks <= rst || clear ? 32'd0 : attacks + 32'(attack);
    own_rdata <= own_addr[15:7] == REG_PATTERN_PACKETS[15:7] ? packets[own_addr[6:2]] :
                 port_space ? {16'd0, ports[port_index]} :
                 own_addr == REG_ATTACKS ? attacks : own_addr == REG_OPTIONS ? {31'd0, drop_attacks} : 32'd0;
  end

  assign busy = in_tvalid || m_axis_tvalid || !store_empty || searching || counting;

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing(zeroing),
      .frame_in(take && in_tlast), .frame_out(m_axis_tvalid && m_axis_tready && m_axis_tlast),
      .frame_oversize(oversize), .frame_drop({3'd0, verdict_drop}),
      .event_valid(attack),
      .event_words({64'd0, 20'd0, job_bytes, hits, job_flow[31:0], job_flow[63:32], job_flow[95:64], EVENT_ATTACK}),
      .table_start(), .table_operation(), .table_index(), .table_wdata(), .table_done(1'b0), .table_valid(1'b0),
      .table_full(1'b0), .table_rdata(256'd0), .table_in_use(16'd0),
      .own_write, .own_addr, .own_wdata, .own_rdata);

  wire unused = &{1'b0, tick_us, own_wdata[31:16]};

endmodule

`default_nettype wire

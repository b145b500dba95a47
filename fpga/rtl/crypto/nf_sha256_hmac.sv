// SPDX-License-Identifier: Apache-2.0
// Answers each frame with a frame of 32 bytes: its SHA-256 (FIPS 180-4) or its HMAC-SHA-256 (RFC 2104).
`default_nettype none

module nf_sha256_hmac (
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

  `include "nf_sha256_hmac_regs.svh"

  function automatic logic [31:0] swap_bytes(input logic [31:0] x);
    swap_bytes = {x[7:0], x[15:8], x[23:16], x[31:24]};
  endfunction

  function automatic logic [63:0] swap_word(input logic [63:0] x);
    swap_word = {swap_bytes(x[31:0]), swap_bytes(x[63:32])};
  endfunction

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
  wire [1:0] out_tuser;
  wire out_tvalid, out_tready, out_tlast;
  wire [1:0] m_user;
  axis_skid #(.WIDTH(75)) u_out (
      .clk, .rst, .s_data({out_tuser, out_tlast, out_tkeep, out_tdata}), .s_valid(out_tvalid), .s_ready(out_tready),
      .m_data({m_user, m_axis_tlast, m_axis_tkeep, m_axis_tdata}), .m_valid(m_axis_tvalid), .m_ready(m_axis_tready));
  assign m_axis_tuser = {10'd0, m_user};

  // Every stored frame leaves the store; `treat` says whether into the hash.
  wire enable, clear, store_empty, stored, oversize;
  logic [1:0] user;
  always_ff @(posedge clk) user <= in_tuser;

  wire [63:0] stored_text, text;
  wire [7:0] stored_keep, text_keep;
  wire stored_valid, stored_last, stored_taken, text_valid, text_last, text_taken, treat;
  wire [2:0] stored_verdict;
  wire [1:0] text_user;
  frame_store #(.VERDICT_W(3)) u_store (
      .clk, .rst,
      .s_tdata(in_tdata), .s_tkeep(in_tkeep), .s_tvalid(in_tvalid), .s_tready(in_tready),
      .s_tlast(in_tlast), .stored, .oversize,
      .verdict_valid(stored), .verdict_drop(1'b0), .verdict({enable, user}),
      .m_tdata(stored_text), .m_tkeep(stored_keep), .m_tvalid(stored_valid), .m_tready(stored_taken),
      .m_tlast(stored_last), .m_verdict(stored_verdict), .empty(store_empty));
  axis_skid #(.WIDTH(76)) u_text (
      .clk, .rst, .s_data({stored_verdict, stored_last, stored_keep, stored_text}), .s_valid(stored_valid),
      .s_ready(stored_taken), .m_data({treat, text_user, text_last, text_keep, text}), .m_valid(text_valid),
      .m_ready(text_taken));

  logic hmac;
  logic [511:0] key;
  wire digest_valid, digest_last;
  wire [63:0] digest_data;
  wire hash_taken, block;
  sha256_message u_message (
      .clk, .rst, .hmac, .key,
      .s_data(swap_word(text)), .s_keep(text_keep), .s_valid(text_valid && treat), .s_ready(hash_taken),
      .s_last(text_last), .m_data(digest_data), .m_valid(digest_valid), .m_ready(out_tready),
      .m_last(digest_last), .block);

  // A digest leaves before the next frame does, so the user bits of the frame it is of are kept.
  logic [1:0] digest_user;
  always_ff @(posedge clk) if (text_taken && text_valid) digest_user <= text_user;

  logic hashing;  // from the first beat of a text to the last of its digest
  wire pass = text_valid && !treat && !hashing;
  assign text_taken = treat ? hash_taken : out_tready && !hashing;
  assign out_tvalid = digest_valid || pass;
  assign out_tdata = digest_valid ? swap_word(digest_data) : text;
  assign out_tkeep = digest_valid ? 8'hff : text_keep;
  assign out_tlast = digest_valid ? digest_last : text_last;
  assign out_tuser = digest_valid ? digest_user : text_user;

  always_ff @(posedge clk) begin
    if (rst) hashing <= 1'b0;
    else if (text_valid && treat && hash_taken) hashing <= 1'b1;
    else if (digest_valid && out_tready && digest_last) hashing <= 1'b0;
  end

  // Registers.
  wire own_write;
  wire [15:0] own_addr;
  wire [31:0] own_wdata;
  logic [31:0] own_rdata, blocks;
  always_ff @(posedge clk) begin
    if (own_write && own_addr[15:6] == REG_KEY[15:6]) key[{~own_addr[5:2], 5'd0}+:32] <= swap_bytes(own_wdata);
    if (own_write && own_addr == REG_OPTIONS) hmac <= own_wdata[0];
    blocks <= blocks + 32'(block);
    if (rst || clear) blocks <= '0;
    if (rst) begin
      key  <= '0;
      hmac <= 1'b0;
    end
    own_rdata <= own_addr == REG_OPTIONS ? {31'd0, hmac} : own_addr == REG_BLOCKS ? blocks : 32'd0;
  end

  assign busy = in_tvalid || m_axis_tvalid || !store_empty || text_valid || hashing;

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing(1'b0),
      .frame_in(in_tvalid && in_tready && in_tlast), .frame_out(m_axis_tvalid && m_axis_tready && m_axis_tlast),
      .frame_oversize(oversize), .frame_drop(4'd0), .event_valid(1'b0), .event_words(256'd0),
      .table_start(), .table_operation(), .table_index(), .table_wdata(), .table_done(1'b0), .table_valid(1'b0),
      .table_full(1'b0), .table_rdata(256'd0), .table_in_use(16'd0),
      .own_write, .own_addr, .own_wdata, .own_rdata);

  wire unused = &{1'b0, tick_us};

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// Encrypts or decrypts frames with AES in counter mode (NIST SP 800-38A 6.5). A frame begins with a new counter block;
// what its last block leaves of the key stream is not used.
`default_nettype none

module nf_aes_ctr (
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

  `include "nf_aes_ctr_regs.svh"

  function automatic logic [31:0] swap_bytes(input logic [31:0] x);
    swap_bytes = {x[7:0], x[15:8], x[23:16], x[31:24]};
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

  // Every stored frame leaves; `treat` says whether through the cipher.
  wire enable, clear, store_empty, stored, oversize;
  logic [1:0] user;
  always_ff @(posedge clk) user <= in_tuser;

  wire [63:0] text;
  wire text_valid, treat, text_taken;
  wire [1:0] text_user;
  frame_store #(.VERDICT_W(3)) u_store (
      .clk, .rst,
      .s_tdata(in_tdata), .s_tkeep(in_tkeep), .s_tvalid(in_tvalid), .s_tready(in_tready),
      .s_tlast(in_tlast), .stored, .oversize,
      .verdict_valid(stored), .verdict_drop(1'b0), .verdict({enable, user}),
      .m_tdata(text), .m_tkeep(out_tkeep), .m_tvalid(text_valid), .m_tready(text_taken),
      .m_tlast(out_tlast), .m_verdict({treat, text_user}), .empty(store_empty));

  // Key stream: a block at a time, used in halves, the first on top.
  logic [255:0] key;
  logic [127:0] counter, stream;
  logic [1:0] halves;
  logic key_is_256;
  wire core_busy, core_done;
  wire [127:0] core_result;
  wire core_start = text_valid && treat && halves == 0 && !core_busy && !core_done;
  aes_core u_core (
      .clk, .rst, .start(core_start), .key_is_256, .key, .block(counter), .busy(core_busy), .done(core_done),
      .result(core_result));

  wire beat_out = out_tvalid && out_tready;
  always_ff @(posedge clk) begin
    if (rst) halves <= 2'd0;
    else if (core_done) halves <= 2'd2;
    else if (beat_out && treat) halves <= out_tlast ? 2'd0 : halves - 1'b1;
    if (core_done) stream <= core_result;
    else if (beat_out) stream <= stream << 64;
  end

  wire [63:0] mask = {swap_bytes(stream[95:64]), swap_bytes(stream[127:96])};
  assign out_tvalid = text_valid && (!treat || halves != 0);
  assign text_taken = out_tready && (!treat || halves != 0);
  assign out_tdata = treat ? text ^ mask : text;
  assign out_tuser = text_user;

  // Registers.
  wire own_write;
  wire [15:0] own_addr;
  wire [31:0] own_wdata;
  logic [31:0] own_rdata, blocks;
  wire key_space = own_addr[15:5] == REG_KEY[15:5];
  wire counter_space = own_addr[15:4] == REG_COUNTER[15:4];
  always_ff @(posedge clk) begin
    if (core_start) counter <= counter + 1'b1;
    if (own_write && counter_space) counter[{~own_addr[3:2], 5'd0}+:32] <= swap_bytes(own_wdata);
    if (own_write && key_space) key[{~own_addr[4:2], 5'd0}+:32] <= swap_bytes(own_wdata);
    if (own_write && own_addr == REG_OPTIONS) key_is_256 <= own_wdata[0];
    blocks <= blocks + 32'(core_start);
    if (rst || clear) blocks <= '0;
    if (rst) begin
      key        <= '0;
      counter    <= '0;
      key_is_256 <= 1'b0;
    end
    own_rdata <= counter_space ? swap_bytes(counter[{~own_addr[3:2], 5'd0}+:32]) :
                 own_addr == REG_OPTIONS ? {31'd0, key_is_256} :
                 own_addr == REG_BLOCKS ? blocks : 32'd0;
  end

  assign busy = in_tvalid || m_axis_tvalid || !store_empty || core_busy;

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

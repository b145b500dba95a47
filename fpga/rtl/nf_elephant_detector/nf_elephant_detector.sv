// SPDX-License-Identifier: Apache-2.0
// Elephant detector (fpga/README.md). Counts the IP bytes of a flow, both directions together; a window begins with the
// flow's first packet and, once WINDOW_MS have passed, with its next one. Malformed frames pass with class 0, uncounted.
`default_nettype none

module nf_elephant_detector #(
    parameter int US_PER_MS = 1000,  // less in simulation only
    parameter int MS_PER_S = 1000
) (
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

  `include "nf_elephant_detector_regs.svh"

  localparam logic [1:0] UNKNOWN = 2'd0, MOUSE = 2'd1, ELEPHANT = 2'd2;

  wire         enable, clear, clearing, empty, own_write, tick_s;
  wire  [15:0] own_addr, now_s;
  wire  [31:0] own_wdata, now_ms;
  logic [31:0] threshold_bytes, window_ms;
  logic [15:0] idle_timeout_s;

  timebase #(.US_PER_MS(US_PER_MS), .MS_PER_S(MS_PER_S)) u_time (.clk, .rst, .tick_us, .now_ms, .now_s, .tick_s);

  wire         hdr_valid, hdr_is_ipv4, hdr_malformed;
  wire  [ 1:0] hdr_user;
  wire  [ 7:0] hdr_protocol;
  wire  [31:0] hdr_src_ip, hdr_dst_ip;
  wire  [15:0] hdr_src_port, hdr_dst_port, hdr_ip_bytes;
  wire         frame_in, frame_out, frame_oversize;
  logic        decided;
  logic [ 1:0] frame_class;
  wire  [ 1:0] out_user, out_class;
  assign m_axis_tuser = {6'd0, out_class, 2'b00, out_user};

  frame_path #(.VERDICT_W(4)) u_path (
      .clk, .rst, .s_axis_tdata, .s_axis_tkeep, .s_axis_tvalid, .s_axis_tready, .s_axis_tlast, .s_axis_tuser,
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast,
      .m_axis_tuser({out_class, out_user}),
      .hdr_valid, .hdr_take(decided), .hdr_user, .hdr_is_ipv4, .hdr_malformed, .hdr_vlan(), .hdr_later_fragment(),
      .hdr_transport(),
      .hdr_protocol, .hdr_ip_bytes, .hdr_ip_checksum(), .hdr_src_ip, .hdr_dst_ip, .hdr_src_port, .hdr_dst_port,
      .hdr_tcp_flags(), .hdr_icmp_type(), .hdr_icmp_id(), .hdr_transport_checksum(), .hdr_l4_offset(),
      .verdict_valid(decided), .verdict_drop(1'b0), .verdict({frame_class, hdr_user}),
      .frame_in, .frame_oversize, .frame_out, .empty);

  wire [103:0] flow_key = hdr_user[0] ?
      {hdr_dst_ip, hdr_src_ip, hdr_dst_port, hdr_src_port, hdr_protocol} :
      {hdr_src_ip, hdr_dst_ip, hdr_src_port, hdr_dst_port, hdr_protocol};

  // Decision: wait for headers; search; add; compare; write. A flow's value is {elephant, window start ms, bytes}.
  localparam logic [4:0] WAIT = 5'd1, SEARCH = 5'd2, ADD = 5'd4, COMPARE = 5'd8, WRITE = 5'd16;
  logic [ 4:0] state;
  wire         find_ready, found, hit;
  wire  [64:0] value;
  logic        searching, known, was_elephant, window_over, is_elephant;
  logic [31:0] start_ms, age_ms, old_bytes, bytes, grown_bytes;
  logic        saturates;
  wire  [31:0] bytes_now = window_over && !was_elephant ? 32'(hdr_ip_bytes) :
                           saturates ? 32'hffffffff : grown_bytes;
  wire         counts = enable && hdr_is_ipv4 && !hdr_malformed;
  wire         commit = state == WRITE;
  wire         becomes = commit && is_elephant && !was_elephant;

  always_ff @(posedge clk) begin
    decided <= 1'b0;
    if (state == WAIT || rst || clear) searching <= 1'b0;
    else if (find_ready) searching <= 1'b1;
    if (rst || clear) begin
      state <= WAIT;
    end else begin
      case (state)
        WAIT: if (hdr_valid && !decided) begin
          frame_class <= UNKNOWN;
          decided     <= !counts;
          if (counts) state <= SEARCH;
        end
        SEARCH: if (found) begin
          known                               <= hit;
          {was_elephant, start_ms, old_bytes} <= hit ? value : 65'd0;
          age_ms                              <= now_ms - value[63:32];
          state                               <= ADD;
        end
        ADD: begin
          window_over              <= !known || age_ms >= window_ms;
          {saturates, grown_bytes} <= {1'b0, old_bytes} + 33'(hdr_ip_bytes);
          state                    <= COMPARE;
        end
        COMPARE: begin
          if (window_over && !was_elephant) {start_ms, age_ms} <= {now_ms, 32'd0};
          is_elephant <= was_elephant || bytes_now >= threshold_bytes;
          bytes       <= bytes_now;
          state       <= WRITE;
        end
        default: begin
          decided     <= 1'b1;
          frame_class <= is_elephant ? ELEPHANT : MOUSE;
          state       <= WAIT;
        end
      endcase
    end
  end

  wire         table_start, host_done, host_valid, host_full;
  wire  [ 3:0] table_operation;
  wire  [27:0] table_index;
  wire [255:0] table_wdata;
  wire [103:0] found_key;
  logic [103:0] entry_key;
  wire  [15:0] entry_idle_s;
  wire  [12:0] in_use;
  logic [31:0] host_start_ms, entry_age_ms;
  always_ff @(posedge clk) begin
    host_start_ms <= now_ms - table_wdata[191:160];
    entry_key     <= found_key;
    entry_age_ms  <= now_ms - value[63:32];
  end
  logic host_start, done, done_valid, done_full;  // a cycle later, as the ages are
  always_ff @(posedge clk) begin
    host_start                    <= table_start && !rst;
    {done, done_valid, done_full} <= {host_done && !rst, host_valid, host_full};
  end
  flow_table #(.KEY_W(104), .VALUE_W(65), .REPLACE(1'b1)) u_flows (
      .clk, .rst, .clear, .clearing, .now_s, .tick_s, .idle_timeout_s,
      .transitory_timeout_s(16'd0), .hash_key('0), .evicted(),
      .find_valid(state == SEARCH && !searching), .find_ready, .find_key(flow_key),
      .found, .hit, .room(), .value, .commit, .commit_put(1'b1), .commit_delete(1'b0),
      .commit_value({is_elephant, start_ms, bytes}),
      .host_start, .host_operation(table_operation), .host_index(table_index[11:0]),
      .host_key({table_wdata[31:0], table_wdata[63:32], table_wdata[95:64], table_wdata[103:96]}),
      .host_value({table_wdata[192], host_start_ms, table_wdata[159:128]}), .host_idle_s(table_wdata[239:224]),
      .host_done, .host_valid, .host_full, .host_entry_key(found_key), .host_entry_idle_s(entry_idle_s), .in_use);

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION), .HAS_TABLE(1'b1)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing, .frame_in, .frame_out, .frame_oversize, .frame_drop(4'd0),
      .event_valid(becomes),
      .event_words({32'd0, age_ms, bytes, 24'd0, flow_key[7:0], flow_key[39:8], flow_key[71:40], flow_key[103:72],
                    EVENT_ELEPHANT}),
      .table_start, .table_operation, .table_index, .table_wdata, .table_done(done), .table_valid(done_valid),
      .table_full(done_full),
      .table_rdata({16'd0, entry_idle_s, 31'd0, value[64], entry_age_ms, value[31:0], 24'd0, entry_key[7:0],
                    entry_key[39:8], entry_key[71:40], entry_key[103:72]}),
      .table_in_use({3'd0, in_use}), .own_write, .own_addr, .own_wdata, .own_rdata);

  logic [31:0] own_rdata, elephants;
  always_ff @(posedge clk) begin
    if (rst) begin
      threshold_bytes <= REG_THRESHOLD_BYTES_RESET;
      window_ms       <= REG_WINDOW_MS_RESET;
      idle_timeout_s  <= REG_IDLE_TIMEOUT_S_RESET[15:0];
    end else if (own_write) begin
      if (own_addr == REG_THRESHOLD_BYTES) threshold_bytes <= own_wdata;
      if (own_addr == REG_WINDOW_MS) window_ms <= own_wdata;
      if (own_addr == REG_IDLE_TIMEOUT_S) idle_timeout_s <= own_wdata[15:0];
    end
    elephants <= rst || clear ? 32'd0 : elephants + 32'(becomes);
    case (own_addr)
      REG_THRESHOLD_BYTES: own_rdata <= threshold_bytes;
      REG_WINDOW_MS:       own_rdata <= window_ms;
      REG_IDLE_TIMEOUT_S:  own_rdata <= {16'd0, idle_timeout_s};
      REG_ELEPHANTS:       own_rdata <= elephants;
      default:             own_rdata <= 32'd0;
    endcase
  end

  assign busy = !empty || clearing;
  wire unused = &{1'b0, table_index[27:12], table_wdata[255:240], table_wdata[223:193], table_wdata[127:104]};

endmodule

`default_nettype wire

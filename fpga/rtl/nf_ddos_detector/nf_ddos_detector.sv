// SPDX-License-Identifier: Apache-2.0
// Finds destinations that receive far more SYNs than the others, and marks or drops the SYNs to them.
`default_nettype none

module nf_ddos_detector #(
    parameter int US_PER_MS = 1000  // less in simulation only
) (
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

  `include "nf_ddos_detector_regs.svh"

  localparam logic [7:0] TCP = 8'd6;
  localparam logic [7:0] CLASS_NONE = 8'd0, CLASS_NORMAL = 8'd1, CLASS_ATTACK = 8'd2;

  // Frames. A clear holds their headers; a window's walk does not.
  wire clearing, ready, frames_empty, frame_in, frame_out, frame_oversize;
  wire hdr_valid, hdr_is_ipv4, hdr_transport;
  wire [1:0] hdr_user;
  wire [7:0] hdr_protocol;
  wire [31:0] hdr_dst_ip;
  wire [5:0] hdr_tcp_flags;
  wire enable, clear;
  wire has_syn = hdr_tcp_flags[1], has_ack = hdr_tcp_flags[4];
  wire counts = enable && hdr_transport && hdr_protocol == TCP && has_syn != has_ack;
  wire hdr_take = hdr_valid && !clearing && (ready || !counts);

  wire verdict_valid, verdict_drop;
  wire [9:0] verdict;
  wire [9:0] out_verdict;
  assign m_axis_tuser = {out_verdict[9:2], 2'b00, out_verdict[1:0]};
  frame_path #(.VERDICT_W(10)) u_path (
      .clk, .rst, .s_axis_tdata, .s_axis_tkeep, .s_axis_tvalid, .s_axis_tready, .s_axis_tlast, .s_axis_tuser,
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast, .m_axis_tuser(out_verdict),
      .hdr_valid, .hdr_take, .hdr_user, .hdr_is_ipv4, .hdr_malformed(), .hdr_vlan(), .hdr_later_fragment(),
      .hdr_transport,
      .hdr_protocol, .hdr_ip_bytes(), .hdr_ip_checksum(), .hdr_src_ip(), .hdr_dst_ip, .hdr_src_port(),
      .hdr_dst_port(), .hdr_tcp_flags, .hdr_icmp_type(), .hdr_icmp_id(), .hdr_transport_checksum(),
      .hdr_l4_offset(), .verdict_valid, .verdict_drop, .verdict, .frame_in, .frame_oversize, .frame_out,
      .empty(frames_empty));

  // Verdicts, five cycles behind the headers, as are the counters' answers.
  logic drop_attacks;
  wire flagged;
  logic [5:1] frame, treated;
  logic [1:0] user [1:5];
  always_ff @(posedge clk) begin
    frame   <= rst ? 5'd0 : {frame[4:1], hdr_take};
    treated <= {treated[4:1], enable && hdr_is_ipv4};
    user[1] <= hdr_user;
    for (int i = 2; i <= 5; i++) user[i] <= user[i-1];
  end

  assign verdict_valid = frame[5];
  assign verdict_drop = flagged && drop_attacks;
  assign verdict = {flagged ? CLASS_ATTACK : treated[5] ? CLASS_NORMAL : CLASS_NONE, user[5]};

  // Windows: all counters are gathered, the limit is worked out, all counters are judged.
  logic [ 9:0] microsecond;
  logic [15:0] millisecond, window_ms;
  logic window_due, threshold_start, judge;
  wire  walking, walk_done, threshold_done;
  wire  gather = window_due && !window_busy;
  logic window_busy, gathered;
  wire  ms_end = microsecond == 10'(US_PER_MS - 1);
  wire  window_end = tick_us && ms_end && millisecond + 1'b1 >= window_ms;
  always_ff @(posedge clk) begin
    if (rst || clear || !enable) begin
      microsecond <= '0;
      millisecond <= '0;
      window_due  <= 1'b0;
    end else begin
      if (tick_us) microsecond <= ms_end ? '0 : microsecond + 1'b1;
      if (tick_us && ms_end) millisecond <= window_end ? '0 : millisecond + 1'b1;
      if (window_end) window_due <= 1'b1;
      else if (gather) window_due <= 1'b0;
    end
    if (rst || clear) begin
      {window_busy, gathered, threshold_start, judge} <= 4'b0000;
    end else begin
      threshold_start <= walk_done && window_busy && !gathered;
      judge <= threshold_done;
      if (gather) {window_busy, gathered} <= 2'b10;
      else if (walk_done && window_busy) {window_busy, gathered} <= {!gathered, 1'b1};
    end
  end

  logic [15:0] minimum;
  logic [ 7:0] quarters;
  wire [10:0] counters;
  wire [25:0] sum;
  wire [41:0] squares;
  wire [15:0] threshold, mean;
  ddos_threshold u_threshold (
      .clk, .rst(rst || clear), .start(threshold_start), .counters, .sum, .squares, .quarters,
      .done(threshold_done), .threshold, .mean);

  logic [16:0] limit;
  always_ff @(posedge clk) limit <= threshold >= minimum ? {1'b0, threshold} + 17'd1 : {1'b0, minimum};

  wire table_start, table_done, table_valid;
  wire [3:0] table_operation;
  wire [27:0] table_index;
  wire [255:0] table_wdata;
  wire [127:0] table_rdata;
  wire change, change_flagged;
  wire [31:0] change_address;
  wire [15:0] change_count;
  wire [10:0] flags_set;
  ddos_counters u_counters (
      .clk, .rst, .ready, .access(hdr_take && counts), .raise(has_syn), .address(hdr_dst_ip), .flagged,
      .clear, .gather, .judge, .window_busy, .clearing, .walking, .walk_done, .counters, .sum, .squares,
      .limit, .change, .change_flagged, .change_address, .change_count, .flags_set,
      .table_start, .table_operation, .table_index(table_index[9:0]), .table_wdata(table_wdata[127:0]), .table_done,
      .table_valid, .table_rdata);

  // Registers.
  wire own_write;
  wire [15:0] own_addr;
  wire [31:0] own_wdata;
  wire unused = &{1'b0, own_wdata[31:16], table_index[27:10], table_wdata[255:128], hdr_tcp_flags[5], hdr_tcp_flags[3:2],
                   hdr_tcp_flags[0]};
  logic [31:0] own_rdata, windows, window_counters, window_sum;
  always_ff @(posedge clk) begin
    if (rst) begin
      drop_attacks <= 1'b0;
      window_ms    <= REG_WINDOW_MS_RESET[15:0];
      minimum      <= REG_MINIMUM_RESET[15:0];
      quarters     <= REG_DEVIATIONS_RESET[7:0];
    end else if (own_write) begin
      case (own_addr)
        REG_OPTIONS:    drop_attacks <= own_wdata[0];
        REG_WINDOW_MS:  window_ms <= own_wdata[15:0];
        REG_MINIMUM:    minimum <= own_wdata[15:0];
        REG_DEVIATIONS: quarters <= own_wdata[7:0];
        default: ;
      endcase
    end
    if (rst || clear) begin
      {windows, window_counters, window_sum} <= '0;
    end else begin
      if (threshold_done) {window_counters, window_sum} <= {21'd0, counters, 6'd0, sum};
      if (walk_done && window_busy && gathered) windows <= windows + 1'b1;
    end
    case (own_addr)
      REG_OPTIONS:    own_rdata <= {31'd0, drop_attacks};
      REG_WINDOW_MS:  own_rdata <= {16'd0, window_ms};
      REG_MINIMUM:    own_rdata <= {16'd0, minimum};
      REG_DEVIATIONS: own_rdata <= {24'd0, quarters};
      REG_WINDOWS:    own_rdata <= windows;
      REG_COUNTERS:   own_rdata <= window_counters;
      REG_SUM:        own_rdata <= window_sum;
      REG_THRESHOLD:  own_rdata <= {16'd0, threshold};
      REG_FLAGGED:    own_rdata <= {21'd0, flags_set};
      default:        own_rdata <= 32'd0;
    endcase
  end

  assign busy = !frames_empty || walking || window_busy || window_due;

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION), .HAS_TABLE(1'b1)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing,
      .frame_in, .frame_out, .frame_oversize, .frame_drop({3'd0, verdict_drop}), .event_valid(change),
      .event_words({128'd0, 16'd0, mean, 16'd0, change_count, change_address,
                    change_flagged ? EVENT_FLAGGED : EVENT_CLEARED}),
      .table_start, .table_operation, .table_index, .table_wdata, .table_done, .table_valid, .table_full(1'b0),
      .table_rdata({128'd0, table_rdata}), .table_in_use({5'd0, counters}),
      .own_write, .own_addr, .own_wdata, .own_rdata);

endmodule

`default_nettype wire

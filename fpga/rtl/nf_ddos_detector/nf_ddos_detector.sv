// SPDX-License-Identifier: Apache-2.0
// Finds destinations that receive far more SYNs than the others, and marks or drops the SYNs to them.
`default_nettype none

module nf_ddos_detector (
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

  // Frames in, to the store and the parser. A clear holds them; a window's walk does not.
  wire clearing, store_ready, store_empty, oversize;
  wire take = s_axis_tvalid && s_axis_tready;
  assign s_axis_tready = store_ready && !clearing;

  wire verdict_valid, verdict_drop;
  wire [11:0] verdict;
  frame_store u_store (
      .clk, .rst,
      .s_tdata(s_axis_tdata), .s_tkeep(s_axis_tkeep), .s_tvalid(s_axis_tvalid && !clearing), .s_tready(store_ready),
      .s_tlast(s_axis_tlast), .stored(), .oversize, .verdict_valid, .verdict_drop, .verdict,
      .m_tdata(m_axis_tdata), .m_tkeep(m_axis_tkeep), .m_tvalid(m_axis_tvalid), .m_tready(m_axis_tready),
      .m_tlast(m_axis_tlast), .m_verdict(m_axis_tuser), .empty(store_empty));

  wire parsed, parsed_oversize, is_ipv4, transport;
  wire [7:0] protocol;
  wire [31:0] dst_ip;
  wire [5:0] tcp_flags;
  hdr_parse u_parse (
      .clk, .rst, .beat(take), .tdata(s_axis_tdata), .tkeep(s_axis_tkeep), .tlast(s_axis_tlast),
      .valid(parsed), .oversize(parsed_oversize), .is_ipv4, .malformed(), .later_fragment(), .transport, .protocol,
      .ip_bytes(), .ip_checksum(), .src_ip(), .dst_ip, .src_port(), .dst_port(), .tcp_flags, .icmp_type(), .icmp_id(),
      .transport_checksum(), .l4_offset(), .payload_offset(), .payload_bytes());

  // The user bits of the frame that `parsed` is about.
  logic [1:0] user_1, user_2;
  always_ff @(posedge clk) {user_2, user_1} <= {user_1, s_axis_tuser};

  // Verdicts, five cycles behind the parser, as are the counters' answers.
  wire enable, clear;
  logic drop_attacks;
  wire has_syn = tcp_flags[1], has_ack = tcp_flags[4];
  wire counts = enable && parsed && !parsed_oversize && transport && protocol == TCP && has_syn != has_ack;
  wire flagged;
  logic [5:1] frame, treated, syn;
  logic [1:0] user [1:5];
  always_ff @(posedge clk) begin
    frame   <= rst ? 5'd0 : {frame[4:1], parsed && !parsed_oversize};
    treated <= {treated[4:1], enable && is_ipv4};
    syn     <= {syn[4:1], counts && has_syn};
    user[1] <= user_2;
    for (int i = 2; i <= 5; i++) user[i] <= user[i-1];
  end

  wire attack = frame[5] && syn[5] && flagged;
  assign verdict_valid = frame[5];
  assign verdict_drop = attack && drop_attacks;
  assign verdict = {attack ? CLASS_ATTACK : treated[5] ? CLASS_NORMAL : CLASS_NONE, 2'b00, user[5]};

  // Windows: all counters are gathered, the limit is worked out, all counters are judged.
  logic [ 9:0] microsecond;
  logic [15:0] millisecond, window_ms;
  logic window_due, threshold_start, judge;
  wire  walking, walk_done, threshold_done;
  wire  gather = window_due && !window_busy;
  logic window_busy, gathered;
  wire  ms_end = microsecond == 10'd999;
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

  wire change, change_flagged;
  wire [31:0] change_address;
  wire [15:0] change_count;
  wire [10:0] flags_set;
  ddos_counters u_counters (
      .clk, .rst, .access(counts), .raise(has_syn), .address(dst_ip), .flagged,
      .clear, .gather, .judge, .clearing, .walking, .walk_done, .counters, .sum, .squares,
      .limit, .change, .change_flagged, .change_address, .change_count, .flags_set);

  // Registers.
  wire own_write;
  wire [15:0] own_addr;
  wire [31:0] own_wdata;
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

  assign busy = !store_empty || walking || window_busy || window_due;

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing,
      .frame_in(take && s_axis_tlast), .frame_out(m_axis_tvalid && m_axis_tready && m_axis_tlast),
      .frame_oversize(oversize), .frame_drop({3'd0, verdict_drop}), .event_valid(change),
      .event_words({128'd0, 16'd0, mean, 16'd0, change_count, change_address,
                    change_flagged ? EVENT_FLAGGED : EVENT_CLEARED}),
      .table_start(), .table_operation(), .table_index(), .table_wdata(), .table_done(1'b0), .table_valid(1'b0),
      .table_full(1'b0), .table_rdata(256'd0), .table_in_use(16'd0),
      .own_write, .own_addr, .own_wdata, .own_rdata);

endmodule

`default_nettype wire

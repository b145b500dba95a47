// SPDX-License-Identifier: Apache-2.0
// Stateful firewall (fpga/README.md; HYPER VII-B). Rules see a packet's own addresses in both directions; a connection
// is known under the addresses of its forward packets. A TCP fragment behind the first has no flags: rules alone decide.
// The state table's next state is taken whether or not the packet is dropped, but a dropped packet makes no entry.
`default_nettype none

module nf_stateful_firewall #(
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

  `include "nf_stateful_firewall_regs.svh"

  localparam logic [7:0] TCP = 8'd6;
  localparam logic [1:0] NONE = 2'd0;

  wire         enable, clear, clearing, empty;
  wire  [15:0] own_addr, now_s;
  wire  [31:0] own_wdata;
  wire         own_write, tick_s;

  timebase #(.US_PER_MS(US_PER_MS), .MS_PER_S(MS_PER_S)) u_time (.clk, .rst, .tick_us, .now_ms(), .now_s, .tick_s);

  // Headers of the frame to decide on.
  wire         hdr_valid, hdr_is_ipv4, hdr_malformed, hdr_transport;
  wire  [ 1:0] hdr_user;
  wire  [ 7:0] hdr_protocol;
  wire  [31:0] hdr_src_ip, hdr_dst_ip;
  wire  [15:0] hdr_src_port, hdr_dst_port;
  wire  [ 5:0] hdr_tcp_flags;
  wire         frame_in, frame_out, frame_oversize;
  logic        decided, verdict_drop;
  logic [ 1:0] drop_reason;
  wire  [ 1:0] out_user;
  assign m_axis_tuser = {10'd0, out_user};

  frame_path #(.VERDICT_W(2)) u_path (
      .clk, .rst, .s_axis_tdata, .s_axis_tkeep, .s_axis_tvalid, .s_axis_tready, .s_axis_tlast, .s_axis_tuser,
      .m_axis_tdata, .m_axis_tkeep, .m_axis_tvalid, .m_axis_tready, .m_axis_tlast, .m_axis_tuser(out_user),
      .hdr_valid, .hdr_take(decided), .hdr_user, .hdr_is_ipv4, .hdr_malformed, .hdr_vlan(), .hdr_later_fragment(),
      .hdr_transport,
      .hdr_protocol, .hdr_ip_bytes(), .hdr_ip_checksum(), .hdr_src_ip, .hdr_dst_ip, .hdr_src_port, .hdr_dst_port,
      .hdr_tcp_flags, .hdr_icmp_type(), .hdr_icmp_id(), .hdr_transport_checksum(), .hdr_l4_offset(),
      .verdict_valid(decided), .verdict_drop, .verdict(hdr_user), .frame_in, .frame_oversize, .frame_out, .empty);

  // The answer to a SYN is a SYN too: it does not establish a connection that somebody else's forged SYN opened.
  wire [1:0] packet_event = hdr_tcp_flags[2] ? 2'd3 : hdr_tcp_flags[0] ? 2'd2 :
                            hdr_tcp_flags[1] && (known || !hdr_tcp_flags[4]) ? 2'd0 : 2'd1;
  wire [103:0] flow_key = hdr_user[0] ?
      {hdr_dst_ip, hdr_src_ip, hdr_dst_port, hdr_src_port, hdr_protocol} :
      {hdr_src_ip, hdr_dst_ip, hdr_src_port, hdr_dst_port, hdr_protocol};
  wire by_rules = enable && hdr_is_ipv4 && !hdr_malformed;
  wire by_state = by_rules && hdr_transport && hdr_protocol == TCP;

  // Decision: wait for headers; search; look up the transition; wait for the rules where they count.
  localparam logic [4:0] WAIT = 5'd1, SEARCH = 5'd2, FOUND = 5'd4, TRANSIT = 5'd8, RULES = 5'd16;
  logic [ 4:0] state;
  logic        tracks;  // the frame at hand belongs to a connection
  logic        known, next_drop;
  logic [ 1:0] flow_state, next_state;
  wire         rules_done, rules_allow;
  wire         find_ready, found, hit, room;
  wire  [ 1:0] value;
  wire         start = state == WAIT && hdr_valid && !decided;
  wire         judged = state == RULES && rules_done;
  wire         tracked = judged && tracks;
  wire         creates = tracked && rules_allow && next_state != NONE && room;
  wire         transits = state == TRANSIT && known;
  wire         refuses = state == TRANSIT && !known && next_drop;
  wire         commit = transits || refuses || tracked;

  always_ff @(posedge clk) begin
    decided      <= 1'b0;
    verdict_drop <= 1'b0;
    if (rst || clear) begin
      state <= WAIT;
    end else begin
      case (state)
        WAIT: if (start) begin
          tracks <= by_state;
          if (by_rules) begin
            state <= by_state ? SEARCH : RULES;
          end else begin
            decided      <= 1'b1;
            verdict_drop <= enable && hdr_malformed;
            drop_reason  <= 2'(DROP_MALFORMED);
          end
        end
        SEARCH: if (found) begin
          known      <= hit && value != NONE;
          flow_state <= hit ? value : NONE;
          state      <= FOUND;
        end
        FOUND: begin
          {next_drop, next_state} <= transition;
          state                   <= TRANSIT;
        end
        TRANSIT: begin
          decided      <= known || next_drop;
          verdict_drop <= next_drop;
          drop_reason  <= 2'(DROP_NO_STATE);
          state        <= known || next_drop ? WAIT : RULES;
        end
        default: if (judged) begin
          decided      <= 1'b1;
          verdict_drop <= !rules_allow || (tracks && next_state != NONE && !room);
          drop_reason  <= rules_allow ? 2'(DROP_TABLE_FULL) : 2'(DROP_DENIED);
          state        <= WAIT;
        end
      endcase
    end
  end

  fw_rules u_rules (
      .clk, .rst, .write(own_write && own_addr[15:9] == 7'd1), .write_rule(own_addr[8:5]),
      .write_word(own_addr[4:2]), .wdata(own_wdata), .default_allow,
      .start(start && by_rules), .src_ip(hdr_src_ip), .dst_ip(hdr_dst_ip), .protocol(hdr_protocol),
      .dst_port(hdr_dst_port), .done(rules_done), .allow(rules_allow));

  logic searching;  // the search has been taken
  always_ff @(posedge clk) begin
    if (state != SEARCH || rst || clear) searching <= 1'b0;
    else if (find_ready) searching <= 1'b1;
  end

  wire         table_start, host_done, host_valid, host_full;
  wire  [ 3:0] table_operation;
  wire  [27:0] table_index;
  wire [255:0] table_wdata;
  wire [103:0] entry_key;
  wire  [15:0] entry_idle_s;
  wire  [12:0] in_use;
  wire         evicted;
  logic [15:0] idle_timeout_s, transitory_timeout_s;
  logic [127:0] hash_key;
  // OPENING and CLOSING are the states with bit 0 set.
  flow_table #(.KEY_W(104), .VALUE_W(2), .TRANSITORY(1'b1), .KEYED(1'b1)) u_flows (
      .clk, .rst, .clear, .clearing, .now_s, .tick_s, .idle_timeout_s, .transitory_timeout_s,
      .hash_key(hash_key[112:0]), .evicted,
      .find_valid(state == SEARCH && !searching), .find_ready, .find_key(flow_key),
      .found, .hit, .room, .value, .commit, .commit_put((transits && next_state != NONE) || creates),
      .commit_delete(transits && next_state == NONE), .commit_value(next_state),
      .host_start(table_start), .host_operation(table_operation), .host_index(table_index[11:0]),
      .host_key({table_wdata[31:0], table_wdata[63:32], table_wdata[95:64], table_wdata[103:96]}),
      .host_value(table_wdata[129:128]), .host_idle_s(table_wdata[239:224]),
      .host_done, .host_valid, .host_full, .host_entry_key(entry_key), .host_entry_idle_s(entry_idle_s), .in_use);

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION), .HAS_TABLE(1'b1)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing, .frame_in, .frame_out, .frame_oversize,
      .frame_drop(decided && verdict_drop ? 4'd1 << drop_reason : 4'd0),
      .event_valid(1'b0), .event_words(256'd0),
      .table_start, .table_operation, .table_index, .table_wdata, .table_done(host_done), .table_valid(host_valid),
      .table_full(host_full),
      .table_rdata({16'd0, entry_idle_s, 64'd0, 30'd0, value, 24'd0, entry_key[7:0], entry_key[39:8],
                    entry_key[71:40], entry_key[103:72]}),
      .table_in_use({3'd0, in_use}), .own_write, .own_addr, .own_wdata, .own_rdata);

  // Registers. A transition is {drop, next state} in four bits, at {state, event}.
  localparam logic [63:0] DEFAULT_TRANSITIONS = {
      16'h0331,   // closing: RST, FIN, other, SYN
      16'h0322,   // established
      16'h0321,   // opening
      16'h4441};  // none
  // Of the specification of receive-side scaling; the driver writes a random one.
  localparam logic [127:0] DEFAULT_HASH_KEY = 128'h6d5a56da_255b0ec2_4167253d_43a38fb0;
  logic [63:0] transitions;
  logic        default_allow;
  logic [31:0] own_rdata, evictions;
  wire  [ 2:0] transition = transitions[{flow_state, packet_event, 2'b00}+:3];
  wire  [ 2:0] own_transition = transitions[{own_addr[5:2], 2'b00}+:3];
  wire         own_is_transition = own_addr[15:6] == REG_STATE_TABLE[15:6];
  always_ff @(posedge clk) begin
    if (rst) begin
      transitions    <= DEFAULT_TRANSITIONS;
      default_allow  <= REG_DEFAULT_ACTION_RESET[0];
      idle_timeout_s <= REG_IDLE_TIMEOUT_S_RESET[15:0];
      transitory_timeout_s <= REG_TRANSITORY_TIMEOUT_S_RESET[15:0];
      hash_key       <= DEFAULT_HASH_KEY;
    end else if (own_write) begin
      if (own_addr == REG_DEFAULT_ACTION) default_allow <= own_wdata[0];
      if (own_addr == REG_IDLE_TIMEOUT_S) idle_timeout_s <= own_wdata[15:0];
      if (own_addr == REG_TRANSITORY_TIMEOUT_S) transitory_timeout_s <= own_wdata[15:0];
      if (own_addr[15:4] == REG_HASH_KEY[15:4]) hash_key[{own_addr[3:2], 5'd0}+:32] <= own_wdata;
      if (own_is_transition) transitions[{own_addr[5:2], 2'b00}+:4] <= {1'b0, own_wdata[2:0]};
    end
    evictions <= rst || clear ? 32'd0 : evictions + 32'(evicted);
    own_rdata <= own_is_transition ? 32'(own_transition) : own_addr == REG_DEFAULT_ACTION ? 32'(default_allow) :
                 own_addr == REG_IDLE_TIMEOUT_S ? 32'(idle_timeout_s) :
                 own_addr == REG_TRANSITORY_TIMEOUT_S ? 32'(transitory_timeout_s) :
                 own_addr == REG_EVICTIONS ? evictions : 32'd0;
  end

  assign busy = !empty || clearing;
  wire unused = &{1'b0, hdr_tcp_flags[5], hdr_tcp_flags[3], hash_key[127:113], table_index[27:12], table_wdata[255:240],
                  table_wdata[223:130], table_wdata[127:104]};

endmodule

`default_nettype wire

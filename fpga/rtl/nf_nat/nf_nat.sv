// SPDX-License-Identifier: Apache-2.0
// Source NAT (fpga/README.md; semantics of agents/nfs/nat with the translations given by the host). A mapping is
// of an inside end (address, port or echo identifier, protocol), whatever the destination (RFC 4787 4.1). Translated are
// TCP, UDP, echo requests forward and echo replies on return; other IPv4 is `unsupported`, ICMP errors too.
// A frame that waited and still finds no translation is dropped, after which its flow asks again. Frames that wait are
// lost with the module.
`default_nettype none

module nf_nat #(
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

  `include "nf_nat_regs.svh"

  localparam logic [7:0] ICMP = 8'd1, TCP = 8'd6, UDP = 8'd17, ECHO_REQUEST = 8'd8, ECHO_REPLY = 8'd0;

  wire         enable, clear, clearing, empty, own_write, tick_s;
  wire  [15:0] own_addr, now_s;
  wire  [31:0] own_wdata, now_ms;
  timebase #(.US_PER_MS(US_PER_MS), .MS_PER_S(MS_PER_S)) u_time (.clk, .rst, .tick_us, .now_ms, .now_s, .tick_s);

  // In: frames that waited go first. `user` is {slot, played back, host, direction}.
  wire  [72:0] played_beat;
  wire  [ 4:0] played_user;
  wire         playing, played_valid, path_ready;
  logic        in_frame, in_played;
  wire         from_buffer = in_frame ? in_played : playing;
  wire         path_valid = from_buffer ? played_valid : s_axis_tvalid;
  wire  [72:0] path_beat = from_buffer ? played_beat : {s_axis_tlast, s_axis_tkeep, s_axis_tdata};
  wire  [ 5:0] path_user = from_buffer ? {played_user[4:2], 1'b1, played_user[1:0]} : {4'd0, s_axis_tuser};
  assign s_axis_tready = path_ready && !from_buffer;
  always_ff @(posedge clk) begin
    if (rst) in_frame <= 1'b0;
    else if (path_valid && path_ready) {in_frame, in_played} <= {!path_beat[72], from_buffer};
  end

  // What leaves the path with its frame.
  localparam int VERDICT_W = 117;
  wire [VERDICT_W-1:0] verdict, leaving;
  wire         hdr_valid, hdr_is_ipv4, hdr_malformed, hdr_vlan, hdr_transport;
  wire  [ 5:0] hdr_user;
  wire  [ 7:0] hdr_protocol, hdr_icmp_type;
  wire  [31:0] hdr_src_ip, hdr_dst_ip;
  wire  [15:0] hdr_src_port, hdr_dst_port, hdr_icmp_id, hdr_ip_checksum, hdr_transport_checksum;
  wire  [ 6:0] hdr_l4_offset;
  wire         frame_oversize, out_valid, out_ready, out_last;
  wire  [63:0] out_data;
  wire  [ 7:0] out_keep;
  logic        decided, verdict_drop;
  logic [ 1:0] drop_reason;
  frame_path #(.USER_W(6), .VERDICT_W(VERDICT_W)) u_path (
      .clk, .rst, .s_axis_tdata(path_beat[63:0]), .s_axis_tkeep(path_beat[71:64]), .s_axis_tvalid(path_valid),
      .s_axis_tready(path_ready), .s_axis_tlast(path_beat[72]), .s_axis_tuser(path_user),
      .m_axis_tdata(out_data), .m_axis_tkeep(out_keep), .m_axis_tvalid(out_valid), .m_axis_tready(out_ready),
      .m_axis_tlast(out_last), .m_axis_tuser(leaving),
      .hdr_valid, .hdr_take(decided), .hdr_user, .hdr_is_ipv4, .hdr_malformed, .hdr_vlan, .hdr_later_fragment(),
      .hdr_transport, .hdr_protocol, .hdr_ip_bytes(), .hdr_ip_checksum, .hdr_src_ip, .hdr_dst_ip, .hdr_src_port, .hdr_dst_port,
      .hdr_tcp_flags(), .hdr_icmp_type, .hdr_icmp_id, .hdr_transport_checksum, .hdr_l4_offset,
      .verdict_valid(decided), .verdict_drop, .verdict, .frame_in(), .frame_oversize, .frame_out(), .empty);

  // What kind of frame it is.
  wire is_return = hdr_user[0];
  wire was_played = hdr_user[2];
  wire is_icmp = hdr_protocol == ICMP;
  wire passes = !enable || (!hdr_is_ipv4 && !hdr_malformed);
  wire translates = hdr_transport && (!is_icmp || hdr_icmp_type == (is_return ? ECHO_REPLY : ECHO_REQUEST));
  wire [31:0] old_address = is_return ? hdr_dst_ip : hdr_src_ip;
  wire [15:0] old_port = is_icmp ? hdr_icmp_id : is_return ? hdr_dst_port : hdr_src_port;
  wire [55:0] key = {old_address, old_port, hdr_protocol};

  // Decision: wait for headers; search; choose; compute the words that change.
  localparam logic [3:0] WAIT = 4'd1, SEARCH = 4'd2, CHOOSE = 4'd4, COMPUTE = 4'd8;
  logic [ 3:0] state;
  logic [ 2:0] cycles;
  logic        searching, known, diverts, rewrites;
  logic [47:0] partner;
  logic [ 2:0] slot;
  wire         find_ready, found, hit, flow_waits, flow_full, flow_asked, buffer_full;
  wire  [47:0] found_partner;
  wire  [ 2:0] free_slot;
  wire  [ 3:0] waiting;
  wire         joins = !is_return && !was_played && (flow_waits || !known);
  // One that has its translation waits for its turn only.
  wire         no_place = buffer_full || (flow_full && !known);
  wire         append = state == CHOOSE && joins && !no_place && !clear;
  wire         raises = append && !flow_asked;
  wire         computed = state == COMPUTE && cycles == 3'd4;

  always_ff @(posedge clk) begin
    decided      <= 1'b0;
    verdict_drop <= 1'b0;
    if (state != SEARCH || rst || clear) searching <= 1'b0;
    else if (find_ready) searching <= 1'b1;
    if (rst || clear) begin
      state <= WAIT;
    end else begin
      case (state)
        WAIT: if (hdr_valid && !decided) begin
          {diverts, rewrites} <= 2'b00;
          if (!passes && !hdr_malformed && translates) begin
            state <= SEARCH;
          end else begin
            decided      <= 1'b1;
            verdict_drop <= !passes;
            drop_reason  <= hdr_malformed ? 2'(DROP_MALFORMED) : 2'(DROP_UNSUPPORTED);
          end
        end
        SEARCH: if (found) begin
          {known, partner} <= {hit, found_partner};
          state            <= CHOOSE;
        end
        CHOOSE: begin
          cycles  <= 3'd0;
          slot    <= free_slot;
          diverts <= append;
          state   <= WAIT;
          decided <= 1'b1;
          if (joins) begin
            verdict_drop <= no_place;
            drop_reason  <= 2'(DROP_MISS_BUFFER_FULL);
          end else if (!known) begin
            verdict_drop <= 1'b1;
            drop_reason  <= 2'(DROP_NO_TRANSLATION);
          end else begin
            decided <= 1'b0;
            state   <= COMPUTE;
          end
        end
        default: begin
          cycles <= cycles + 1'b1;
          if (computed) {decided, rewrites, state} <= {2'b11, WAIT};
        end
      endcase
    end
  end

  wire [15:0] ip_sum, l4_sum;
  nat_rewrite u_rewrite (
      .clk, .old_address, .new_address(partner[47:16]), .old_port, .new_port(partner[15:0]),
      .old_ip_sum(hdr_ip_checksum), .old_l4_sum(hdr_transport_checksum), .is_icmp, .is_udp(hdr_protocol == UDP),
      .ip_sum, .l4_sum);
  wire [5:0] l4_at = hdr_l4_offset[6:1];
  wire [5:0] port_at = l4_at + (is_icmp ? 6'd2 : {5'd0, is_return});
  wire [5:0] sum_at = l4_at + (hdr_protocol == TCP ? 6'd8 : is_icmp ? 6'd1 : 6'd3);
  wire [5:0] tag_words = {4'd0, hdr_vlan, 1'b0};
  wire [5:0] address_at = (is_return ? 6'd15 : 6'd13) + tag_words;
  assign verdict = {diverts, slot, hdr_user[1:0], rewrites, sum_at, port_at, address_at + 6'd1, address_at,
                    6'd12 + tag_words, l4_sum, partner[15:0], partner[31:16], partner[47:32], ip_sum};

  // Out: into the miss buffer, or rewritten through a register slice.
  wire        out_diverts = leaving[116];
  wire [63:0] patched;
  wire        leave_ready;
  assign out_ready = out_diverts || leave_ready;
  frame_patch u_patch (
      .clk, .rst, .on(leaving[110]), .values(leaving[79:0]), .places(leaving[109:80]), .s_tdata(out_data),
      .s_tlast(out_last), .moves(out_valid && out_ready), .m_tdata(patched));
  axis_skid #(.WIDTH(75)) u_out (
      .clk, .rst, .s_data({leaving[112:111], out_last, out_keep, patched}), .s_valid(out_valid && !out_diverts),
      .s_ready(leave_ready), .m_data({m_axis_tuser[1:0], m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_valid(m_axis_tvalid), .m_ready(m_axis_tready));
  assign m_axis_tuser[11:2] = 10'd0;

  // The host answers for a flow that waits by a put that succeeds, or refuses it by a delete that finds nothing. A delete
  // that finds a translation is no answer: what misses it just then waits for the next one. A search takes more than ten
  // cycles, and the table does one at a time, so no frame joins in the few between the host's search and the release.
  logic [15:0] miss_timeout_ms;
  logic        answers;
  wire         table_start, host_done, host_valid, host_full;
  wire  [ 3:0] table_operation;
  wire  [27:0] table_index;
  wire [255:0] table_wdata;
  wire  [55:0] table_key = {table_wdata[31:0], table_wdata[95:80], table_wdata[103:96]};
  wire         is_put = table_operation == 4'd2;
  wire         is_delete = table_operation == 4'd3;
  always_ff @(posedge clk) answers <= !rst && host_done && (host_valid ? is_put : is_delete);
  miss_buffer u_misses (
      .clk, .rst, .now_ms(now_ms[15:0]), .timeout_ms(miss_timeout_ms), .forget(clear), .key,
      .flow_waits, .flow_full, .flow_asked, .full(buffer_full), .free_slot, .count(waiting), .append,
      .append_user(hdr_user[1:0]), .remove(decided && was_played), .remove_slot(hdr_user[5:3]), .release_flow(answers),
      .release_key(table_key), .s_beat({out_last, out_keep, out_data}), .s_slot(leaving[115:113]),
      .s_valid(out_valid && out_diverts), .playing, .m_beat(played_beat), .m_user(played_user),
      .m_valid(played_valid), .m_ready(path_ready && from_buffer));

  wire  [55:0] entry_inside;
  wire  [47:0] entry_outside;
  wire  [15:0] entry_idle_s;
  wire  [12:0] in_use;
  nat_tables u_tables (
      .clk, .rst, .clear, .clearing, .now_s, .tick_s,
      .find_valid(state == SEARCH && !searching), .find_return(is_return), .find_ready, .find_key(key), .found, .hit,
      .partner(found_partner), .commit(found),
      .host_start(table_start), .host_operation(table_operation), .host_index(table_index[11:0]),
      .inside_address(table_wdata[31:0]), .outside_address(table_wdata[63:32]), .inside_port(table_wdata[95:80]),
      .outside_port(table_wdata[79:64]), .protocol(table_wdata[103:96]), .host_idle_s(table_wdata[239:224]),
      .host_done, .host_valid, .host_full, .entry_inside, .entry_outside, .entry_idle_s, .in_use);

  wire [15:0] event_port = is_icmp ? hdr_icmp_id : hdr_dst_port;
  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION), .HAS_TABLE(1'b1)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing,
      .frame_in(s_axis_tvalid && s_axis_tready && s_axis_tlast),
      .frame_out(m_axis_tvalid && m_axis_tready && m_axis_tlast), .frame_oversize,
      .frame_drop(decided && verdict_drop ? 4'd1 << drop_reason : 4'd0),
      .event_valid(raises),
      .event_words({96'd0, 24'd0, hdr_protocol, old_port, event_port, hdr_dst_ip, hdr_src_ip, EVENT_MISS}),
      .table_start, .table_operation, .table_index, .table_wdata, .table_done(host_done), .table_valid(host_valid),
      .table_full(host_full),
      .table_rdata({16'd0, entry_idle_s, 96'd0, 24'd0, entry_inside[7:0], entry_inside[23:8], entry_outside[15:0],
                    entry_outside[47:16], entry_inside[55:24]}),
      .table_in_use({3'd0, in_use}), .own_write, .own_addr, .own_wdata, .own_rdata);

  logic [31:0] own_rdata, translated_forward, translated_return;
  always_ff @(posedge clk) begin
    if (rst) miss_timeout_ms <= REG_MISS_TIMEOUT_MS_RESET[15:0];
    else if (own_write && own_addr == REG_MISS_TIMEOUT_MS) miss_timeout_ms <= own_wdata[15:0];
    if (rst || clear) {translated_forward, translated_return} <= '0;
    else if (computed) begin
      if (is_return) translated_return <= translated_return + 1'b1;
      else translated_forward <= translated_forward + 1'b1;
    end
    case (own_addr)
      REG_MISS_TIMEOUT_MS:    own_rdata <= {16'd0, miss_timeout_ms};
      REG_MISSES_WAITING:     own_rdata <= {28'd0, waiting};
      REG_TRANSLATED_FORWARD: own_rdata <= translated_forward;
      REG_TRANSLATED_RETURN:  own_rdata <= translated_return;
      default:                own_rdata <= 32'd0;
    endcase
  end

  assign busy = !empty || clearing || playing || m_axis_tvalid;
  wire unused = &{1'b0, now_ms[31:16], hdr_l4_offset[0], own_wdata[31:16], table_index[27:12], table_wdata[255:240],
                  table_wdata[223:104]};

endmodule

`default_nettype wire

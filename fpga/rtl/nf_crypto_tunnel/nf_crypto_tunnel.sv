// SPDX-License-Identifier: Apache-2.0
// One end of an encrypted tunnel: ESP in tunnel mode with AES-CTR and HMAC-SHA-256, within UDP or not
// (agents/nfs/crypto-tunnel). Frames are treated one at a time.
`default_nettype none

module nf_crypto_tunnel (
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

  `include "nf_crypto_tunnel_regs.svh"

  localparam logic [15:0] ETHER_ARP = 16'h0806, ETHER_VLAN = 16'h8100;
  localparam logic [7:0] UDP = 8'd17, ESP = 8'd50;
  localparam logic [15:0] ESP_PORT = 16'd4500;
  localparam logic [1:0] PASS = 2'd0, PROTECT = 2'd1, UNPROTECT = 2'd2;
  localparam int VERDICT_W = 30;

  function automatic logic [31:0] swap_bytes(input logic [31:0] x);
    swap_bytes = {x[7:0], x[15:8], x[23:16], x[31:24]};
  endfunction

  // What the header parser does not tell goes with the frame as user bits; those of the last beat count.
  logic [2:0] beat;  // saturates
  logic tag, is_arp, more_fragments;
  logic [5:0] dscp;
  wire [15:0] ether_type = beat == 3'd1 ? {s_axis_tdata[39:32], s_axis_tdata[47:40]} :
                                          {s_axis_tdata[7:0], s_axis_tdata[15:8]};
  wire tells_type = beat == 3'd1 || (beat == 3'd2 && tag);
  wire arp_now = tells_type ? ether_type == ETHER_ARP : is_arp;
  always_ff @(posedge clk) begin
    if (s_axis_tvalid && s_axis_tready) begin
      beat   <= s_axis_tlast ? '0 : beat == 3'd7 ? beat : beat + 3'd1;
      is_arp <= beat != 3'd0 && arp_now;
      if (beat == 3'd1) tag <= ether_type == ETHER_VLAN;
      if (beat == 3'd1) dscp <= s_axis_tdata[63:58];
      if (beat == 3'd2 && tag) dscp <= s_axis_tdata[31:26];
      if (beat == 3'd2) more_fragments <= s_axis_tdata[37];
      if (beat == 3'd3 && tag) more_fragments <= s_axis_tdata[5];
    end
    if (rst) beat <= '0;
  end

  // Frames.
  wire hdr_valid, hdr_is_ipv4, hdr_malformed, hdr_vlan, hdr_later_fragment;
  wire [9:0] hdr_user;
  wire [7:0] hdr_protocol;
  wire [15:0] hdr_ip_bytes, hdr_dst_port;
  wire [31:0] hdr_src_ip, hdr_dst_ip;
  wire [6:0] hdr_l4_offset;
  wire [63:0] in_tdata;
  wire [7:0] in_tkeep;
  wire in_tvalid, in_tready, in_tlast;
  wire [VERDICT_W-1:0] in_verdict;
  wire frame_in, frame_oversize, path_empty;
  logic judge, verdict_drop;  // `judge`: the second cycle of a header, when all below stands
  logic [VERDICT_W-1:0] verdict;
  frame_path #(.USER_W(10), .VERDICT_W(VERDICT_W)) u_path (
      .clk, .rst, .s_axis_tdata, .s_axis_tkeep, .s_axis_tvalid, .s_axis_tready, .s_axis_tlast,
      .s_axis_tuser({arp_now, more_fragments, dscp, s_axis_tuser}),
      .m_axis_tdata(in_tdata), .m_axis_tkeep(in_tkeep), .m_axis_tvalid(in_tvalid), .m_axis_tready(in_tready),
      .m_axis_tlast(in_tlast), .m_axis_tuser(in_verdict),
      .hdr_valid, .hdr_take(judge), .hdr_user, .hdr_is_ipv4, .hdr_malformed, .hdr_vlan, .hdr_later_fragment,
      .hdr_transport(), .hdr_protocol, .hdr_ip_bytes, .hdr_ip_checksum(), .hdr_src_ip, .hdr_dst_ip, .hdr_src_port(),
      .hdr_dst_port, .hdr_tcp_flags(), .hdr_icmp_type(), .hdr_icmp_id(), .hdr_transport_checksum(), .hdr_l4_offset,
      .verdict_valid(judge), .verdict_drop, .verdict, .frame_in, .frame_oversize, .frame_out(), .empty(path_empty));

  // Registers.
  wire enable, clear;
  wire own_write;
  wire [15:0] own_addr;
  wire [31:0] own_wdata;
  logic [31:0] own_rdata;
  logic [3:0] options;
  logic [31:0] local_end, peer_end, session_packets, next_spi;
  logic [15:0] largest;
  logic [63:0] iv;
  logic [255:0] key;
  logic end_sessions, end_outbound, set_iv;
  wire key_space = own_addr[15:5] == REG_KEY[15:5];
  wire [31:0] key_word = swap_bytes(own_wdata);
  always_ff @(posedge clk) begin
    {end_sessions, end_outbound, set_iv} <= '0;
    if (own_write) begin
      if (key_space) begin
        key[{~own_addr[4:2], 5'd0}+:32] <= key_word;
        end_sessions <= key[{~own_addr[4:2], 5'd0}+:32] != key_word;
      end
      case (own_addr)
        REG_OPTIONS: begin
          options <= own_wdata[3:0];
          end_sessions <= options[1] != own_wdata[1];
        end
        REG_LOCAL: begin
          local_end <= own_wdata;
          end_sessions <= local_end != own_wdata;
        end
        REG_PEER: begin
          peer_end <= own_wdata;
          end_sessions <= peer_end != own_wdata;
        end
        REG_LARGEST: largest <= own_wdata[15:0];
        REG_SESSION_PACKETS: begin
          session_packets <= own_wdata;
          end_outbound <= session_packets != own_wdata;
        end
        REG_NEXT_SESSION: next_spi <= own_wdata;
        REG_IV: iv[31:0] <= own_wdata;
        REG_IV + 16'd4: begin
          iv[63:32] <= own_wdata;
          set_iv <= 1'b1;
        end
        default: ;
      endcase
    end
    if (clear) end_sessions <= 1'b1;
    if (rst) begin
      {options, local_end, peer_end, largest, session_packets, next_spi} <= '0;
      key <= '0;
    end
  end

  // Verdicts.
  wire is_protect = hdr_user[0] == options[0];
  wire is_arp_frame = hdr_user[9];
  logic passes, too_big, from_peer, is_esp;
  wire [1:0] kind = passes ? PASS : is_protect ? PROTECT : UNPROTECT;
  always_ff @(posedge clk) begin
    judge     <= hdr_valid && !judge && !rst;
    passes    <= !enable || (!hdr_malformed && !hdr_is_ipv4 && is_arp_frame);
    too_big   <= hdr_ip_bytes > largest;
    from_peer <= hdr_src_ip == peer_end && hdr_dst_ip == local_end;
    is_esp    <= !hdr_user[8] && !hdr_later_fragment &&
                 (hdr_protocol == ESP || (hdr_protocol == UDP && hdr_dst_port == ESP_PORT));
  end
  logic [4:0] early;  // the reason's bit
  always_comb begin
    early = '0;
    if (!passes) begin
      if (hdr_malformed) early[0] = 1'b1;
      else if (!hdr_is_ipv4) early[1] = 1'b1;
      else if (is_protect) early[2] = too_big;
      else early[4] = !from_peer || !is_esp;
    end
    verdict_drop = |early;
    verdict = {kind, hdr_user[1:0], hdr_vlan, hdr_user[7:2], hdr_ip_bytes[10:0], hdr_l4_offset, hdr_protocol == UDP};
  end

  // Out.
  wire [63:0] out_tdata;
  wire [7:0] out_tkeep, drop;
  wire [1:0] out_user, m_user;
  wire out_tvalid, out_tready, out_tlast, drop_valid, engine_busy;
  wire protected_packet, unprotected_packet, session_sent, session_received;
  wire [10:0] packet_bytes;
  wire table_start, table_done, table_valid;
  wire [3:0] table_operation;
  wire [27:0] table_index;
  wire [255:0] table_wdata, table_rdata;
  esp_engine #(.VERDICT_W(VERDICT_W)) u_engine (
      .clk, .rst, .key_is_256(options[1]), .udp(options[2]), .clamp(options[3]), .shared(key), .local_end, .peer_end,
      .largest, .session_packets, .next_spi, .end_sessions, .end_outbound, .set_iv, .first_iv(iv),
      .s_tdata(in_tdata), .s_tkeep(in_tkeep), .s_tvalid(in_tvalid), .s_tready(in_tready), .s_tlast(in_tlast),
      .s_verdict(in_verdict), .m_tdata(out_tdata), .m_tkeep(out_tkeep), .m_tvalid(out_tvalid), .m_tready(out_tready),
      .m_tlast(out_tlast), .m_user(out_user), .drop, .drop_valid, .drop_ready(!judge), .table_start, .table_operation,
      .table_index, .table_wdata, .table_done, .table_valid, .table_rdata, .protected_packet, .unprotected_packet,
      .packet_bytes, .session_sent, .session_received, .busy(engine_busy));
  axis_skid #(.WIDTH(75)) u_out (
      .clk, .rst, .s_data({out_user, out_tlast, out_tkeep, out_tdata}), .s_valid(out_tvalid), .s_ready(out_tready),
      .m_data({m_user, m_axis_tlast, m_axis_tkeep, m_axis_tdata}), .m_valid(m_axis_tvalid), .m_ready(m_axis_tready));
  assign m_axis_tuser = {10'd0, m_user};

  // Counters.
  wire [7:0] dropped = judge ? {3'd0, early} : drop_valid ? drop : 8'd0;
  logic [31:0] more_drops[4];
  logic [31:0] protected_packets, protected_bytes, unprotected_packets, unprotected_bytes, sessions_sent,
               sessions_received, arps;
  always_ff @(posedge clk) begin
    for (int i = 0; i < 4; i++) more_drops[i] <= more_drops[i] + 32'(dropped[4+i]);
    protected_packets <= protected_packets + 32'(protected_packet);
    protected_bytes <= protected_bytes + (protected_packet ? {21'd0, packet_bytes} : 32'd0);
    unprotected_packets <= unprotected_packets + 32'(unprotected_packet);
    unprotected_bytes <= unprotected_bytes + (unprotected_packet ? {21'd0, packet_bytes} : 32'd0);
    sessions_sent <= sessions_sent + 32'(session_sent);
    sessions_received <= sessions_received + 32'(session_received);
    arps <= arps + 32'(judge && enable && passes);
    if (rst || clear) begin
      {protected_packets, protected_bytes, unprotected_packets, unprotected_bytes} <= '0;
      {sessions_sent, sessions_received, arps} <= '0;
      for (int i = 0; i < 4; i++) more_drops[i] <= '0;
    end
    case (own_addr)
      REG_OPTIONS: own_rdata <= {28'd0, options};
      REG_LOCAL: own_rdata <= local_end;
      REG_PEER: own_rdata <= peer_end;
      REG_LARGEST: own_rdata <= {16'd0, largest};
      REG_SESSION_PACKETS: own_rdata <= session_packets;
      REG_NEXT_SESSION: own_rdata <= next_spi;
      REG_MORE_DROPS, REG_MORE_DROPS + 16'd4, REG_MORE_DROPS + 16'd8, REG_MORE_DROPS + 16'd12:
      own_rdata <= more_drops[own_addr[3:2]];
      REG_PROTECTED_PACKETS: own_rdata <= protected_packets;
      REG_PROTECTED_BYTES: own_rdata <= protected_bytes;
      REG_UNPROTECTED_PACKETS: own_rdata <= unprotected_packets;
      REG_UNPROTECTED_BYTES: own_rdata <= unprotected_bytes;
      REG_SESSIONS_SENT: own_rdata <= sessions_sent;
      REG_SESSIONS_RECEIVED: own_rdata <= sessions_received;
      REG_ARP: own_rdata <= arps;
      default: own_rdata <= '0;
    endcase
  end

  assign busy = !path_empty || hdr_valid || engine_busy || m_axis_tvalid;

  csr_common #(.ID(MODULE_ID), .VERSION(MODULE_VERSION), .HAS_TABLE(1'b1)) u_csr (
      .clk, .rst, .csr_addr, .csr_write, .csr_wdata, .csr_read, .csr_rdata, .csr_ack,
      .enable, .clear, .busy, .clearing(1'b0),
      .frame_in, .frame_out(m_axis_tvalid && m_axis_tready && m_axis_tlast), .frame_oversize, .frame_drop(dropped[3:0]),
      .event_valid(1'b0), .event_words(256'd0),
      .table_start, .table_operation, .table_index, .table_wdata, .table_done, .table_valid,
      .table_full(1'b0), .table_rdata, .table_in_use(16'd0),
      .own_write, .own_addr, .own_wdata, .own_rdata);

  wire unused = &{1'b0, tick_us, hdr_ip_bytes[15:11]};

endmodule

`default_nettype wire

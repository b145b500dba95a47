// SPDX-License-Identifier: Apache-2.0
// Reads Ethernet, IPv4 and TCP/UDP/ICMP headers off a frame stream that it only watches. The classification is that of
// the engine's parser (agents/support/packet.cc): one 802.1Q tag (TPID 0x8100) is skipped, a second is not.
//
// Two cycles after the beat with `tlast`, `valid` is high for one cycle, and every output holds until the next one.
// Numbers are in host order; a field is 0 where the frame has none or it is out of reach.
`default_nettype none

module hdr_parse #(
    parameter int FRAME_BYTES_MAX = 2048
) (
    input  wire         clk,
    input  wire         rst,
    // Watched stream: a beat counts in a cycle with `beat`.
    input  wire         beat,
    input  wire  [63:0] tdata,
    input  wire  [ 7:0] tkeep,
    input  wire         tlast,

    output logic        valid,
    output logic        oversize,            // longer than FRAME_BYTES_MAX; the other outputs then mean nothing
    output logic        is_ipv4,             // by EtherType, the one behind a tag
    output logic        malformed,           // shorter than its Ethernet header and tag, or IPv4 that contradicts
                                             // itself or the frame
    output logic        vlan,                // IPv4 behind a tag: its header begins at byte 18, not 14
    output logic        later_fragment,      // fragment offset above 0
    output logic        transport,           // TCP, UDP or ICMP with its whole header in reach
    output logic [ 7:0] protocol,
    output logic [15:0] ip_bytes,            // total length
    output logic [15:0] ip_checksum,
    output logic [31:0] src_ip,
    output logic [31:0] dst_ip,
    output logic [15:0] src_port,            // TCP and UDP
    output logic [15:0] dst_port,
    output logic [ 5:0] tcp_flags,           // URG ACK PSH RST SYN FIN
    output logic [ 7:0] icmp_type,
    output logic [15:0] icmp_id,
    output logic [15:0] transport_checksum,
    output logic [ 6:0] l4_offset,           // from the frame's first byte; IPv4 only
    output logic [ 7:0] payload_offset,      // behind the transport header; `transport` only
    output logic [11:0] payload_bytes
);

  localparam logic [7:0] ICMP = 8'd1;
  localparam logic [7:0] TCP = 8'd6;
  localparam logic [7:0] UDP = 8'd17;

  // The four 16-bit words of a beat, in network order, first word first.
  wire [15:0] word0 = {tdata[7:0], tdata[15:8]};
  wire [15:0] word1 = {tdata[23:16], tdata[31:24]};
  wire [15:0] word2 = {tdata[39:32], tdata[47:40]};
  wire [15:0] word3 = {tdata[55:48], tdata[63:56]};

  // Position in the frame, saturating far beyond FRAME_BYTES_MAX. What follows a tag comes half a beat late: the words
  // that are the first half of a beat without it are the second half of that beat, the others the first half of the next
  // one. Fields are named by their beat and half in a frame without a tag.
  localparam int BEATS_W = $clog2(FRAME_BYTES_MAX / 8) + 2;
  logic [BEATS_W-1:0] at;
  wire                at_end = &at;
  logic               tag;
  wire  [BEATS_W-1:0] late_at = at - BEATS_W'(tag);  // beat of which `late0` and `late1` are the second half
  wire  [15:0] early0 = tag ? word2 : word0;
  wire  [15:0] early1 = tag ? word3 : word1;
  wire  [15:0] late0 = tag ? word0 : word2;
  wire  [15:0] late1 = tag ? word1 : word3;

  // Fields at fixed places.
  logic [15:0] ether_type, total, ip_sum;
  logic [13:0] fragment;  // more fragments, offset in 8 bytes
  logic [31:0] src, dst;
  logic [ 3:0] version, ihl;
  logic [ 7:0] proto;

  // The transport header starts at word 1 (odd IHL) or word 3 (even IHL) of beat `l4_at`. Its 16-bit words, by number:
  logic [15:0] l4_word0, l4_word1, l4_word2, l4_word3, l4_word8;
  logic [ 3:0] tcp_words;  // from word 6
  logic [ 5:0] flags;
  wire  [ 3:0] l4_at = 4'd1 + ((ihl >> 1) + {3'd0, ihl[0]});
  wire  [BEATS_W-1:0] l4_early = at - BEATS_W'(l4_at);
  wire  [BEATS_W-1:0] l4_late = late_at - BEATS_W'(l4_at);
  wire         odd = ihl[0];

  always_ff @(posedge clk) begin
    if (rst) at <= '0;
    else if (beat) at <= tlast ? '0 : at_end ? at : at + 1'b1;
  end

  always_ff @(posedge clk) begin
    if (beat && at < 2) tag <= at[0] && word2 == 16'h8100;
  end

  always_ff @(posedge clk) begin
    if (beat) begin
      case (at)
        2: total  <= early0;
        3: begin
          ip_sum     <= early0;
          src[31:16] <= early1;
        end
        4: dst[15:0] <= early0;
        default: ;
      endcase
      case (late_at)
        1: begin
          ether_type     <= late0;
          {version, ihl} <= late1[15:8];
        end
        2: begin
          fragment <= late0[13:0];
          proto    <= late1[7:0];
        end
        3: {src[15:0], dst[31:16]} <= {late0, late1};
        default: ;
      endcase
      if (at > 3) begin
        if (l4_early == 0 && odd) l4_word0 <= early1;
        if (l4_early == 1) begin
          if (odd) l4_word3 <= early0;
          else {l4_word1, l4_word2} <= {early0, early1};
        end
        if (l4_early == 2) begin
          if (odd) l4_word8 <= early1;
          else {tcp_words, flags} <= {early1[15:12], early1[5:0]};
        end
      end
      if (late_at > 3) begin
        if (l4_late == 0) begin
          if (odd) {l4_word1, l4_word2} <= {late0, late1};
          else l4_word0 <= late1;
        end
        if (l4_late == 1) begin
          if (odd) {tcp_words, flags} <= {late1[15:12], late1[5:0]};
          else l4_word3 <= late0;
        end
        if (l4_late == 2 && !odd) l4_word8 <= late1;
      end
    end
  end

  // Sums that no field of the last beat takes part in, one cycle behind the fields.
  localparam int LENGTH_W = BEATS_W + 4;  // the longest length that is told, 8 * 2^BEATS_W bytes, must not wrap
  logic [15:0] l4_bytes;
  logic [16:0] frame_bytes_needed, datagram_end;
  always_ff @(posedge clk) begin
    l4_bytes           <= total - {10'd0, ihl, 2'b00};
    frame_bytes_needed <= {1'b0, total} + (tag ? 17'd18 : 17'd14);
    datagram_end       <= {1'b0, fragment[12:0], 3'b000} + {1'b0, total};  // RFC 791 3.2: the header counts once
  end

  logic                ended;
  logic [LENGTH_W-1:0] frame_bytes;
  always_ff @(posedge clk) begin
    ended       <= !rst && beat && tlast;
    frame_bytes <= {1'b0, at, 3'b000} + LENGTH_W'(keep_bytes(tkeep));
  end

  function automatic logic [3:0] keep_bytes(input logic [7:0] keep);
    keep_bytes = 4'd0;
    for (int i = 0; i < 8; i++) if (keep[i]) keep_bytes = 4'(i) + 4'd1;
  endfunction

  // The cycle after the last beat: everything above stands, and the next frame has not changed it yet.
  wire ethernet = frame_bytes >= (tag ? LENGTH_W'(18) : LENGTH_W'(14));
  wire [6:0] l3_bytes = tag ? 7'd18 : 7'd14;  // ahead of the IPv4 header
  wire ipv4 = ethernet && ether_type == 16'h0800;
  wire ip_bad = frame_bytes < (tag ? LENGTH_W'(38) : LENGTH_W'(34)) || version != 4'd4 || ihl < 4'd5 || total < {10'd0, ihl, 2'b00} ||
                frame_bytes_needed > 17'(frame_bytes) || datagram_end > 17'd65535;
  wire ip_good = ipv4 && !ip_bad;
  wire first = fragment[12:0] == 0;
  wire whole = first && !fragment[13];
  wire is_tcp = proto == TCP;
  wire is_udp = proto == UDP;
  wire is_icmp = proto == ICMP;
  wire wants_header = ip_good && first && (is_tcp || is_udp || is_icmp);
  wire [15:0] header_bytes = is_tcp ? {10'd0, tcp_words, 2'b00} : 16'd8;
  wire        tcp_good = l4_bytes >= 16'd20 && tcp_words >= 4'd5 && header_bytes <= l4_bytes;
  // The length of a fragmented datagram counts bytes of later fragments too.
  wire        udp_good = l4_bytes >= 16'd8 && l4_word2 >= 16'd8 && (!whole || l4_word2 <= l4_bytes);
  wire        header_good = is_tcp ? tcp_good : is_udp ? udp_good : l4_bytes >= 16'd8;
  wire        readable = wants_header && header_good;
  wire        has_ports = readable && !is_icmp;

  always_ff @(posedge clk) begin
    valid <= ended && !rst;
    if (ended) begin
      oversize           <= frame_bytes > LENGTH_W'(FRAME_BYTES_MAX);
      is_ipv4            <= ipv4;
      malformed          <= !ethernet || (ipv4 && ip_bad) || (wants_header && !header_good);
      vlan               <= ip_good && tag;
      later_fragment     <= ip_good && !first;
      transport          <= readable;
      protocol           <= ip_good ? proto : 8'd0;
      ip_bytes           <= ip_good ? total : 16'd0;
      ip_checksum        <= ip_good ? ip_sum : 16'd0;
      src_ip             <= ip_good ? src : 32'd0;
      dst_ip             <= ip_good ? dst : 32'd0;
      src_port           <= has_ports ? l4_word0 : 16'd0;
      dst_port           <= has_ports ? l4_word1 : 16'd0;
      tcp_flags          <= readable && is_tcp ? flags : 6'd0;
      icmp_type          <= readable && is_icmp ? l4_word0[15:8] : 8'd0;
      icmp_id            <= readable && is_icmp ? l4_word2 : 16'd0;
      transport_checksum <= !readable ? 16'd0 : is_tcp ? l4_word8 : is_udp ? l4_word3 : l4_word1;
      l4_offset          <= ip_good ? l3_bytes + {1'b0, ihl, 2'b00} : 7'd0;
      payload_offset     <= readable ? 8'(l3_bytes) + {2'd0, ihl, 2'b00} + header_bytes[7:0] : 8'd0;
      payload_bytes      <= readable ? 12'(l4_bytes - header_bytes) : 12'd0;
    end
  end

endmodule

`default_nettype wire

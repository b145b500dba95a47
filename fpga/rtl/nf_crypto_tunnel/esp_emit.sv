// SPDX-License-Identifier: Apache-2.0
// Sends a frame: its Ethernet header, then either an outer IPv4 header, UDP if wanted, ESP header, IV, text and ICV
// (RFC 4303 3.1.2, RFC 3948), or the text alone. The text lies in a memory of 8-byte words.
`default_nettype none

module esp_emit (
    input wire clk,
    input wire rst,

    input wire start,  // the operands stand until `done`
    output logic done,  // all has left

    input wire [143:0] ethernet,    // first byte in bits 7:0
    input wire         vlan,
    input wire         encapsulate,
    input wire         udp,
    input wire [  5:0] dscp,
    input wire [ 31:0] source,
    input wire [ 31:0] destination,
    input wire [ 31:0] spi,
    input wire [ 31:0] sequence_number,
    input wire [ 63:0] iv,          // first byte in bits 7:0
    input wire [127:0] icv,         // first byte in bits 127:120
    input wire [ 10:0] text_bytes,

    // The word of `address` is at hand in the next cycle.
    output wire [ 7:0] address,
    input  wire [63:0] word,

    output wire [63:0] m_tdata,
    output wire [ 7:0] m_tkeep,
    output wire        m_tvalid,
    input  wire        m_tready,
    output wire        m_tlast
);

  localparam logic [15:0] ESP_PORT = 16'd4500;
  localparam logic [7:0] UDP = 8'd17, ESP = 8'd50, TTL = 8'd64;
  localparam logic [15:0] DONT_FRAGMENT = 16'h4000;
  localparam logic [15:0] ESP_AND_ICV_BYTES = 16'd32;  // ESP header, IV, ICV

  function automatic logic [63:0] swap(input logic [63:0] x);
    for (int i = 0; i < 8; i++) swap[8*i+:8] = x[63-8*i-:8];
  endfunction

  typedef enum logic [3:0] {
    IDLE, PREPARE, ETHERNET_0, ETHERNET_1, ETHERNET_2, IP_0, IP_1, IP_2, UDP_HEADER, ESP_HEADER, IV, TEXT, ICV_0, ICV_1,
    LEAVING
  } state_t;
  state_t state;

  // The outer header; the sums stand when PREPARE is over.
  wire [15:0] esp_bytes = {5'd0, text_bytes} + ESP_AND_ICV_BYTES;
  wire [15:0] ip_bytes = esp_bytes + (udp ? 16'd28 : 16'd20);
  wire [15:0] version_dscp = {8'h45, dscp, 2'b00};
  wire [7:0] protocol = udp ? UDP : ESP;
  logic [17:0] ends_sum;
  logic [18:0] sum;
  logic [16:0] folded;
  wire [15:0] checksum = ~(folded[15:0] + {15'd0, folded[16]});
  logic [1:0] prepared;
  always_ff @(posedge clk) begin
    ends_sum <= {2'd0, source[31:16]} + {2'd0, source[15:0]} + {2'd0, destination[31:16]} + {2'd0, destination[15:0]};
    sum <= {1'b0, ends_sum} + {3'd0, version_dscp} + {3'd0, ip_bytes} + {3'd0, DONT_FRAGMENT} + {3'd0, TTL, protocol};
    folded <= {1'b0, sum[15:0]} + {14'd0, sum[18:16]};
  end

  logic [7:0] at;  // word of the text
  logic [10:0] left;
  wire text_last = left <= 11'd8;
  logic [63:0] header;
  logic [3:0] bytes;
  always_comb begin
    bytes = 4'd8;
    case (state)
      ETHERNET_0: header = ethernet[63:0];
      ETHERNET_1: begin
        header = ethernet[127:64];
        if (!vlan) bytes = 4'd6;
      end
      ETHERNET_2: begin
        header = {48'd0, ethernet[143:128]};
        bytes = 4'd2;
      end
      IP_0: header = swap({version_dscp, ip_bytes, 16'd0, DONT_FRAGMENT});
      IP_1: header = swap({TTL, protocol, checksum, source});
      IP_2: begin
        header = swap({destination, 32'd0});
        bytes = 4'd4;
      end
      UDP_HEADER: header = swap({ESP_PORT, ESP_PORT, esp_bytes + 16'd8, 16'd0});
      ESP_HEADER: header = swap({spi, sequence_number});
      IV: header = iv;
      TEXT: begin
        header = '0;
        if (text_last) bytes = left[3:0];
      end
      ICV_0: header = swap(icv[127:64]);
      default: header = swap(icv[63:0]);
    endcase
  end
  wire last = state == ICV_1 || (state == TEXT && text_last && !encapsulate);
  wire valid = state != IDLE && state != PREPARE && state != LEAVING;
  wire piece_ready;
  logic piece_valid;
  wire ready = piece_ready || !piece_valid;
  wire take = valid && ready;
  assign address = at + 8'(state == TEXT && take);

  // Whichever of the two it is, the other is zero.
  logic [63:0] piece_header, piece_text;
  logic [3:0] piece_bytes;
  logic piece_last;
  always_ff @(posedge clk) begin
    if (ready) begin
      piece_valid <= valid;
      piece_header <= header;
      piece_text <= state == TEXT ? word : '0;
      piece_bytes <= bytes;
      piece_last <= last;
    end
    if (rst) piece_valid <= 1'b0;
  end

  wire [63:0] next_piece;
  wire [3:0] next_bytes;
  wire next_last, next_valid, next_ready;
  axis_skid #(.WIDTH(69)) u_piece (
      .clk, .rst, .s_data({piece_last, piece_bytes, piece_header | piece_text}), .s_valid(piece_valid),
      .s_ready(piece_ready),
      .m_data({next_last, next_bytes, next_piece}), .m_valid(next_valid), .m_ready(next_ready));
  axis_pack u_pack (
      .clk, .rst, .s_data(next_piece), .s_bytes(next_bytes), .s_last(next_last), .s_valid(next_valid),
      .s_ready(next_ready),
      .m_tdata, .m_tkeep, .m_tvalid, .m_tready, .m_tlast);

  always_ff @(posedge clk) begin
    done <= 1'b0;
    at   <= address;
    case (state)
      IDLE: begin
        prepared <= 2'd0;
        at <= '0;
        left <= text_bytes;
        if (start) state <= PREPARE;
      end
      PREPARE: begin
        prepared <= prepared + 2'd1;
        left <= text_bytes;
        if (prepared == 2'd3) state <= ETHERNET_0;
      end
      ETHERNET_0: if (take) state <= ETHERNET_1;
      ETHERNET_1: if (take) state <= vlan ? ETHERNET_2 : encapsulate ? IP_0 : TEXT;
      ETHERNET_2: if (take) state <= encapsulate ? IP_0 : TEXT;
      IP_0: if (take) state <= IP_1;
      IP_1: if (take) state <= IP_2;
      IP_2: if (take) state <= udp ? UDP_HEADER : ESP_HEADER;
      UDP_HEADER: if (take) state <= ESP_HEADER;
      ESP_HEADER: if (take) state <= IV;
      IV: if (take) state <= TEXT;
      TEXT:
      if (take) begin
        left <= left - 11'd8;
        if (text_last) state <= encapsulate ? ICV_0 : LEAVING;
      end
      ICV_0: if (take) state <= ICV_1;
      ICV_1: if (take) state <= LEAVING;
      default:
      if (m_tvalid && m_tready && m_tlast) begin
        state <= IDLE;
        done  <= 1'b1;
      end
    endcase
    if (rst) begin
      state <= IDLE;
      done  <= 1'b0;
    end
  end

endmodule

`default_nettype wire

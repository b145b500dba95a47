// SPDX-License-Identifier: Apache-2.0
// SHA-256 of a message, padded (FIPS 180-4 5.1.1), or its HMAC (RFC 2104 2), from and to a stream.
// On both streams the earlier byte is the more significant; `s_keep` bit 0 belongs to the first byte.
`default_nettype none

module sha256_message (
    input wire clk,
    input wire rst,

    input wire         hmac,  // with `key`: stands while a message is inside
    input wire [511:0] key,   // filled with zeros

    input  wire [63:0] s_data,
    input  wire [ 7:0] s_keep,
    input  wire        s_valid,
    output wire        s_ready,
    input  wire        s_last,

    output wire [63:0] m_data,  // four beats
    output wire        m_valid,
    input  wire        m_ready,
    output wire        m_last,

    output wire block  // one cycle for each block of 64 bytes
);

  localparam logic [15:0] BLOCK_BITS = 16'd512;
  localparam logic [15:0] DIGEST_BITS = 16'd256;

  typedef enum logic [2:0] {IDLE, KEY, TEXT, PAD, COMPRESS, EMIT} state_t;
  state_t state;
  logic outer;       // the second pass of HMAC, over the digest of the first
  logic mark;        // the byte 0x80 comes first in the padding
  logic [15:0] bits;
  logic [2:0] at;    // word of the block
  logic [255:0] digest_words;  // the next to send, or to hash in the second pass, on top
  logic [1:0] digest_at;

  // The text's last word: bytes that are not kept make room for the mark.
  logic [63:0] text;
  always_comb begin
    for (int i = 0; i < 8; i++) text[63-8*i-:8] = s_keep[i] ? s_data[63-8*i-:8] : 8'h00;
    for (int i = 1; i < 8; i++) if (s_keep[i-1] && !s_keep[i]) text[63-8*i] = 1'b1;
  end

  function automatic logic [3:0] keep_bytes(input logic [7:0] keep);
    keep_bytes = 4'd0;
    for (int i = 0; i < 8; i++) if (keep[i]) keep_bytes = 4'(i) + 4'd1;
  endfunction

  wire core_ready;
  wire [255:0] digest;
  wire length_word = state == PAD && at == 3'd7 && !mark;
  wire [63:0] key_word = key[{~at, 6'd0}+:64] ^ {8{outer ? 8'h5c : 8'h36}};
  wire [63:0] word = state == KEY ? key_word :
                     state == TEXT ? (outer ? digest_words[255:192] : text) :
                     mark ? {1'b1, 63'd0} : length_word ? {48'd0, bits} : 64'd0;
  wire word_valid = state == KEY || state == PAD || (state == TEXT && (outer || s_valid));
  wire word_taken = word_valid && core_ready;
  wire first_pass_done = state == COMPRESS && core_ready && hmac && !outer;
  sha256_core u_core (
      .clk, .rst, .init(state == IDLE || first_pass_done), .resume(1'b0), .resumed(256'd0), .word_valid,
      .word_ready(core_ready), .word, .digest);

  assign s_ready = state == TEXT && !outer && core_ready;
  assign block = word_taken && at == 3'd7;
  assign m_valid = state == EMIT;
  assign m_data = digest_words[255:192];
  assign m_last = digest_at == 2'd3;

  wire digest_shift = (state == TEXT && outer && word_taken) || (m_valid && m_ready);
  always_ff @(posedge clk) begin
    if (state == COMPRESS) {digest_words, digest_at} <= {digest, 2'd0};
    else if (digest_shift) {digest_words, digest_at} <= {digest_words << 64, digest_at + 2'd1};
  end

  always_ff @(posedge clk) begin
    if (rst) state <= IDLE;
    else
      case (state)
        IDLE: if (s_valid) state <= hmac ? KEY : TEXT;
        KEY: if (block) state <= TEXT;
        TEXT: if (word_taken && (outer ? digest_at == 2'd3 : s_last)) state <= PAD;
        PAD: if (word_taken && length_word) state <= COMPRESS;
        COMPRESS: if (core_ready) state <= first_pass_done ? KEY : EMIT;
        default: if (m_ready && m_last) state <= IDLE;
      endcase
    if (state == IDLE) outer <= 1'b0;
    else if (first_pass_done) outer <= 1'b1;
    if (state == IDLE) at <= '0;
    else if (word_taken) at <= at + 1'b1;
    if (state == TEXT && word_taken) mark <= outer || (s_last && s_keep == 8'hff);
    else if (state == PAD && word_taken) mark <= 1'b0;
    if (state == IDLE) bits <= hmac ? BLOCK_BITS : '0;
    else if (first_pass_done) bits <= BLOCK_BITS + DIGEST_BITS;
    else if (s_valid && s_ready) bits <= bits + {9'd0, keep_bytes(s_keep), 3'd0};
  end

endmodule

`default_nettype wire

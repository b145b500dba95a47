// SPDX-License-Identifier: Apache-2.0
// HMAC-SHA-256 (RFC 2104) of a stream under a key of which the hash values after its two padded blocks are known
// (RFC 2104 4); and those hash values themselves. The earlier byte is the more significant.
`default_nettype none

module hmac_sha256 (
    input wire clk,
    input wire rst,

    // Taken while `busy` is low.
    input wire         start,
    input wire         plain,  // no HMAC: the hash value after one block of 64 bytes
    input wire [255:0] inner,  // stand while `busy`
    input wire [255:0] outer,

    input  wire  [63:0] s_data,
    input  wire  [ 3:0] s_bytes,  // 1 to 8, less than 8 only in the last word
    input  wire         s_valid,
    output wire         s_ready,
    input  wire         s_last,

    output logic         busy,
    output logic         done,   // one cycle; the result stands until the next start
    output wire  [255:0] result
);

  localparam logic [15:0] BLOCK_BITS = 16'd512;
  localparam logic [15:0] DIGEST_BITS = 16'd256;

  typedef enum logic [2:0] {IDLE, TEXT, DIGEST, PAD, COMPRESS} state_t;
  state_t state;
  logic is_plain, second;    // `second`: the pass over the digest of the first
  logic mark;                // the byte 0x80 comes first in the padding
  logic [15:0] bits;
  logic [2:0] at;            // word of the block
  logic [255:0] digest_words;  // the next on top

  // The text's last word: bytes that are not there make room for the mark.
  logic [63:0] text;
  always_comb begin
    for (int i = 0; i < 8; i++) text[63-8*i-:8] = 4'(i) < s_bytes ? s_data[63-8*i-:8] : 8'h00;
    for (int i = 1; i < 8; i++) if (4'(i) == s_bytes) text[63-8*i] = 1'b1;
  end

  wire core_ready;
  wire length_word = at == 3'd7 && !mark;
  wire [63:0] padding = mark ? {1'b1, 63'd0} : length_word ? {48'd0, bits} : 64'd0;
  wire [63:0] word = state == TEXT ? text : state == DIGEST ? digest_words[255:192] : padding;
  wire word_valid = (state == TEXT && s_valid) || state == DIGEST || state == PAD;
  wire word_taken = word_valid && core_ready;
  wire begins = state == IDLE && start;
  wire first_done = state == COMPRESS && core_ready && !is_plain && !second;
  sha256_core u_core (
      .clk, .rst, .init(begins && plain), .resume((begins && !plain) || first_done),
      .resumed(state == IDLE ? inner : outer), .word_valid, .word_ready(core_ready), .word, .digest(result));

  assign s_ready = state == TEXT && core_ready;

  always_ff @(posedge clk) begin
    done <= 1'b0;
    case (state)
      IDLE:
      if (start) begin
        state <= TEXT;
        busy <= 1'b1;
        is_plain <= plain;
        second <= 1'b0;
        bits <= BLOCK_BITS;
      end
      TEXT:
      if (word_taken) begin
        bits <= bits + {9'd0, s_bytes, 3'd0};
        mark <= s_bytes == 4'd8;
        if (s_last) state <= is_plain ? COMPRESS : PAD;
      end
      DIGEST: if (word_taken && at == 3'd3) state <= PAD;
      PAD:
      if (word_taken) begin
        mark <= 1'b0;
        if (length_word) state <= COMPRESS;
      end
      default:
      if (core_ready) begin
        second <= 1'b1;
        mark   <= 1'b1;
        bits   <= BLOCK_BITS + DIGEST_BITS;
        state  <= first_done ? DIGEST : IDLE;
        busy   <= first_done;
        done   <= !first_done;
      end
    endcase
    if (state == IDLE) at <= '0;
    else if (word_taken) at <= at + 1'b1;
    if (first_done) digest_words <= result;
    else if (state == DIGEST && word_taken) digest_words <= digest_words << 64;
    if (rst) begin
      state <= IDLE;
      busy  <= 1'b0;
      done  <= 1'b0;
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// AES-128 and AES-256 encryption of one block (FIPS 197), round keys made on the fly.
// Two cycles a round: substitution, then mixing and round key. AES-128 takes 23 cycles, AES-256 29.
// Byte 0 of the standard's sequences is in the most significant bits.
`default_nettype none

module aes_core (
    input wire clk,
    input wire rst,

    // `start` is taken while `busy` is low; key and block are sampled with it.
    input  wire          start,
    input  wire          key_is_256,
    input  wire  [255:0] key,         // AES-128: the upper half
    input  wire  [127:0] block,
    output logic         busy,

    // One cycle of `done` shows `result`, which stays until the next start.
    output logic         done,
    output logic [127:0] result
);
  localparam logic [3:0] ROUNDS_128 = 4'd10;
  localparam logic [3:0] ROUNDS_256 = 4'd14;

  function automatic logic [7:0] double(input logic [7:0] value);
    double = {value[6:0], 1'b0} ^ (value[7] ? 8'h1b : 8'h00);
  endfunction

  // FIPS 197 5.1.3 for one column.
  function automatic logic [31:0] mix_column(input logic [7:0] a, input logic [7:0] b, input logic [7:0] c,
                                             input logic [7:0] d);
    mix_column = {
      double(a) ^ double(b) ^ b ^ c ^ d,
      a ^ double(b) ^ double(c) ^ c ^ d,
      a ^ b ^ double(c) ^ double(d) ^ d,
      double(a) ^ a ^ b ^ c ^ double(d)
    };
  endfunction

  logic         is_256;
  logic [  3:0] round;
  logic         mixing;  // second cycle of a round
  logic [127:0] state;
  logic [127:0] previous_key;  // AES-256: the round key before `round_key`
  logic [127:0] round_key;
  logic [  7:0] round_constant;
  logic         rotate;  // the next round key rotates its word and takes the round constant

  logic [127:0] substituted, substituted_q;
  logic [31:0] key_word, key_word_substituted, key_word_q;

  genvar i;
  generate
    for (i = 0; i < 16; i = i + 1) begin : gen_state_sbox
      aes_sbox sbox (
          .value(state[8*i+:8]),
          .substitute(substituted[8*i+:8])
      );
    end
    for (i = 0; i < 4; i = i + 1) begin : gen_key_sbox
      aes_sbox sbox (
          .value(key_word[8*i+:8]),
          .substitute(key_word_substituted[8*i+:8])
      );
    end
  endgenerate

  assign key_word = rotate ? {round_key[23:0], round_key[31:24]} : round_key[31:0];

  // FIPS 197 5.2: the next four words of the key schedule.
  logic [127:0] base_key, next_key;
  assign base_key = is_256 ? previous_key : round_key;
  assign next_key[127:96] = base_key[127:96] ^ key_word_q;
  assign next_key[95:64] = base_key[127:96] ^ base_key[95:64] ^ key_word_q;
  assign next_key[63:32] = base_key[127:96] ^ base_key[95:64] ^ base_key[63:32] ^ key_word_q;
  assign next_key[31:0] = base_key[127:96] ^ base_key[95:64] ^ base_key[63:32] ^ base_key[31:0] ^ key_word_q;

  // FIPS 197 5.1.2: row r of a column comes from r columns further.
  logic [127:0] shifted, mixed;
  generate
    for (i = 0; i < 16; i = i + 1) begin : gen_shift_rows
      assign shifted[127-8*i-:8] = substituted_q[127-8*((i+4*(i%4))%16)-:8];
    end
    for (i = 0; i < 4; i = i + 1) begin : gen_mix_columns
      assign mixed[127-32*i-:32] = mix_column(
          shifted[127-32*i-:8], shifted[119-32*i-:8], shifted[111-32*i-:8], shifted[103-32*i-:8]
      );
    end
  endgenerate

  logic last_round;
  assign last_round = round == (is_256 ? ROUNDS_256 : ROUNDS_128);

  assign result = state;

  always_ff @(posedge clk) begin
    done <= 1'b0;
    if (!busy) begin
      if (start) begin
        busy <= 1'b1;
        mixing <= 1'b0;
        is_256 <= key_is_256;
        // Round 0 of AES-128 makes the first round key; AES-256 has it in its key.
        round <= key_is_256 ? 4'd1 : 4'd0;
        state <= block ^ key[255:128];
        previous_key <= key[255:128];
        round_key <= key_is_256 ? key[127:0] : key[255:128];
        round_constant <= 8'h01;
        rotate <= 1'b1;
      end
    end else begin
      mixing <= !mixing;
      if (!mixing) begin
        substituted_q <= substituted;
        key_word_q <= key_word_substituted ^ (rotate ? {round_constant, 24'd0} : 32'd0);
      end else begin
        if (round != 4'd0) state <= (last_round ? shifted : mixed) ^ round_key;
        previous_key <= round_key;
        round_key <= next_key;
        if (rotate) round_constant <= double(round_constant);
        rotate <= !is_256 || !rotate;
        round  <= round + 4'd1;
        if (last_round) begin
          busy <= 1'b0;
          done <= 1'b1;
        end
      end
    end
    if (rst) begin
      busy <= 1'b0;
      done <= 1'b0;
    end
  end
endmodule

`default_nettype wire

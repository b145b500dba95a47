// SPDX-License-Identifier: Apache-2.0
// SHA-256 compression of 64-byte blocks (FIPS 180-4 6.2.2); the caller pads. 8 cycles take a block, 68 compress it.
//
// No sum in the loop has more than three terms: h + k + w (+ d) is made a round ahead, and the half of the state with
// a, b, c runs one round behind the half with e, f, g, whose d it supplies.
`default_nettype none

module sha256_core (
    input wire clk,
    input wire rst,

    // Sets the state to the initial hash value, or to what `digest` once was. Not while `word_ready` is low.
    input wire         init,
    input wire         resume,
    input wire [255:0] resumed,

    // Eight transfers make a block; the earlier byte is the more significant.
    input  wire         word_valid,
    output logic        word_ready,
    input  wire  [63:0] word,

    // Hash value after the blocks so far; valid while `word_ready` is high.
    output logic [255:0] digest
);
  localparam logic [255:0] INITIAL_HASH = {
    128'h6a09e667_bb67ae85_3c6ef372_a54ff53a, 128'h510e527f_9b05688c_1f83d9ab_5be0cd19
  };

  // Steps of a compression. Round t is done by e, f, g at step t + 2 and by a, b, c at step t + 3.
  localparam logic [6:0] STEP_SUM = 7'd1;  // h + k + w of round 0
  localparam logic [6:0] STEP_ROUND_0 = 7'd2;
  localparam logic [6:0] STEP_ROUND_63 = 7'd65;
  localparam logic [6:0] STEP_LAST = 7'd67;

  function automatic logic [31:0] rotate_right(input logic [31:0] x, input int unsigned n);
    rotate_right = (x >> n) | (x << (32 - n));
  endfunction

  // FIPS 180-4 4.1.2.
  function automatic logic [31:0] big_sigma_0(input logic [31:0] x);
    big_sigma_0 = rotate_right(x, 2) ^ rotate_right(x, 13) ^ rotate_right(x, 22);
  endfunction
  function automatic logic [31:0] big_sigma_1(input logic [31:0] x);
    big_sigma_1 = rotate_right(x, 6) ^ rotate_right(x, 11) ^ rotate_right(x, 25);
  endfunction
  function automatic logic [31:0] small_sigma_0(input logic [31:0] x);
    small_sigma_0 = rotate_right(x, 7) ^ rotate_right(x, 18) ^ (x >> 3);
  endfunction
  function automatic logic [31:0] small_sigma_1(input logic [31:0] x);
    small_sigma_1 = rotate_right(x, 17) ^ rotate_right(x, 19) ^ (x >> 10);
  endfunction
  function automatic logic [31:0] choose(input logic [31:0] x, input logic [31:0] y, input logic [31:0] z);
    choose = (x & y) ^ (~x & z);
  endfunction
  function automatic logic [31:0] majority(input logic [31:0] x, input logic [31:0] y, input logic [31:0] z);
    majority = (x & y) ^ (x & z) ^ (y & z);
  endfunction

  logic [  2:0] loaded;  // word pairs of this block
  logic [  6:0] step;
  logic [511:0] schedule;  // the next 16 words of the message schedule, the first on top
  logic [31:0] a, b, c, e, f, g;
  logic [31:0] round_sum;  // h + k + w
  logic [31:0] round_sum_d;  // h + k + w + d
  logic [31:0] next_kw;  // k + w of the next round
  logic [31:0] temp_1;  // T1 of the round that a, b, c do next

  logic [ 5:0] k_round;
  logic [31:0] k, k_q;
  sha256_constants constants (
      .round(k_round),
      .k(k)
  );

  logic [31:0] w_new;
  assign w_new = small_sigma_1(
      schedule[63:32]
  ) + schedule[223:192] + small_sigma_0(
      schedule[479:448]
  ) + schedule[511:480];

  logic [31:0] h, next_d;
  assign h = step == STEP_SUM ? digest[31:0] : g;
  assign next_d = step == STEP_SUM ? digest[159:128] : step == STEP_ROUND_0 ? c : b;

  always_ff @(posedge clk) begin
    if (word_ready) begin
      k_q <= k;
      if (init) digest <= INITIAL_HASH;
      else if (resume) digest <= resumed;
      if (word_valid) begin
        schedule <= {schedule[447:0], word};
        loaded   <= loaded + 3'd1;
        if (loaded == 3'd7) begin
          word_ready <= 1'b0;
          step <= 7'd0;
          k_round <= 6'd1;
        end
      end
    end else begin
      step <= step + 7'd1;
      schedule <= {schedule[479:0], w_new};
      k_round <= k_round + 6'd1;
      k_q <= k;
      next_kw <= k_q + schedule[511:480];
      round_sum <= h + next_kw;
      round_sum_d <= h + next_kw + next_d;
      temp_1 <= round_sum + big_sigma_1(e) + choose(e, f, g);
      if (step <= STEP_SUM) begin
        {a, b, c} <= digest[255:160];
        {e, f, g} <= digest[127:32];
      end else begin
        {f, g} <= {e, f};
        e <= round_sum_d + big_sigma_1(e) + choose(e, f, g);
        if (step != STEP_ROUND_0) begin
          {b, c} <= {a, b};
          a <= temp_1 + big_sigma_0(a) + majority(a, b, c);
        end
      end
      // FIPS 180-4 6.2.2 step 4, each word when it is at hand: g and c are about to become h and d.
      if (step == STEP_ROUND_63) digest[31:0] <= digest[31:0] + g;
      if (step == STEP_ROUND_63 + 7'd1) begin
        digest[63:32]   <= digest[63:32] + g;
        digest[95:64]   <= digest[95:64] + f;
        digest[127:96]  <= digest[127:96] + e;
        digest[159:128] <= digest[159:128] + c;
      end
      if (step == STEP_LAST) begin
        digest[191:160] <= digest[191:160] + c;
        digest[223:192] <= digest[223:192] + b;
        digest[255:224] <= digest[255:224] + a;
        word_ready <= 1'b1;
        k_round <= 6'd0;
      end
    end
    if (rst) begin
      word_ready <= 1'b1;
      loaded <= 3'd0;
      k_round <= 6'd0;
    end
  end
endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// Keys of up to four sessions (agents/nfs/crypto-tunnel/session.h): derived from the shared key by NIST SP 800-108r1 4.1
// in counter mode with HMAC-SHA-256, kept in a memory, and one session's at hand.
`default_nettype none

module esp_keys (
    input wire clk,
    input wire rst,

    input wire         key_is_256,
    input wire [255:0] shared,

    // One of these for a cycle; the operands stand until `done`. Then the keys of `id` are at hand.
    input  wire         derive,
    input  wire         load,
    input  wire  [  1:0] id,
    input  wire  [ 31:0] sender,
    input  wire  [ 31:0] receiver,
    input  wire  [ 31:0] spi,
    output logic         done,

    output wire [255:0] cipher_key,  // AES-128: the upper half
    output wire [ 31:0] nonce,
    output wire [255:0] inner,       // HMAC: hash values after the padded keys
    output wire [255:0] outer,

    // hmac_sha256, for derivation
    output wire         hmac_start,
    output wire         hmac_plain,
    output wire  [63:0] hmac_data,
    output wire  [ 3:0] hmac_bytes,
    output wire         hmac_valid,
    input  wire         hmac_ready,
    output wire         hmac_last,
    input  wire         hmac_done,
    input  wire [255:0] hmac_result
);

  // "ESP AES-128-CTR HMAC-SHA-256" and the same with 256.
  localparam logic [223:0] LABEL_128 = {"ESP AES-128-CTR HMAC-SHA-256"};
  localparam logic [223:0] LABEL_256 = {"ESP AES-256-CTR HMAC-SHA-256"};
  localparam logic [31:0] DERIVED_BITS = 32'd768;

  // What is kept of a session: cipher key and nonce, with what follows them, and the two hash values.
  localparam logic [3:0] KEPT_WORDS = 4'd13;
  logic [831:0] kept;
  logic [223:0] derived_rest;
  wire [543:0] derived = {kept[831:512], derived_rest};
  assign cipher_key = derived[543:288];
  assign nonce = key_is_256 ? derived[287:256] : derived[415:384];
  assign inner = kept[511:256];
  assign outer = kept[255:0];
  wire [255:0] hash_key = key_is_256 ? derived[255:0] : derived[383:128];

  // Steps of a derivation: the padded shared key, three outputs, the padded key of the session.
  localparam logic [2:0] SHARED_INNER = 3'd0, SHARED_OUTER = 3'd1, FIRST_OUTPUT = 3'd2, SECOND_OUTPUT = 3'd3,
                         THIRD_OUTPUT = 3'd4, SESSION_INNER = 3'd5, SESSION_OUTER = 3'd6;
  typedef enum logic [2:0] {IDLE, BEGIN, FEED, WAIT, STORE, LOAD} state_t;
  state_t state;
  logic [2:0] step, word;
  logic [3:0] at;
  logic loaded;
  logic [1:0] loaded_id;

  wire output_step = step == FIRST_OUTPUT || step == SECOND_OUTPUT || step == THIRD_OUTPUT;
  wire inner_step = step == SHARED_INNER || step == SESSION_INNER;
  wire [255:0] padded_key = step == SHARED_INNER || step == SHARED_OUTER ? shared : hash_key;
  wire [7:0] pad = inner_step ? 8'h36 : 8'h5c;
  wire [63:0] key_word = (word[2] ? 64'd0 : padded_key[{~word[1:0], 6'd0}+:64]) ^ {8{pad}};
  wire [511:0] message = {
    30'd0, step[1:0] - 2'd1, key_is_256 ? LABEL_256 : LABEL_128, 8'h00, sender, receiver, spi, DERIVED_BITS, 120'd0
  };
  assign hmac_start = state == BEGIN;
  assign hmac_plain = !output_step;
  assign hmac_valid = state == FEED;
  assign hmac_last = word == (output_step ? 3'd6 : 3'd7);
  assign hmac_bytes = output_step && hmac_last ? 4'd1 : 4'd8;
  assign hmac_data = output_step ? message[{~word, 6'd0}+:64] : key_word;

  (* no_rw_check *)  // a word that is being written is not read
  logic [63:0] store [64];
  logic [63:0] read_word;
  always_ff @(posedge clk) begin
    if (state == STORE) store[{id, at}] <= kept[831:768];
    read_word <= store[{id, at}];
  end

  always_ff @(posedge clk) begin
    done <= 1'b0;
    case (state)
      IDLE: begin
        at   <= '0;
        step <= SHARED_INNER;
        if (derive) begin
          loaded <= 1'b0;
          state  <= BEGIN;
        end else if (load) begin
          if (loaded && loaded_id == id) done <= 1'b1;
          else state <= LOAD;
        end
      end
      BEGIN: begin
        word  <= '0;
        state <= FEED;
      end
      FEED:
      if (hmac_ready) begin
        word <= word + 3'd1;
        if (hmac_last) state <= WAIT;
      end
      WAIT:
      if (hmac_done) begin
        step  <= step + 3'd1;
        state <= step == SESSION_OUTER ? STORE : BEGIN;
        case (step)
          SHARED_INNER, SESSION_INNER: kept[511:256] <= hmac_result;
          SHARED_OUTER, SESSION_OUTER: kept[255:0] <= hmac_result;
          FIRST_OUTPUT: kept[831:576] <= hmac_result;
          SECOND_OUTPUT: {kept[575:512], derived_rest[223:32]} <= hmac_result;
          default: derived_rest[31:0] <= hmac_result[255:224];
        endcase
      end
      STORE: begin
        kept <= {kept[767:0], kept[831:768]};
        at   <= at + 4'd1;
        if (at == KEPT_WORDS - 4'd1) begin
          {loaded, loaded_id} <= {1'b1, id};
          done  <= 1'b1;
          state <= IDLE;
        end
      end
      default: begin  // the first word comes in the second cycle
        kept <= {kept[767:0], read_word};
        at   <= at + 4'd1;
        if (at == KEPT_WORDS) begin
          {loaded, loaded_id} <= {1'b1, id};
          done  <= 1'b1;
          state <= IDLE;
        end
      end
    endcase
    if (rst) begin
      state  <= IDLE;
      loaded <= 1'b0;
      done   <= 1'b0;
    end
  end

endmodule

`default_nettype wire

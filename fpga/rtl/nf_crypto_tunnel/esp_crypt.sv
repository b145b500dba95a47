// SPDX-License-Identifier: Apache-2.0
// Encrypts or decrypts the text of an ESP packet in place with AES in counter mode (RFC 3686 4) and makes the
// HMAC-SHA-256 over ESP header, IV and encrypted text (RFC 4303 2.8). The text lies in a memory of 8-byte words; before
// encryption the trailer (RFC 4303 2.4) is put behind the packet.
`default_nettype none

module esp_crypt (
    input wire clk,
    input wire rst,

    input  wire start,  // the operands stand until `done`
    output logic done,

    input wire         encrypt,
    input wire         key_is_256,
    input wire [255:0] cipher_key,
    input wire [ 31:0] nonce,
    input wire [ 31:0] spi,
    input wire [ 31:0] sequence_number,
    input wire [ 63:0] iv,            // first byte in bits 7:0
    input wire [ 10:0] packet_bytes,  // to encrypt
    input wire [ 10:0] text_bytes,    // with the trailer: a multiple of 4

    // The word of `address` is at hand in the next cycle.
    output wire  [ 7:0] address,
    input  wire  [63:0] word,
    output wire         write,
    output wire  [63:0] write_word,
    output logic [15:0] trailer,      // decrypted: length of the padding in bits 7:0, next header

    output wire        hmac_start,
    output wire [63:0] hmac_data,
    output wire [ 3:0] hmac_bytes,
    output wire        hmac_valid,
    input  wire        hmac_ready,
    output wire        hmac_last,
    input  wire        hmac_done
);

  localparam logic [7:0] NEXT_IPV4 = 8'd4;

  function automatic logic [63:0] swap(input logic [63:0] x);
    for (int i = 0; i < 8; i++) swap[8*i+:8] = x[63-8*i-:8];
  endfunction

  typedef enum logic [2:0] {IDLE, ESP_HEADER, IV, READ, MIX, PUT, HASH} state_t;
  state_t state;
  logic [7:0] at;
  wire [7:0] words = text_bytes[10:3] + {7'd0, text_bytes[2]};
  logic last;
  wire half = last && text_bytes[2];
  assign address = at;

  // Key stream.
  wire stream_valid;
  wire [63:0] stream;
  wire queue_full, queue_empty;
  wire put = state == PUT && stream_valid && !queue_full;
  aes_key_stream u_stream (
      .clk, .rst, .start(state == IDLE && start), .counter_block({nonce, swap(iv), 32'd1}), .stop(state == HASH),
      .key_is_256, .key(cipher_key), .valid(stream_valid), .data(stream), .take(put));

  // The trailer: padding 1, 2, 3, its length, next header. Byte i of word `at` is byte `beyond + i` of it.
  logic [11:0] beyond;  // negative: in the packet
  always_ff @(posedge clk) beyond <= {1'b0, at, 3'd0} - {1'b0, packet_bytes};
  wire [2:0] trailer_bytes = packet_bytes[1:0] == 2'd3 ? 3'd5 : 3'd4 - {1'b0, packet_bytes[1:0]};
  logic [63:0] mixed, mixed_next;
  always_comb begin
    mixed_next = word;
    for (int i = 0; i < 8; i++) begin
      logic [4:0] of_trailer;
      of_trailer = beyond[4:0] + 5'(i);
      if (encrypt && (!beyond[11] || (&beyond[10:3] && !of_trailer[4])))
        mixed_next[8*i+:8] = of_trailer == {2'd0, trailer_bytes} - 5'd1 ? NEXT_IPV4 :
                             of_trailer == {2'd0, trailer_bytes} - 5'd2 ? {5'd0, trailer_bytes - 3'd2} :
                             {3'd0, of_trailer} + 8'd1;
    end
  end

  // What follows a text that ends in the middle of a word stays.
  wire [63:0] crypted = mixed ^ swap(half ? {stream[63:32], 32'd0} : stream);
  assign write = put;
  assign write_word = crypted;

  // What is hashed waits for the hash unit, which pauses between blocks.
  wire push = (state == ESP_HEADER || state == IV || put) && !queue_full;
  wire [63:0] pushed = state == ESP_HEADER ? {spi, sequence_number} : state == IV ? swap(iv) :
                       swap(encrypt ? crypted : mixed);
  wire half_popped;
  sync_fifo #(.WIDTH(66), .DEPTH(16)) u_queue (
      .clk, .rst, .push, .push_data({put && last, put && half, pushed}), .full(queue_full),
      .pop(hmac_valid && hmac_ready), .pop_data({hmac_last, half_popped, hmac_data}), .empty(queue_empty), .count());
  assign hmac_valid = !queue_empty;
  assign hmac_bytes = half_popped ? 4'd4 : 4'd8;
  assign hmac_start = state == IDLE && start;
  wire unused = &{1'b0, text_bytes[1:0]};

  always_ff @(posedge clk) begin
    done <= 1'b0;
    case (state)
      IDLE: begin
        at <= '0;
        if (start) state <= ESP_HEADER;
      end
      ESP_HEADER: state <= IV;
      IV: state <= READ;
      READ: begin
        last  <= at == words - 8'd1;
        state <= MIX;
      end
      MIX: begin
        mixed <= mixed_next;
        state <= PUT;
      end
      PUT:
      if (put) begin
        at <= at + 8'd1;
        if (last) trailer <= half ? crypted[31:16] : crypted[63:48];
        state <= last ? HASH : READ;
      end
      default:
      if (hmac_done) begin
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

// SPDX-License-Identifier: Apache-2.0
// Lowers the MSS option of a TCP segment that opens a connection, in a packet of IPv4 that lies in a memory of 8-byte
// words from its first byte on, and keeps the checksum right (RFC 1624 eqn. 3).
`default_nettype none

module mss_clamp (
    input wire clk,
    input wire rst,

    input  wire         start,            // the operands stand until `done`
    input  wire  [ 3:0] header_words,
    input  wire  [12:0] fragment_offset,
    input  wire  [ 7:0] protocol,
    input  wire  [10:0] bytes,            // of the packet
    input  wire  [15:0] most,
    output logic        done,

    // The word of `address` is at hand in the next cycle.
    output logic [10:0] address,
    input  wire  [63:0] word,
    output wire         write,
    output logic [63:0] write_word
);

  localparam logic [7:0] TCP = 8'd6;
  localparam logic [7:0] END = 8'd0, NOP = 8'd1, MSS = 8'd2;

  typedef enum logic [3:0] {
    IDLE, OFFSET, FLAGS, KIND, LENGTH, MSS_HIGH, MSS_LOW, SUM_HIGH, SUM_LOW, SUM, FOLD, PUT_MSS_HIGH, PUT_MSS_LOW,
    PUT_SUM_HIGH, PUT_SUM_LOW
  } state_t;
  state_t state;
  logic [1:0] phase;  // cycle of a state: from the second on `address` stands, then `word`, in the fourth `value`
  wire ready = phase == 2'd3;

  wire [10:0] tcp = {5'd0, header_words, 2'b00};
  logic [7:0] value;

  logic [6:0] at, header_bytes;  // an option, from the TCP header on
  logic [7:0] kind;
  logic [15:0] mss, sum;
  logic [17:0] folded;
  logic [7:0] put;
  wire [10:0] option = tcp + {4'd0, at};
  wire [7:0] after = {1'b0, at} + value;  // `value`: the option's length
  wire [6:0] offset_bytes = {1'b0, value[7:4], 2'b00};

  // At an odd offset the option's bytes stand in the other halves of two words (RFC 1071 2(B)).
  wire [15:0] from = at[0] ? {mss[7:0], mss[15:8]} : mss;
  wire [15:0] to = at[0] ? {most[7:0], most[15:8]} : most;
  wire [16:0] fold_once = {1'b0, folded[15:0]} + {15'd0, folded[17:16]};

  always_ff @(posedge clk) begin
    case (state)
      OFFSET: address <= tcp + 11'd12;
      FLAGS: address <= tcp + 11'd13;
      LENGTH: address <= option + 11'd1;
      MSS_HIGH, PUT_MSS_HIGH: address <= option + 11'd2;
      MSS_LOW, PUT_MSS_LOW: address <= option + 11'd3;
      SUM_HIGH, PUT_SUM_HIGH: address <= tcp + 11'd16;
      SUM_LOW, PUT_SUM_LOW: address <= tcp + 11'd17;
      default: address <= option;
    endcase
  end
  always_comb begin
    case (state)
      PUT_MSS_HIGH: put = most[15:8];
      PUT_MSS_LOW: put = most[7:0];
      PUT_SUM_HIGH: put = sum[15:8];
      default: put = sum[7:0];
    endcase
    for (int i = 0; i < 8; i++) write_word[8*i+:8] = address[2:0] == 3'(i) ? put : word[8*i+:8];
  end
  assign write = ready && (state == PUT_MSS_HIGH || state == PUT_MSS_LOW || state == PUT_SUM_HIGH || state == PUT_SUM_LOW);

  wire is_tcp = protocol == TCP && fragment_offset == 13'd0 && bytes >= tcp + 11'd20;

  always_ff @(posedge clk) begin
    done  <= 1'b0;
    phase <= state == IDLE || ready ? 2'd0 : phase + 2'd1;
    value <= word[{address[2:0], 3'd0}+:8];
    if (state == IDLE) begin
      at <= 7'd20;
      if (start) begin
        if (is_tcp) state <= OFFSET;
        else done <= 1'b1;
      end
    end else if (ready) begin
      case (state)
        OFFSET: begin
          header_bytes <= offset_bytes;
          state <= FLAGS;
          if (offset_bytes < 7'd20 || tcp + {4'd0, offset_bytes} > bytes) {done, state} <= {1'b1, IDLE};
        end
        FLAGS:
        if (value[1]) state <= KIND;
        else {done, state} <= {1'b1, IDLE};
        KIND: begin
          kind <= value;
          if (at >= header_bytes || value == END) {done, state} <= {1'b1, IDLE};
          else if (value == NOP) at <= at + 7'd1;
          else if (at + 7'd1 >= header_bytes) {done, state} <= {1'b1, IDLE};
          else state <= LENGTH;
        end
        LENGTH:
        if (value < 8'd2 || value >= 8'd64 || after > {1'b0, header_bytes}) {done, state} <= {1'b1, IDLE};
        else if (kind == MSS && value == 8'd4) state <= MSS_HIGH;
        else begin
          at <= after[6:0];
          state <= KIND;
        end
        MSS_HIGH: begin
          mss[15:8] <= value;
          state <= MSS_LOW;
        end
        MSS_LOW: begin
          mss[7:0] <= value;
          state <= SUM_HIGH;
        end
        SUM_HIGH: begin
          sum[15:8] <= value;
          state <= SUM_LOW;
          if (mss <= most) {done, state} <= {1'b1, IDLE};
        end
        SUM_LOW: begin
          sum[7:0] <= value;
          state <= SUM;
        end
        SUM: begin
          folded <= {2'd0, ~sum} + {2'd0, ~from} + {2'd0, to};
          state <= FOLD;
        end
        FOLD: begin
          sum <= ~(fold_once[15:0] + {15'd0, fold_once[16]});
          state <= PUT_MSS_HIGH;
        end
        PUT_MSS_HIGH: state <= PUT_MSS_LOW;
        PUT_MSS_LOW: state <= PUT_SUM_HIGH;
        PUT_SUM_HIGH: state <= PUT_SUM_LOW;
        default: {done, state} <= {1'b1, IDLE};
      endcase
    end
    if (rst) begin
      state <= IDLE;
      done  <= 1'b0;
      phase <= 2'd0;
    end
  end

endmodule

`default_nettype wire

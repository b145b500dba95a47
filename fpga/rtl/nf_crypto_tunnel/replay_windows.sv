// SPDX-License-Identifier: Apache-2.0
// Which sequence numbers have come, for each of three sessions: anti-replay as RFC 4303 3.4.3 has it, with the ring of
// RFC 6479. Beside them lie a copy of two windows to read at leisure, and a window to merge in.
`default_nettype none

module replay_windows (
    input wire clk,
    input wire rst,

    // One operation at a time: the operands stand from `start` to `done`, `id` from the cycle after `start` on.
    input wire        start,
    input wire [ 2:0] operation,
    input wire [ 1:0] id,        // of the session: 1 to 3
    input wire [ 1:0] second_id, // SNAPSHOT copies `id` and this one
    input wire [31:0] sequence_number,

    input  wire  [  2:0] quarter,     // READ: of the copies, bit 2 selects one; WRITE: bits 1:0, of the window to merge
    input  wire  [255:0] wdata,
    output logic [255:0] rdata,

    output logic        done,
    output logic        admits,      // CHECK: the number may still come
    output logic [31:0] highest,     // of `id`; both a cycle later
    output logic [31:0] second_highest
);

  localparam logic [2:0] CHECK = 3'd0, MARK = 3'd1, FORGET = 3'd2, SNAPSHOT = 3'd3, READ = 3'd4, WRITE = 3'd5,
                         MERGE = 3'd6;
  localparam logic [31:0] SIZE = 32'd960;  // numbers below the highest by at least this are too old
  localparam logic [2:0] STAGED = 3'd0, COPIES = 3'd4;

  typedef enum logic [2:0] {IDLE, LOOK, DECIDE, ADVANCE, SET, STEP, TURN, PUT} state_t;
  state_t state;

  logic [31:0] highest_of [4];
  always_ff @(posedge clk) begin
    highest <= highest_of[id];
    second_highest <= highest_of[second_id];
  end

  (* no_rw_check *)  // a word that is being written is not read
  logic [63:0] store [128];
  logic [63:0] word, live;
  logic [6:0] read_at, write_at;
  logic [63:0] write_word;
  logic write;
  always_ff @(posedge clk) begin
    if (write) store[write_at] <= write_word;
    word <= store[read_at];
  end

  // Numbers, registered before they decide.
  logic newer, too_old, is_zero, seen;
  logic [15:0] seen_in;     // four bits of the word each
  logic [31:0] age;
  logic [3:0] last_clear;   // ADVANCE: ends behind this word
  logic [4:0] count;
  logic [5:0] at;           // of a copy, a transfer or a merge
  logic [25:0] skipped;
  logic far;                // more than 16 words are skipped

  // MERGE: the words of the ring stand for the 16 blocks of 64 numbers up to that of the highest.
  wire [25:0] top = newer ? sequence_number[31:6] : highest[31:6];
  wire [3:0] behind = top[3:0] - at[3:0];
  logic [26:0] block;       // negative: none
  logic of_live, of_staged;

  wire [63:0] bit_of = 64'd1 << sequence_number[5:0];

  always_comb begin
    read_at = {1'b0, id, sequence_number[9:6]};
    case (operation)
      SNAPSHOT: read_at = {1'b0, at[4] ? second_id : id, at[3:0]};
      READ: read_at = {COPIES | {2'd0, quarter[2]}, quarter[1:0], at[1:0]};
      MERGE: read_at = state == STEP ? {1'b0, id, at[3:0]} : {STAGED, at[3:0]};
      default: ;
    endcase
  end

  always_ff @(posedge clk) begin
    write <= 1'b0;
    done <= 1'b0;
    // Follow the operands, which stand.
    age <= highest - sequence_number;
    skipped <= sequence_number[31:6] - highest[31:6];
    far <= skipped > 26'd16;
    newer <= sequence_number > highest;
    is_zero <= sequence_number == 32'd0;
    too_old <= age >= SIZE;
    for (int i = 0; i < 16; i++) seen_in[i] <= (word[4*i+:4] & bit_of[4*i+:4]) != 4'd0;
    seen <= seen_in != 16'd0;
    block <= {1'b0, top} - {23'd0, behind};
    of_live <= !block[26] && block[25:0] <= highest[31:6];
    of_staged <= !block[26] && block[25:0] <= sequence_number[31:6];
    case (state)
      IDLE: begin
        at <= '0;
        if (start) state <= LOOK;
      end
      LOOK: begin
        at <= at + 6'd1;  // until the comparisons hold
        if (at == 6'd4) begin
          at <= '0;
          state <= operation == CHECK ? DECIDE : operation == MARK ? ADVANCE : STEP;
          count <= !newer ? 5'd0 : far ? 5'd16 : skipped[4:0];
          last_clear <= highest[9:6];
        end
      end
      DECIDE: begin
        admits <= newer || (!is_zero && !too_old && !seen);
        done   <= 1'b1;
        state  <= IDLE;
      end
      ADVANCE: begin
        write_at <= {1'b0, id, last_clear + 4'd1};
        write_word <= '0;
        last_clear <= last_clear + 4'd1;
        if (count != 5'd0) begin
          write <= 1'b1;
          count <= count - 5'd1;
        end else begin
          at <= at + 6'd1;  // until what was cleared is read
          if (at == 6'd2) state <= SET;
        end
      end
      SET: begin
        write <= 1'b1;
        write_at <= {1'b0, id, sequence_number[9:6]};
        write_word <= word | bit_of;
        if (newer) highest_of[id] <= sequence_number;
        done  <= 1'b1;
        state <= IDLE;
      end
      STEP: state <= TURN;  // the word is being read
      TURN: begin
        live  <= word;
        state <= PUT;
      end
      default: begin
        write <= operation != READ;
        case (operation)
          FORGET: {write_at, write_word} <= {1'b0, id, at[3:0], 64'd0};
          SNAPSHOT: {write_at, write_word} <= {COPIES | {2'd0, at[4]}, at[3:0], live};
          WRITE: {write_at, write_word} <= {STAGED, quarter[1:0], at[1:0], wdata[{at[1:0], 6'd0}+:64]};
          READ: rdata[{at[1:0], 6'd0}+:64] <= live;
          default:
          {write_at, write_word} <= {1'b0, id, at[3:0], (of_live ? live : 64'd0) | (of_staged ? word : 64'd0)};
        endcase
        at <= at + 6'd1;
        state <= STEP;
        if (at == (operation == SNAPSHOT ? 6'd31 : operation == FORGET || operation == MERGE ? 6'd15 : 6'd3)) begin
          if (operation == FORGET) highest_of[id] <= '0;
          if (operation == MERGE && newer) highest_of[id] <= sequence_number;
          done  <= 1'b1;
          state <= IDLE;
        end
      end
    endcase
    if (rst) begin
      state <= IDLE;
      done  <= 1'b0;
      write <= 1'b0;
    end
  end

endmodule

`default_nettype wire

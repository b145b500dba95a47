// SPDX-License-Identifier: Apache-2.0
// Where a counter is further above the mean than k deviations, in exact integer arithmetic. With n counters above 0,
// their sum S and the sum of their squares Q, and k in quarters,
//
//   n*c > S  and  (n*c - S)^2 * 16 > k^2 * (n*Q - S^2)   is the same as   c > (S + isqrt(k^2 * (n*Q - S^2) / 16)) / n
//
// with divisions that round down, for whole c. So one square root and one division a window replace the products for
// each counter; they take a bit a cycle, about 200 cycles in all.
`default_nettype none

module ddos_threshold (
    input wire clk,
    input wire rst,

    input wire        start,     // the operands hold until `done`
    input wire [10:0] counters,  // n, up to 1,024
    input wire [25:0] sum,
    input wire [41:0] squares,
    input wire [ 7:0] quarters,

    output logic        done,       // one cycle; the results hold until the next start
    output logic [15:0] threshold,  // 0 where n < 2; at most 65,535, which no counter exceeds
    output logic [15:0] mean        // S / n
);

  typedef enum logic [2:0] {IDLE, TIMES_SQUARES, MINUS_SUM_SQUARED, TIMES_QUARTERS, ROOT, DIVIDE, MEAN} state_t;
  state_t state;
  logic [5:0] steps;  // left in the state after this one
  wire last = steps == 0;

  // Shift and add: `total` gains or loses `addend` where the low bit of `factor` is set.
  logic [67:0] total, addend;
  logic [25:0] factor;
  logic [15:0] quarters_squared;
  wire  [67:0] changed = state == MINUS_SUM_SQUARED ? total - addend : total + addend;
  wire  [67:0] total_next = factor[0] ? changed : total;

  // Square root of the upper 64 bits of `total`, two bits a step from the top.
  logic [31:0] remainder;
  logic [31:0] root;
  wire  [33:0] remainder_two = {remainder, total[67:66]};
  wire  [34:0] root_trial = {1'b0, remainder_two} - {1'b0, root, 2'b01};

  // Division of `dividend` by n, a bit a step from the top; the quotient comes in from below.
  logic [32:0] dividend;
  logic [ 9:0] rest;
  wire  [10:0] rest_two = {rest, dividend[32]};
  wire  [11:0] rest_trial = {1'b0, rest_two} - {1'b0, counters};
  wire         unused = &{1'b0, root_trial[33:32], rest_trial[10]};  // 0 in every remainder that is used
  wire  [32:0] dividend_next = {dividend[31:0], !rest_trial[11]};

  always_ff @(posedge clk) begin
    done  <= 1'b0;
    steps <= steps - 1'b1;
    case (state)
      IDLE: begin
        quarters_squared <= quarters * quarters;
        total            <= '0;
        addend           <= {26'd0, squares};
        factor           <= {15'd0, counters};
        steps            <= 6'd10;
        if (start) state <= TIMES_SQUARES;
      end
      TIMES_SQUARES, MINUS_SUM_SQUARED, TIMES_QUARTERS: begin
        total  <= total_next;
        addend <= addend << 1;
        factor <= factor >> 1;
        if (last && state == TIMES_SQUARES) begin
          addend <= {42'd0, sum};
          factor <= sum;
          steps  <= 6'd25;
          state  <= MINUS_SUM_SQUARED;
        end
        if (last && state == MINUS_SUM_SQUARED) begin
          total  <= '0;
          addend <= total_next;
          factor <= {10'd0, quarters_squared};
          steps  <= 6'd15;
          state  <= TIMES_QUARTERS;
        end
        if (last && state == TIMES_QUARTERS) begin
          {remainder, root} <= '0;
          steps             <= 6'd31;
          state             <= ROOT;
        end
      end
      ROOT: begin
        total     <= total << 2;
        remainder <= root_trial[34] ? remainder_two[31:0] : root_trial[31:0];
        root      <= {root[30:0], !root_trial[34]};
        if (last) begin
          dividend <= {7'd0, sum} + {1'b0, root[30:0], !root_trial[34]};
          rest     <= '0;
          steps    <= 6'd32;
          state    <= DIVIDE;
        end
      end
      DIVIDE, MEAN: begin
        rest     <= rest_trial[11] ? rest_two[9:0] : rest_trial[9:0];
        dividend <= dividend_next;
        if (last && state == DIVIDE) begin
          threshold <= counters < 11'd2 ? 16'd0 : |dividend_next[32:16] ? 16'hffff : dividend_next[15:0];
          dividend  <= {7'd0, sum};
          rest      <= '0;
          steps     <= 6'd32;
          state     <= MEAN;
        end
        if (last && state == MEAN) begin
          mean  <= counters == 0 ? 16'd0 : dividend_next[15:0];
          done  <= 1'b1;
          state <= IDLE;
        end
      end
      default: state <= IDLE;
    endcase
    if (rst) begin
      state <= IDLE;
      done  <= 1'b0;
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// Translations by inside and by outside end. The host's operations keep both tables in step: a put is refused where one
// of the two sets is full or either end already has another partner. Operations are those of flow_table.
`default_nettype none

module nat_tables (
    input  wire         clk,
    input  wire         rst,
    input  wire         clear,
    output wire         clearing,
    input  wire  [15:0] now_s,
    input  wire         tick_s,

    // A packet's search, in the table of its direction. A found translation is idle for 0 s from then on.
    input  wire         find_valid,
    input  wire         find_return,     // by outside end; holds until `found`
    output wire         find_ready,
    input  wire  [55:0] find_key,        // {address, port, protocol}
    output wire         found,
    output wire         hit,
    output wire  [47:0] partner,         // {address, port}
    input  wire         commit,

    input  wire         host_start,
    input  wire  [ 3:0] host_operation,
    input  wire  [11:0] host_index,
    input  wire  [31:0] inside_address, outside_address,
    input  wire  [15:0] inside_port, outside_port,
    input  wire  [ 7:0] protocol,
    input  wire  [15:0] host_idle_s,
    output logic        host_done,       // one cycle, with all below
    output logic        host_valid,
    output logic        host_full,
    output logic [55:0] entry_inside,
    output logic [47:0] entry_outside,
    output logic [15:0] entry_idle_s,
    output wire  [12:0] in_use
);

  localparam logic [3:0] READ = 4'd1, PUT = 4'd2, DELETE = 4'd3, FIND = 4'd4;

  // Steps of a host operation; each is one operation on one table.
  //   put: look in both; put by outside end, put by inside end; take the first back where the second is refused
  //   others: read or find by inside end, then find or delete by outside end, then delete by inside end
  localparam logic [2:0] REST = 3'd0, LOOK_IN = 3'd1, LOOK_OUT = 3'd2, PUT_OUT = 3'd3, PUT_IN = 3'd4, UNDO_OUT = 3'd5,
      DELETE_OUT = 3'd6, DELETE_IN = 3'd7;
  logic [ 2:0] step;
  logic        step_starts, was_in, same_in;
  wire  [55:0] inside_key = {inside_address, inside_port, protocol};
  wire  [55:0] outside_key = {outside_address, outside_port, protocol};
  wire         puts = host_operation == PUT;
  wire  [55:0] key_in = puts ? inside_key : entry_inside;
  wire  [55:0] key_out = puts ? outside_key : {entry_outside, entry_inside[7:0]};
  wire         of_in = step == LOOK_IN || step == PUT_IN || step == DELETE_IN;
  wire  [ 3:0] operation = step == LOOK_IN ? (host_operation == READ ? READ : FIND) : step == LOOK_OUT ? FIND :
                           step == PUT_OUT || step == PUT_IN ? PUT : DELETE;

  wire         in_ready, in_found, in_hit, in_done, in_valid, in_full;
  wire         out_ready, out_found, out_hit, out_done, out_valid, out_full, in_clearing, out_clearing;
  wire  [47:0] in_value, out_value;
  wire  [55:0] in_entry_key;
  wire  [15:0] in_idle_s, out_idle_s;
  assign clearing   = in_clearing || out_clearing;
  assign find_ready = find_return ? out_ready : in_ready;
  assign found      = in_found || out_found;
  assign hit        = find_return ? out_hit : in_hit;
  assign partner    = find_return ? out_value : in_value;

  flow_table #(.KEY_W(56), .VALUE_W(48)) u_inside (
      .clk, .rst, .clear, .clearing(in_clearing), .now_s, .tick_s, .idle_timeout_s(16'hffff),
      .transitory_timeout_s(16'd0), .hash_key('0), .evicted(),
      .find_valid(find_valid && !find_return), .find_ready(in_ready), .find_key, .found(in_found), .hit(in_hit), .room(),
      .value(in_value), .commit(commit && !find_return), .commit_put(in_hit), .commit_delete(1'b0),
      .commit_value(in_value),
      .host_start(step_starts && of_in), .host_operation(operation), .host_index,
      .host_key(step == LOOK_IN ? inside_key : key_in), .host_value({outside_address, outside_port}), .host_idle_s,
      .host_done(in_done), .host_valid(in_valid), .host_full(in_full), .host_entry_key(in_entry_key),
      .host_entry_idle_s(in_idle_s), .in_use);
  flow_table #(.KEY_W(56), .VALUE_W(48)) u_outside (
      .clk, .rst, .clear, .clearing(out_clearing), .now_s, .tick_s, .idle_timeout_s(16'hffff),
      .transitory_timeout_s(16'd0), .hash_key('0), .evicted(),
      .find_valid(find_valid && find_return), .find_ready(out_ready), .find_key, .found(out_found), .hit(out_hit), .room(),
      .value(out_value), .commit(commit && find_return), .commit_put(out_hit), .commit_delete(1'b0),
      .commit_value(out_value),
      .host_start(step_starts && !of_in), .host_operation(operation), .host_index(12'd0),
      .host_key(key_out), .host_value({inside_address, inside_port}), .host_idle_s,
      .host_done(out_done), .host_valid(out_valid), .host_full(out_full), .host_entry_key(), .host_entry_idle_s(out_idle_s),
      .in_use());

  wire done = of_in ? in_done : out_done;
  wire out_is_other = out_valid && out_value != {inside_address, inside_port};
  always_ff @(posedge clk) begin
    step_starts <= 1'b0;
    host_done   <= 1'b0;
    if (rst) begin
      step <= REST;
    end else if (step == REST) begin
      {host_valid, host_full} <= 2'b00;
      step_starts             <= host_start;
      if (host_start) step <= LOOK_IN;
    end else if (done && !step_starts) begin
      step_starts <= 1'b1;
      case (step)
        LOOK_IN: begin
          was_in        <= in_valid;
          same_in       <= in_value == {outside_address, outside_port};
          entry_inside  <= in_entry_key;
          entry_outside <= in_value;
          entry_idle_s  <= in_idle_s;
          step          <= LOOK_OUT;
          if (!puts && !in_valid) finish(1'b0, 1'b0);
        end
        LOOK_OUT: begin
          if (out_valid && out_idle_s < entry_idle_s) entry_idle_s <= out_idle_s;
          step <= PUT_OUT;
          if (puts) begin
            if (out_is_other || (was_in && !same_in)) finish(1'b0, 1'b1);
          end else if (host_operation == DELETE) step <= DELETE_OUT;
          else finish(1'b1, 1'b0);
        end
        PUT_OUT: begin
          step <= PUT_IN;
          if (out_full) finish(1'b0, 1'b1);
        end
        PUT_IN: begin
          step <= UNDO_OUT;
          if (!in_full) finish(1'b1, 1'b0);
        end
        UNDO_OUT: finish(1'b0, 1'b1);
        DELETE_OUT: step <= DELETE_IN;
        default: finish(1'b1, 1'b0);
      endcase
    end
  end

  task automatic finish(input logic valid, input logic full);
    step        <= REST;
    step_starts <= 1'b0;
    host_done   <= 1'b1;
    host_valid  <= valid;
    host_full   <= full;
  endtask

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// The registers that every slot module has (regs/common.yaml), the event FIFO, and a port for the module's own registers.
// An access takes four cycles. A module's own register is written in the one cycle with `own_write`; `own_rdata` may lag
// `own_addr` by one cycle. Addresses from 0x080 on are the module's.
`default_nettype none

module csr_common #(
    parameter logic [31:0] ID = 32'd0,
    parameter logic [31:0] VERSION = 32'd0,
    parameter bit HAS_TABLE = 1'b0
) (
    input  wire          clk,
    input  wire          rst,

    input  wire  [ 15:0] csr_addr,
    input  wire          csr_write,
    input  wire  [ 31:0] csr_wdata,
    input  wire          csr_read,
    output logic [ 31:0] csr_rdata,
    output logic         csr_ack,

    output logic         enable,
    output logic         clear,              // one cycle: clear tables
    input  wire          busy,
    input  wire          clearing,
    input  wire          frame_in,           // each cycle with one of these counts one
    input  wire          frame_out,
    input  wire          frame_oversize,
    input  wire  [  3:0] frame_drop,         // by reason

    input  wire          event_valid,        // lost and counted where 16 wait
    input  wire  [255:0] event_words,        // word 0, the type, in bits 31:0

    output logic         table_start,        // one cycle; the operands hold until `table_done`
    output logic [  3:0] table_operation,    // 1 read, 2 put, 3 delete, 4 find
    output logic [ 27:0] table_index,
    output logic [255:0] table_wdata,        // word 0 in bits 31:0
    input  wire          table_done,
    input  wire          table_valid,        // with `table_done`, as is all below
    input  wire          table_full,
    input  wire  [255:0] table_rdata,
    input  wire  [ 15:0] table_in_use,       // always

    output logic         own_write,
    output logic [ 15:0] own_addr,
    output logic [ 31:0] own_wdata,
    input  wire  [ 31:0] own_rdata
);

  `include "common_regs.svh"

  // An access: latched, performed, read back, acknowledged; then the request must go away.
  localparam logic [4:0] IDLE = 5'b00001, PERFORM = 5'b00010, LOOK = 5'b00100, ACK = 5'b01000, REST = 5'b10000;
  logic [4:0] state;
  logic is_write;
  wire  request = csr_read || csr_write;
  wire  perform_write = state[1] && is_write;
  wire  perform_read = state[1] && !is_write;

  always_ff @(posedge clk) begin
    if (rst) begin
      state <= IDLE;
    end else begin
      case (state)
        IDLE: if (request) state <= PERFORM;
        PERFORM: state <= LOOK;
        LOOK: state <= ACK;
        ACK: state <= request ? REST : IDLE;
        default: if (!request) state <= IDLE;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (state[0]) begin
      own_addr  <= csr_addr;
      own_wdata <= csr_wdata;
      is_write  <= csr_write;
    end
  end

  wire own_space = |own_addr[15:7];
  wire in_entry = own_addr[6:5] == 2'b11;
  assign own_write = perform_write && own_space;
  wire write_control = perform_write && own_addr == CSR_CONTROL;
  wire write_command = perform_write && own_addr == CSR_TABLE_COMMAND && HAS_TABLE && !table_busy;
  wire write_data = perform_write && !own_space && in_entry && HAS_TABLE && !table_busy;
  wire read_event = perform_read && own_addr == CSR_EVENT_DATA;

  always_ff @(posedge clk) begin
    if (rst) {enable, clear} <= '0;
    else begin
      clear <= write_control && own_wdata[1];
      if (write_control) enable <= own_wdata[0];
    end
  end

  // Counters.
  logic [31:0] frames_in, frames_out, oversize, events_lost;
  logic [31:0] drops [4];
  logic        event_full;
  always_ff @(posedge clk) begin
    if (rst || clear) begin
      {frames_in, frames_out, oversize, events_lost} <= '0;
      for (int i = 0; i < 4; i++) drops[i] <= '0;
    end else begin
      frames_in  <= frames_in + 32'(frame_in);
      frames_out <= frames_out + 32'(frame_out);
      oversize   <= oversize + 32'(frame_oversize);
      for (int i = 0; i < 4; i++) drops[i] <= drops[i] + 32'(frame_drop[i]);
      events_lost <= events_lost + 32'(event_valid && event_full);
    end
  end

  // Events: `event_word` counts the words taken of the oldest.
  wire [255:0] oldest;
  wire         no_event;
  wire [  4:0] event_count;
  logic [ 2:0] event_word;
  logic [31:0] event_data;
  wire  event_taken = read_event && !no_event && event_word == 3'd7;
  sync_fifo #(.WIDTH(256), .DEPTH(16)) u_events (
      .clk, .rst(rst || clear), .push(event_valid), .push_data(event_words), .full(event_full),
      .pop(event_taken), .pop_data(oldest), .empty(no_event), .count(event_count));

  always_ff @(posedge clk) begin
    if (rst || clear) event_word <= '0;
    else if (read_event && !no_event) event_word <= event_word + 1'b1;
    if (perform_read) event_data <= no_event ? 32'd0 : oldest[{event_word, 5'd0}+:32];
  end

  // Table access.
  logic table_busy, entry_valid, put_refused;
  always_ff @(posedge clk) begin
    if (rst) begin
      {table_start, table_busy, entry_valid, put_refused} <= '0;
    end else begin
      table_start <= write_command;
      if (write_command) table_busy <= 1'b1;
      else if (table_done) {table_busy, entry_valid, put_refused} <= {1'b0, table_valid, table_full};
    end
    if (write_command) {table_operation, table_index} <= own_wdata;
    if (table_done && table_valid && table_operation != 4'd2) table_wdata <= table_rdata;
    else if (write_data) table_wdata[{own_addr[4:2], 5'd0}+:32] <= own_wdata;
  end

  // Read back.
  wire  [31:0] drop_count = drops[own_addr[3:2] ^ 2'd2];  // the first is at 0x018
  wire  [31:0] entry_word = table_wdata[{own_addr[4:2], 5'd0}+:32];
  logic [31:0] common_rdata;
  always_comb begin
    case (own_addr)
      CSR_ID:           common_rdata = ID;
      CSR_VERSION:      common_rdata = VERSION;
      CSR_CONTROL:      common_rdata = {31'd0, enable};
      CSR_STATUS:       common_rdata = {30'd0, clearing, busy};
      CSR_FRAMES_IN:    common_rdata = frames_in;
      CSR_FRAMES_OUT:   common_rdata = frames_out;
      CSR_DROPS, CSR_DROPS + 16'd4, CSR_DROPS + 16'd8, CSR_DROPS + 16'd12:
                        common_rdata = drop_count;
      CSR_EVENT_COUNT:  common_rdata = {27'd0, event_count};
      CSR_EVENT_DATA:   common_rdata = event_data;
      CSR_EVENT_LOST:   common_rdata = events_lost;
      CSR_OVERSIZE:     common_rdata = oversize;
      CSR_TABLE_STATUS: common_rdata = {table_in_use, 13'd0, put_refused, entry_valid, table_busy};
      default:          common_rdata = in_entry ? entry_word : 32'd0;
    endcase
  end

  assign csr_ack = state[3];
  always_ff @(posedge clk) if (state[2]) csr_rdata <= is_write ? 32'd0 : own_space ? own_rdata : common_rdata;

endmodule

`default_nettype wire

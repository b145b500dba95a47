// SPDX-License-Identifier: Apache-2.0
// The counters of half-open connections by destination, and the walks over them at the end of a window.
//
// Frames go on during a walk, and all that is judged is nevertheless the counter at the end of the window, its value and
// its address: `epoch` turns over with the window, and whoever comes to a counter of the old epoch first, a frame or the
// walk, saves both to `snapshots` and halves the value. Walks and the table port take a cycle only where no frame is
// near, so that a read never misses a write. Frames that count are at least seven beats apart, and each takes five
// cycles from the others.
`default_nettype none

module ddos_counters (
    input wire clk,
    input wire rst,

    // A frame that counts, while `ready`. Five cycles later `flagged` is high if it is a SYN to a flagged destination.
    output wire        ready,
    input  wire        access,
    input  wire        raise,    // a SYN, else an ACK
    input  wire [31:0] address,
    output wire        flagged,

    // One cycle starts a walk; `walk_done` ends it.
    input  wire  clear,
    input  wire  gather,       // turns the epoch over
    input  wire  judge,
    input  wire  window_busy,  // from the cycle after `gather` to the end of the judging walk: the table port waits
    output logic clearing,
    output wire  walking,
    output wire  walk_done,

    // The window's sums, valid two cycles after a gathering walk.
    output logic [10:0] counters,
    output logic [25:0] sum,
    output logic [41:0] squares,

    // The judging walk flags destinations of counters that had at least `limit`, and clears the others.
    input  wire  [16:0] limit,
    output wire         change,          // one cycle a change
    output wire         change_flagged,  // else cleared
    output wire  [31:0] change_address,
    output wire  [15:0] change_count,
    output logic [10:0] flags_set,

    // Entries, as csr_common's table port has them.
    input  wire          table_start,
    input  wire  [  3:0] table_operation,
    input  wire  [  9:0] table_index,
    input  wire  [127:0] table_wdata,
    output logic         table_done,
    output logic         table_valid,
    output logic [127:0] table_rdata
);

  localparam int ENTRIES = 1024;
  localparam logic [3:0] OP_READ = 4'd1, OP_PUT = 4'd2, OP_DELETE = 4'd3;

  // Frames: hash in stage 1, index in 2, read in 3, data in 4, verdict and write in 5.
  logic [5:1] frame, frame_raise;
  logic [31:0] frame_address [1:5];
  wire [31:0] frame_hash;
  logic [9:0] frame_index;
  crc32c #(.WIDTH(32)) u_frame_hash (.clk, .start(access), .data(address), .crc(frame_hash));
  always_ff @(posedge clk) begin
    frame       <= rst ? 5'd0 : {frame[4:1], access};
    frame_raise <= {frame_raise[4:1], raise};
    frame_index <= frame_hash[9:0];
    frame_address[1] <= address;
    for (int i = 2; i <= 5; i++) frame_address[i] <= frame_address[i-1];
  end
  assign ready = frame[4:1] == 0;
  wire quiet = ready && !access;

  // Walks: read in stage 3 with the frames, data in 4, write in 5; sums and events follow in 6 and 7.
  logic epoch, gathering, judging;
  logic [10:0] next;  // bit 10: all are read
  logic [6:3] walk;
  wire step = walking && !next[10] && quiet && entry[4:3] == 0 && !(judging && walk[3]);
  assign walking = clearing || gathering || judging;
  assign walk_done = walking && next[10] && walk == 0;
  always_ff @(posedge clk) begin
    if (rst || clear) begin
      {clearing, gathering, judging} <= 3'b100;
      next <= '0;
      walk <= '0;
    end else begin
      walk <= {walk[5:3], step};
      if (step) next <= next + 1'b1;
      if (gather || judge) begin
        {gathering, judging} <= {gather, judge};
        next <= '0;
      end else if (walk_done) begin
        {clearing, gathering, judging} <= 3'b000;
      end
    end
    if (rst) epoch <= 1'b0;
    else if (gather) epoch <= !epoch;
  end

  // The table port, in the same stages.
  logic asked, hashed;
  logic [5:3] entry;
  wire [31:0] entry_hash;
  wire entry_step = asked && hashed && !walking && !window_busy && quiet;
  wire put = table_operation == OP_PUT, remove = table_operation == OP_DELETE;
  crc32c #(.WIDTH(32)) u_entry_hash (.clk, .start(table_start), .data(table_wdata[31:0]), .crc(entry_hash));
  wire unused = &{1'b0, frame_hash[31:10], entry_hash[31:10]};
  always_ff @(posedge clk) begin
    if (rst) {asked, hashed, entry, table_done} <= '0;
    else begin
      if (table_start) asked <= 1'b1;
      else if (entry_step) asked <= 1'b0;
      hashed     <= asked && !entry_step;
      entry      <= {entry[4:3], entry_step};
      table_done <= entry[5];
    end
  end

  // Memories, all with one read and one write a cycle.
  logic [16:0] counts [ENTRIES];  // epoch and count
  logic [31:0] addresses [ENTRIES];  // that raised the counter last
  logic [47:0] snapshots [ENTRIES];  // address and count at the end of the window
  logic flags [ENTRIES];
  logic [31:0] flagged_addresses [ENTRIES];

  logic [9:0] index_3, index_4, index_5;
  logic [16:0] count_4;
  logic [15:0] count_5, snapshot_4, snapshot_5;
  logic [31:0] address_4, address_5, snapshot_address_4, snapshot_address_5, flagged_address_4, flagged_address_5;
  logic flag_4, flag_5, epoch_3, epoch_4, epoch_5, old_epoch;
  always_ff @(posedge clk) begin
    index_3 <= frame[2] ? frame_index : walking ? next[9:0] : table_operation == OP_READ ? table_index :
               entry_hash[9:0];
    {index_5, index_4} <= {index_4, index_3};
    count_4           <= counts[index_3];
    address_4         <= addresses[index_3];
    flag_4            <= flags[index_3];
    flagged_address_4 <= flagged_addresses[index_3];
    {snapshot_address_4, snapshot_4} <= snapshots[index_3];
    {count_5, address_5}             <= {count_4[15:0], address_4};
    {snapshot_address_5, snapshot_5} <= {snapshot_address_4, snapshot_4};
    {flag_5, flagged_address_5}      <= {flag_4, flagged_address_4};
    {epoch_5, epoch_4, epoch_3}      <= {epoch_4, epoch_3, epoch};
    old_epoch                        <= count_4[16] != epoch_4;
  end

  // Stage 5: the count now and at the end of the window. An access belongs to the epoch in which it was read.
  wire [15:0] count_now = old_epoch ? {1'b0, count_5[15:1]} : count_5;
  wire [15:0] count_raised = count_now + 16'(!(&count_now));
  wire [15:0] count_lowered = count_now - 16'(count_now != 0);
  wire [15:0] count_end = old_epoch ? count_5 : snapshot_5;
  wire [15:0] count_next = !frame[5] ? count_now : frame_raise[5] ? count_raised : count_lowered;

  // Verdicts and writes.
  wire same = flagged_address_5 == (frame[5] ? frame_address[5] : snapshot_address_5);
  wire judged = walk[5] && judging;
  wire high = {1'b0, snapshot_5} >= limit;
  wire write_entry = entry[5] && (put || remove);
  assign flagged = frame[5] && frame_raise[5] && flag_5 && same;
  always_ff @(posedge clk) begin
    if (frame[5] || (walk[5] && !judging) || write_entry)
      counts[index_5] <= {epoch_5, clearing || remove && write_entry ? 16'd0 : write_entry ? table_wdata[47:32] : count_next};
    if ((frame[5] || walk[5]) && old_epoch) snapshots[index_5] <= {address_5, count_5};
    if ((frame[5] && frame_raise[5]) || write_entry)
      addresses[index_5] <= write_entry ? table_wdata[31:0] : frame_address[5];
    if (judged || (walk[5] && clearing) || write_entry)
      flags[index_5] <= judged ? high : write_entry && put && table_wdata[64];
    if ((judged && high) || write_entry)
      flagged_addresses[index_5] <= write_entry ? table_wdata[127:96] : snapshot_address_5;
    if (entry[5]) begin
      table_valid <= put || flag_5 || count_now != 0;
      table_rdata <= put ? table_wdata : {flag_5 ? flagged_address_5 : 32'd0, 31'd0, flag_5, 16'd0, count_now, address_5};
    end
  end

  // Stages 6 and 7: events. A counter whose destination changed is cleared and flagged, in this order.
  logic clears_6, flags_6, flags_7, put_flag_6, lost_flag_6;
  logic [31:0] address_6, address_7, flagged_address_6;
  logic [15:0] count_6, count_7;
  always_ff @(posedge clk) begin
    clears_6    <= judged && flag_5 && !(high && same) && !rst;
    flags_6     <= judged && high && !(flag_5 && same) && !rst;
    flags_7     <= flags_6 && !rst;
    put_flag_6  <= write_entry && put && table_wdata[64];
    lost_flag_6 <= write_entry && flag_5;
    {address_7, address_6, flagged_address_6} <= {address_6, snapshot_address_5, flagged_address_5};
    {count_7, count_6} <= {count_6, count_end};
    if (clearing) flags_set <= '0;
    else flags_set <= flags_set + 11'(flags_6 || put_flag_6) - 11'(clears_6 || lost_flag_6);
  end
  assign change = clears_6 || flags_7;
  assign change_flagged = !clears_6;
  assign change_address = clears_6 ? flagged_address_6 : address_7;
  assign change_count = clears_6 ? count_6 : count_7;

  // Sums, from stage 6 of the gathering walk on.
  logic square_valid;
  logic [31:0] square;
  always_ff @(posedge clk) begin
    square_valid <= walk[6] && gathering;
    square       <= count_6 * count_6;
    if (rst || clear || gather) begin
      {counters, sum, squares} <= '0;
    end else begin
      if (walk[6] && gathering) begin
        counters <= counters + 11'(count_6 != 0);
        sum      <= sum + {10'd0, count_6};
      end
      if (square_valid) squares <= squares + {10'd0, square};
    end
  end

endmodule

`default_nettype wire

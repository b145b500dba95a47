// SPDX-License-Identifier: Apache-2.0
// The counters of half-open connections by destination, and the walks over them at the end of a window.
//
// Frames go on during a walk, and all that is judged is nevertheless the value at the end of the window: `epoch` turns
// over with the window, and whoever comes to a counter of the old epoch first, a frame or the walk, saves its value to
// `snapshots` and halves it. A walk steps only in cycles in which no frame is near its access, so that a read never
// misses a write; frames that count are at least seven beats apart, of which five block the walk.
`default_nettype none

module ddos_counters (
    input wire clk,
    input wire rst,

    // A frame that counts. Five cycles later `flagged` says whether its destination is flagged.
    input  wire         access,
    input  wire         raise,   // a SYN, else an ACK
    input  wire  [31:0] address,
    output logic        flagged,

    // One cycle starts a walk; `walk_done` ends it.
    input  wire  clear,
    input  wire  gather,     // turns the epoch over
    input  wire  judge,
    output logic clearing,
    output logic walking,
    output logic walk_done,

    // The window's sums, valid after a gathering walk.
    output logic [10:0] counters,
    output logic [25:0] sum,
    output logic [41:0] squares,

    // The judging walk flags counters that had at least `limit`.
    input  wire  [16:0] limit,
    output logic        change,          // one cycle a change of a flag
    output logic        change_flagged,
    output logic [31:0] change_address,
    output logic [15:0] change_count,
    output logic [10:0] flags_set
);

  localparam int ENTRIES = 1024;

  // Frames: hash in stage 1, index in 2, read in 3, data in 4, write in 5.
  logic [5:1] frame, frame_raise;
  logic [31:0] frame_address [1:5];
  wire  [31:0] hash;
  logic [9:0] frame_index;
  crc32c #(.WIDTH(32)) u_hash (.clk, .start(access), .data(address), .crc(hash));

  always_ff @(posedge clk) begin
    frame       <= rst ? 5'd0 : {frame[4:1], access};
    frame_raise <= {frame_raise[4:1], raise};
    frame_index <= hash[9:0];
    frame_address[1] <= address;
    for (int i = 2; i <= 5; i++) frame_address[i] <= frame_address[i-1];
  end

  // Walks: index issued, read in stage 3 with the frames, data in 4, write in 5.
  logic epoch, gathering, judging;
  logic [10:0] next;  // bit 10: all issued
  wire  step = walking && !next[10] && !access && frame[4:1] == 0;
  logic [5:3] walk;
  assign walking = clearing || gathering || judging;
  assign walk_done = walking && next[10] && walk == 0;

  always_ff @(posedge clk) begin
    if (rst || clear) begin
      {clearing, gathering, judging} <= 3'b100;
      next <= '0;
      walk <= '0;
    end else begin
      walk <= {walk[4:3], step};
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

  // Memories, all with one read and one write a cycle.
  logic [16:0] counts [ENTRIES];  // epoch and count
  logic [15:0] snapshots [ENTRIES];
  logic [31:0] addresses [ENTRIES];
  logic flags [ENTRIES];

  logic [9:0] index_3, index_4, index_5;
  logic [16:0] count_4;
  logic [15:0] snapshot_4;
  logic [31:0] address_4;
  logic flag_4;
  always_ff @(posedge clk) begin
    index_3 <= frame[2] ? frame_index : next[9:0];
    {index_5, index_4} <= {index_4, index_3};
    count_4    <= counts[index_3];
    snapshot_4 <= snapshots[index_3];
    address_4  <= addresses[index_3];
    flag_4     <= flags[index_3];
  end

  // Stage 4: the count at the end of the window, and now.
  wire old_epoch = count_4[16] != epoch;
  wire [15:0] count_now = old_epoch ? {1'b0, count_4[15:1]} : count_4[15:0];
  logic [15:0] count_5, snapshot_5;
  logic flag_5, save_5, own_address_5, is_attack_5;
  always_ff @(posedge clk) begin
    flag_5        <= flag_4;
    save_5        <= old_epoch;
    snapshot_5    <= old_epoch ? count_4[15:0] : snapshot_4;
    own_address_5 <= address_4 == frame_address[4];
    is_attack_5   <= {1'b0, snapshot_4} >= limit;
    change_address <= address_4;
    if (!frame[4]) count_5 <= count_now;
    else if (frame_raise[4]) count_5 <= &count_now ? count_now : count_now + 1'b1;
    else count_5 <= count_now == 0 ? count_now : count_now - 1'b1;
  end

  // Stage 5: writes. The address of a flagged counter stays.
  assign flagged = frame[5] && flag_5 && own_address_5;
  assign change = walk[5] && judging && is_attack_5 != flag_5;
  assign change_flagged = is_attack_5;
  assign change_count = snapshot_5;
  always_ff @(posedge clk) begin
    if (frame[5] || (walk[5] && !judging)) counts[index_5] <= {epoch, clearing ? 16'd0 : count_5};
    if ((frame[5] || walk[5]) && save_5) snapshots[index_5] <= snapshot_5;
    if (frame[5] && frame_raise[5] && !flag_5) addresses[index_5] <= frame_address[5];
    if (walk[5] && (clearing || change)) flags[index_5] <= !clearing && is_attack_5;
  end

  // Sums, from stage 5 of the gathering walk on.
  logic square_valid;
  logic [31:0] square;
  always_ff @(posedge clk) begin
    square_valid <= walk[5] && gathering;
    square       <= snapshot_5 * snapshot_5;
    if (rst || clear || gather) begin
      {counters, sum, squares} <= '0;
    end else begin
      if (walk[5] && gathering) begin
        counters <= counters + 11'(snapshot_5 != 0);
        sum      <= sum + {10'd0, snapshot_5};
      end
      if (square_valid) squares <= squares + {10'd0, square};
    end
    if (rst || clear) flags_set <= '0;
    else if (change) flags_set <= is_attack_5 ? flags_set + 1'b1 : flags_set - 1'b1;
  end

endmodule

`default_nettype wire

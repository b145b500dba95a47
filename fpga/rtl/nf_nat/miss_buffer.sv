// SPDX-License-Identifier: Apache-2.0
// Eight frames that wait for a translation, at most FLOW_FRAMES of one flow. A frame that waits is played back into the
// module's input once the host has answered for its flow or the wait is over; frames of a flow in their order. A beat is
// {last, keep, data}.
`default_nettype none

module miss_buffer #(
    parameter int KEY_W = 56,
    parameter int FLOW_FRAMES = 4
) (
    input  wire              clk,
    input  wire              rst,
    input  wire  [15:0]      now_ms,
    input  wire  [15:0]      timeout_ms,

    input  wire              forget,          // no frame that is here has asked: the questions are lost

    // The flow at hand, three cycles after `key`.
    input  wire  [KEY_W-1:0] key,
    output logic             flow_waits,
    output logic             flow_full,       // has all the places that it may have
    output logic             flow_asked,      // one of its frames waits for the host's answer, or has got it
    output wire              full,
    output wire  [ 2:0]      free_slot,
    output logic [ 3:0]      count,

    // The flow at hand gets `free_slot`; its frame comes later. Unless `flow_asked`, this one asks the host.
    input  wire              append,
    input  wire  [ 1:0]      append_user,
    input  wire              remove,          // the frame in `remove_slot`, played back, has been decided on
    input  wire  [ 2:0]      remove_slot,
    input  wire              release_flow,    // the host has answered for `release_key`; not within 4 cycles of `append`
    input  wire  [KEY_W-1:0] release_key,     // from the cycle before on

    input  wire  [72:0]      s_beat,          // into slot `s_slot`
    input  wire  [ 2:0]      s_slot,
    input  wire              s_valid,

    output wire              playing,         // some frame is released and not yet removed
    output wire  [72:0]      m_beat,
    output wire  [ 4:0]      m_user,          // {slot, user}
    output logic             m_valid,
    input  wire              m_ready
);

  // A slot's frame: known by its key, `rank` frames came before it; filled, when all of it is here. It is released when
  // the host has answered or it waited too long; of a flow all frames are answered, or none.
  logic [7:0]       taken, filled, released, answered, asks, played;
  logic [KEY_W-1:0] keys [8];
  logic [ 2:0]      rank [8];
  logic [15:0]      since_ms [8];
  logic [ 1:0]      users [8];
  logic [ 8:0]      beats [8];
  logic [ 7:0]      last_keep [8];

  logic [KEY_W-1:0] key_1;
  logic [7:0]  fits, release_fits, sought, head, overdue;
  logic [2:0]  free_at, seek, next_at;
  logic [15:0] head_since_ms;
  logic        flow_answered, late;
  logic [3:0]  flow_count;
  always_comb begin
    free_at = 3'd0;
    next_at = 3'd0;
    flow_count = 4'd0;
    for (int i = 7; i >= 0; i--) begin
      flow_count = flow_count + 4'(fits[i]);
      sought[i]  = taken[i] && rank[i] == seek;
      overdue[i] = late && head[i] && rank[i] == 0;
      if (!taken[i]) free_at = 3'(i);
      if (sought[i]) next_at = 3'(i);
    end
  end

  // Frames are sought by rank, from the lowest on after each change, so that none of a flow overtakes another. One that
  // is released but not here yet is waited for.
  wire waits_here = |(sought & released & ~played);
  wire next_valid = |(sought & released & ~played & filled);
  wire restart = release_flow || remove || |overdue;
  always_ff @(posedge clk) begin
    if (rst || restart) seek <= '0;
    else if (!waits_here) seek <= seek + 1'b1;
  end

  // The frame that waits longest.
  wire [15:0] waited_ms = now_ms - head_since_ms;
  always_ff @(posedge clk) begin
    head_since_ms <= '0;
    for (int i = 0; i < 8; i++) begin
      fits[i]         <= taken[i] && keys[i] == key_1;
      release_fits[i] <= taken[i] && keys[i] == release_key;
      head[i]         <= taken[i] && rank[i] == 0 && !released[i];
      if (taken[i] && rank[i] == 0) head_since_ms <= since_ms[i];
    end
    late  <= |head && waited_ms > timeout_ms;
    key_1 <= key;
  end
  assign full      = &taken;
  assign free_slot = free_at;
  assign playing   = |(taken & released);

  logic [8:0] write_beat;
  wire        s_last = s_beat[72];
  logic       reading, read_last;
  logic [2:0] slot;
  logic [8:0] read_beat;
  wire        advance = !m_valid || m_ready;
  wire        pick = next_valid && !reading && !m_valid && !restart;

  always_ff @(posedge clk) begin
    flow_waits    <= |fits;
    flow_full     <= flow_count >= 4'(FLOW_FRAMES);
    flow_asked    <= |(fits & (asks | answered));
    flow_answered <= |(fits & answered);
    if (rst) begin
      {taken, filled, released, answered, asks, played} <= '0;
      write_beat <= '0;
      count      <= '0;
    end else begin
      for (int i = 0; i < 8; i++) begin
        if (release_flow && release_fits[i]) {released[i], answered[i]} <= 2'b11;
        if (overdue[i]) {released[i], asks[i]} <= 2'b10;
        if (forget) asks[i] <= 1'b0;
        if (remove && taken[i] && rank[i] > rank[remove_slot]) rank[i] <= rank[i] - 1'b1;
      end
      if (append) begin
        taken[free_at]    <= 1'b1;
        filled[free_at]   <= 1'b0;
        released[free_at] <= flow_answered;
        answered[free_at] <= flow_answered;
        asks[free_at]     <= !flow_asked;
        played[free_at]   <= 1'b0;
        rank[free_at]     <= count[2:0];
        count             <= count + 1'b1;
      end
      if (remove) begin
        taken[remove_slot] <= 1'b0;
        count              <= count - 1'b1;
      end
      if (s_valid) begin
        write_beat <= s_last ? '0 : write_beat + 1'b1;
        if (s_last) filled[s_slot] <= 1'b1;
      end
      if (pick) played[next_at] <= 1'b1;
    end
    if (append) begin
      keys[free_at]     <= key_1;
      since_ms[free_at] <= now_ms;
      users[free_at]    <= append_user;
    end
    if (s_valid && s_last) begin
      beats[s_slot]     <= write_beat;
      last_keep[s_slot] <= s_beat[71:64];
    end
  end

  // Playing back: RAM address, then its word.
  (* no_rw_check *)  // a word that is being written is not read
  logic [63:0] store [2048];
  logic [63:0] word;
  logic [ 7:0] keep;
  logic        last;
  assign read_last = read_beat == beats[slot];
  always_ff @(posedge clk) begin
    if (s_valid) store[{s_slot, write_beat[7:0]}] <= s_beat[63:0];
    if (advance) begin
      word <= store[{slot, read_beat[7:0]}];
      last <= read_last;
      keep <= read_last ? last_keep[slot] : 8'hff;
    end
    if (rst) begin
      {reading, m_valid} <= '0;
    end else begin
      if (advance) m_valid <= reading;
      if (pick) {reading, slot, read_beat} <= {1'b1, next_at, 9'd0};
      else if (reading && advance) {reading, read_beat} <= {!read_last, read_beat + 9'd1};
    end
  end
  assign m_beat = {last, keep, word};
  assign m_user = {slot, users[slot]};

endmodule

`default_nettype wire

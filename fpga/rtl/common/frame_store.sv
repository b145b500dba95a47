// SPDX-License-Identifier: Apache-2.0
// Store and verdict: a frame is stored whole, and then leaves whole or not at all. Frames leave in their order.
// A frame longer than FRAME_BYTES_MAX is discarded and gets no verdict.
`default_nettype none

module frame_store #(
    parameter int FRAME_BYTES_MAX = 2048,
    parameter int BEATS = 1024,    // room, a power of two, at least two frames
    parameter int FRAMES = 16,     // frames at once, a power of two
    parameter int VERDICT_W = 12   // bits that a verdict adds to its frame
) (
    input  wire                  clk,
    input  wire                  rst,

    input  wire  [         63:0] s_tdata,
    input  wire  [          7:0] s_tkeep,
    input  wire                  s_tvalid,
    output wire                  s_tready,
    input  wire                  s_tlast,
    output logic                 stored,       // one cycle for each frame that awaits a verdict from now on
    output logic                 oversize,     // one cycle for each frame discarded at once

    // One verdict for each stored frame, in order, in any later cycle; never refused.
    input  wire                  verdict_valid,
    input  wire                  verdict_drop,
    input  wire  [VERDICT_W-1:0] verdict,

    output wire  [         63:0] m_tdata,
    output logic [          7:0] m_tkeep,
    output logic                 m_tvalid,
    input  wire                  m_tready,
    output logic                 m_tlast,
    output logic [VERDICT_W-1:0] m_verdict,    // constant in a frame

    output logic                 empty         // no beat of any frame is inside
);

  localparam int ADDR_W = $clog2(BEATS);
  localparam int MAX_BEATS = FRAME_BYTES_MAX / 8;
  localparam int LENGTH_W = $clog2(MAX_BEATS) + 1;
  localparam int COUNT_W = $clog2(FRAMES) + 1;

  // Writing: `write_at` runs ahead of `frame_at`, the start of the frame that comes in. Both have a wrap bit.
  logic [ADDR_W:0] write_at, frame_at, read_at;
  logic [LENGTH_W-1:0] beats_in;  // of the frame that comes in, MAX_BEATS: no more fits
  wire  [ADDR_W:0] used = write_at - read_at;
  logic [COUNT_W-1:0] frames;
  wire  too_long = beats_in == LENGTH_W'(MAX_BEATS);
  wire  take = s_tvalid && s_tready;
  wire  write = take && !too_long;
  assign s_tready = !used[ADDR_W] && frames < COUNT_W'(FRAMES - 2);

  // Reading: the frame that leaves has `left` beats to read.
  wire  advance = !m_tvalid || m_tready;
  logic reading;
  logic [LENGTH_W-1:0] left;
  logic [7:0] last_keep;
  logic [VERDICT_W-1:0] reading_verdict;
  wire  read = reading && advance;
  wire  read_last = read && left == 1;

  // The next stored frame and its verdict.
  wire  [LENGTH_W-1:0] next_beats;
  wire  [7:0] next_keep;
  wire  next_drop, no_frame, no_verdict;
  wire  [VERDICT_W-1:0] next_verdict;
  wire  next = !no_frame && !no_verdict && (!reading || read_last);

  wire frame_done = write && s_tlast;
  sync_fifo #(.WIDTH(LENGTH_W + 8), .DEPTH(FRAMES)) u_frames (
      .clk, .rst,
      .push(frame_done), .push_data({beats_in + 1'b1, s_tkeep}), .full(),
      .pop(next), .pop_data({next_beats, next_keep}), .empty(no_frame), .count(frames));
  sync_fifo #(.WIDTH(VERDICT_W + 1), .DEPTH(FRAMES)) u_verdicts (
      .clk, .rst,
      .push(verdict_valid), .push_data({verdict_drop, verdict}), .full(),
      .pop(next), .pop_data({next_drop, next_verdict}), .empty(no_verdict), .count());

  always_ff @(posedge clk) begin
    if (rst) begin
      {write_at, frame_at, beats_in} <= '0;
      {stored, oversize}             <= '0;
    end else begin
      stored   <= frame_done;
      oversize <= take && s_tlast && too_long;
      if (take && s_tlast) begin
        write_at <= too_long ? frame_at : write_at + 1'b1;
        beats_in <= '0;
        if (!too_long) frame_at <= write_at + 1'b1;
      end else if (write) begin
        write_at <= write_at + 1'b1;
        beats_in <= beats_in + 1'b1;
      end
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      read_at <= '0;
      reading <= 1'b0;
      m_tvalid <= 1'b0;
      empty   <= 1'b1;
    end else begin
      if (next && next_drop) read_at <= read_at + (ADDR_W + 1)'(read_last) + (ADDR_W + 1)'(next_beats);
      else if (read) read_at <= read_at + 1'b1;
      if (next) reading <= !next_drop;
      else if (read_last) reading <= 1'b0;
      if (advance) m_tvalid <= reading;
      empty <= used == 0 && !m_tvalid && !reading && !take;
    end
  end

  always_ff @(posedge clk) begin
    if (next) begin
      left            <= next_beats;
      last_keep       <= next_keep;
      reading_verdict <= next_verdict;
    end else if (read) begin
      left <= left - 1'b1;
    end
    if (advance) begin
      m_tlast   <= left == 1;
      m_tkeep   <= left == 1 ? last_keep : 8'hff;
      m_verdict <= reading_verdict;
    end
  end

  (* no_rw_check *)  // a word that is being written is not read
  logic [63:0] store [BEATS];
  logic [63:0] word;
  assign m_tdata = word;
  always_ff @(posedge clk) begin
    if (write) store[write_at[ADDR_W-1:0]] <= s_tdata;
    if (advance) word <= store[read_at[ADDR_W-1:0]];
  end

endmodule

`default_nettype wire

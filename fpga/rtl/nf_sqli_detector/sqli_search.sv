// SPDX-License-Identifier: Apache-2.0
// Keeps a copy of each frame and runs the matcher over the bytes that a job names. Jobs are frames, in order; a frame of
// more than 2,048 bytes is no job.
`default_nettype none

module sqli_search (
    input wire clk,
    input wire rst,

    // Frames; a beat counts in a cycle with `beat`, which only comes while `ready`.
    input  wire        beat,
    input  wire [63:0] tdata,
    input  wire        tlast,
    output wire        ready,

    // `job` and its operands stand until `done`. With it the outcome of a search is valid.
    input  wire         job,
    input  wire         job_search,
    input  wire  [ 7:0] job_offset,
    input  wire  [11:0] job_bytes,
    output wire         done,
    output logic        found,
    output logic [31:0] hits,

    input  wire  hold,      // no job is begun or done
    output logic searching
);

  localparam int FRAMES = 4;  // copies kept
  localparam int SLOT_W = $clog2(FRAMES);
  localparam int MAX_BEATS = 256;
  localparam int BEAT_W = $clog2(MAX_BEATS);
  localparam logic [3:0] DRAIN_CYCLES = 4'd10;  // from the last address to its effect on `found`

  // Writing, a slot a frame.
  logic [SLOT_W:0] slot_in, slot_out;  // with a wrap bit
  logic [BEAT_W:0] beats;              // saturates at MAX_BEATS
  wire  too_long = beats[BEAT_W];
  wire  [SLOT_W:0] slots_used = slot_in - slot_out;
  assign ready = !slots_used[SLOT_W];

  always_ff @(posedge clk) begin
    if (rst) begin
      {slot_in, slot_out, beats} <= '0;
    end else begin
      if (beat) beats <= tlast ? '0 : too_long ? beats : beats + 1'b1;
      if (beat && tlast && !too_long) slot_in <= slot_in + 1'b1;
      if (done) slot_out <= slot_out + 1'b1;
    end
  end

  // Reading: `reading` for each byte, then the stages empty.
  logic reading;
  logic [10:0] position;
  logic [11:0] left;
  logic [3:0] drain;
  wire begin_search = job && job_search && !searching && !hold;
  assign done = job && !hold && (job_search ? searching && !reading && drain == 0 : 1'b1);

  always_ff @(posedge clk) begin
    if (rst) begin
      {searching, reading} <= 2'b00;
    end else begin
      if (begin_search) {searching, reading} <= 2'b11;
      else if (done) searching <= 1'b0;
      else if (reading && left == 1) reading <= 1'b0;
    end
  end

  always_ff @(posedge clk) begin
    if (begin_search) begin
      position <= {3'd0, job_offset};
      left     <= job_bytes;
      drain    <= DRAIN_CYCLES - 1'b1;
    end else if (reading) begin
      position <= position + 1'b1;
      left     <= left - 1'b1;
    end else if (drain != 0) begin
      drain <= drain - 1'b1;
    end
  end

  logic [63:0] copies [FRAMES * MAX_BEATS];
  logic [63:0] read_word, word;
  logic [ 7:0] value;
  logic [ 2:0] read_lane, lane;
  logic read_valid, word_valid, value_valid;
  always_ff @(posedge clk) begin
    if (beat && !too_long) copies[{slot_in[SLOT_W-1:0], beats[BEAT_W-1:0]}] <= tdata;
    if (reading) read_word <= copies[{slot_out[SLOT_W-1:0], position[10:3]}];
    word  <= read_word;
    value <= word[{lane, 3'd0}+:8];
    {lane, read_lane} <= {read_lane, position[2:0]};
    {value_valid, word_valid, read_valid} <= rst ? 3'd0 : {word_valid, read_valid, reading};
  end

  wire [31:0] matched;
  sqli_matcher u_matcher (
      .clk, .start(begin_search), .byte_valid(value_valid), .byte_data(value), .hits(matched));
  always_ff @(posedge clk) begin
    hits  <= matched;
    found <= hits != 0;
  end

endmodule

`default_nettype wire

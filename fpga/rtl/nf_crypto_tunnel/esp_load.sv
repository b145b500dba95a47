// SPDX-License-Identifier: Apache-2.0
// Takes a frame and lays what begins at `offset`, 2 or 6 bytes behind a multiple of 8, into words of 8 bytes. The three
// words in front of that stay at hand, and so does the Ethernet header.
`default_nettype none

module esp_load (
    input wire clk,
    input wire rst,

    input  wire         start,   // the operands stand until `done`
    input  wire  [ 7:0] offset,
    output logic        done,

    input  wire  [63:0] s_tdata,
    input  wire         s_tvalid,
    output wire         s_tready,
    input  wire         s_tlast,

    output logic        write,
    output logic [ 7:0] write_at,
    output logic [63:0] write_word,

    output logic [143:0] ethernet,  // first byte in bits 7:0, as in all words
    output logic [191:0] ahead      // the last of the three in bits 191:128
);

  logic loading, flush;
  logic [8:0] beat;
  logic [47:0] previous;  // without its first two bytes
  assign s_tready = loading && !flush;
  wire take = s_tvalid && s_tready;

  wire [47:0] next = flush ? 48'd0 : s_tdata[47:0];
  wire [63:0] word = offset[2] ? {next, previous[47:32]} : {next[15:0], previous};
  wire [9:0] at = {1'b0, beat} - 10'd1 - {5'd0, offset[7:3]};  // negative: in front
  wire in_front = at[9];
  wire unused = &{1'b0, at[8], offset[1:0]};

  always_ff @(posedge clk) begin
    done  <= 1'b0;
    write <= 1'b0;
    if (take) begin
      beat <= beat + 9'd1;
      previous <= s_tdata[63:16];
      if (beat == 9'd0) ethernet[63:0] <= s_tdata;
      if (beat == 9'd1) ethernet[127:64] <= s_tdata;
      if (beat == 9'd2) ethernet[143:128] <= s_tdata[15:0];
      flush <= s_tlast;
    end
    if (take || (loading && flush)) begin
      write <= !in_front && beat != 9'd0;
      write_at <= at[7:0];
      write_word <= word;
      if (in_front) ahead <= {word, ahead[191:64]};
    end
    if (loading && flush) begin
      loading <= 1'b0;
      flush   <= 1'b0;
      done    <= 1'b1;
    end
    if (!loading) beat <= '0;
    if (start) loading <= 1'b1;
    if (rst) begin
      loading <= 1'b0;
      flush   <= 1'b0;
      done    <= 1'b0;
      write   <= 1'b0;
    end
  end

endmodule

`default_nettype wire

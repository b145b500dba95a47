// SPDX-License-Identifier: Apache-2.0
// Joins pieces of 1 to 8 bytes to a frame. Every piece but a frame's last has an even number of bytes.
`default_nettype none

module axis_pack (
    input  wire         clk,
    input  wire         rst,
    input  wire  [63:0] s_data,    // first byte in bits 7:0
    input  wire  [ 3:0] s_bytes,
    input  wire         s_last,
    input  wire         s_valid,
    output wire         s_ready,
    output logic [63:0] m_tdata,
    output logic [ 7:0] m_tkeep,
    output logic        m_tvalid,
    input  wire         m_tready,
    output logic        m_tlast
);

  function automatic logic [7:0] keep_of(input logic [3:0] bytes);
    for (int i = 0; i < 8; i++) keep_of[i] = 4'(i) < bytes;
  endfunction

  logic [47:0] rest;
  logic [ 1:0] rest_pairs;  // of bytes
  logic        flush;       // `rest` ends the frame
  logic [ 3:0] flush_bytes;

  wire [111:0] joined = rest_pairs == 2'd0 ? {48'd0, s_data} :
                        rest_pairs == 2'd1 ? {32'd0, s_data, rest[15:0]} :
                        rest_pairs == 2'd2 ? {16'd0, s_data, rest[31:0]} : {s_data, rest};
  wire [  3:0] bytes = {1'b0, rest_pairs, 1'b0} + s_bytes;  // at most 14
  wire         whole = bytes[3];
  wire         free = !m_tvalid || m_tready;
  assign s_ready = free && !flush;
  wire take = s_valid && s_ready;

  always_ff @(posedge clk) begin
    if (free) begin
      m_tvalid <= flush || (s_valid && (whole || s_last));
      m_tdata  <= flush ? {16'd0, rest} : joined[63:0];
      m_tkeep  <= keep_of(flush ? flush_bytes : whole ? 4'd8 : bytes);
      m_tlast  <= flush || (s_last && bytes <= 4'd8);
      flush    <= 1'b0;
    end
    if (take) begin
      rest        <= whole ? joined[111:64] : joined[47:0];
      rest_pairs  <= s_last ? 2'd0 : bytes[2:1];
      flush       <= s_last && bytes > 4'd8;
      flush_bytes <= {1'b0, bytes[2:0]};
    end
    if (rst) begin
      m_tvalid   <= 1'b0;
      flush      <= 1'b0;
      rest_pairs <= 2'd0;
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// Register slice with room for two beats: no combinational path between its sides, one beat a cycle.
// A stream is one vector; the user packs data, keep, last and user bits into it.
`default_nettype none

module axis_skid #(
    parameter int WIDTH = 73
) (
    input  wire              clk,
    input  wire              rst,
    input  wire  [WIDTH-1:0] s_data,
    input  wire              s_valid,
    output logic             s_ready,
    output logic [WIDTH-1:0] m_data,
    output logic             m_valid,
    input  wire              m_ready
);

  logic [WIDTH-1:0] spare;
  logic             spare_valid;
  wire              take = s_valid && s_ready;
  wire              move = m_ready || !m_valid;

  always_ff @(posedge clk) begin
    if (rst) begin
      m_valid     <= 1'b0;
      spare_valid <= 1'b0;
      s_ready     <= 1'b0;
    end else begin
      if (move) begin
        m_valid     <= spare_valid || take;
        spare_valid <= 1'b0;
      end else if (take) begin
        spare_valid <= 1'b1;
      end
      s_ready <= move || !(spare_valid || take);
    end
  end

  always_ff @(posedge clk) begin
    if (move) m_data <= spare_valid ? spare : s_data;
    if (take) spare <= s_data;
  end

endmodule

`default_nettype wire

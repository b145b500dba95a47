// SPDX-License-Identifier: Apache-2.0
// Merges streams frame by frame, in turn. Stream n is at bits [n * WIDTH +: WIDTH]; `s_last` marks its frames' ends.
// The chosen stream's path is combinational: put an axis_skid behind it.
`default_nettype none

module frame_mux #(
    parameter int STREAMS = 2,
    parameter int WIDTH = 73,
    localparam int INDEX_W = STREAMS > 1 ? $clog2(STREAMS) : 1
) (
    input  wire                      clk,
    input  wire                      rst,
    input  wire  [STREAMS*WIDTH-1:0] s_data,
    input  wire  [STREAMS-1:0]       s_last,
    input  wire  [STREAMS-1:0]       s_valid,
    output logic [STREAMS-1:0]       s_ready,
    output wire  [WIDTH-1:0]         m_data,
    output wire                      m_valid,
    input  wire                      m_ready,
    output wire  [INDEX_W-1:0]       m_stream   // where the frame comes from
);

  logic               in_frame;
  logic [INDEX_W-1:0] current;  // in a frame: its stream, else: the one that was last
  logic [INDEX_W-1:0] candidate;

  // The lowest stream above the last one that has a frame, else the lowest of all.
  always_comb begin
    candidate = current;
    for (int n = STREAMS - 1; n >= 0; n--) if (s_valid[n]) candidate = INDEX_W'(n);
    for (int n = STREAMS - 1; n >= 0; n--) if (s_valid[n] && n > 32'(current)) candidate = INDEX_W'(n);
  end

  assign m_stream = in_frame ? current : candidate;
  assign m_valid  = s_valid[m_stream];
  assign m_data   = s_data[32'(m_stream)*WIDTH+:WIDTH];

  always_comb begin
    s_ready = '0;
    s_ready[m_stream] = m_ready;
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      in_frame <= 1'b0;
      current  <= '0;
    end else if (m_valid && m_ready) begin
      in_frame <= !s_last[m_stream];
      current  <= m_stream;
    end
  end

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// Sixteen ordered rules, one looked at in a cycle. `done` comes 3 to 18 cycles after `start` and holds until the next.
`default_nettype none

module fw_rules (
    input  wire         clk,
    input  wire         rst,

    input  wire         write,           // one cycle
    input  wire  [ 3:0] write_rule,
    input  wire  [ 2:0] write_word,      // 0 source, 1 its mask, 2 destination, 3 its mask, 4 ports, 5 match
    input  wire  [31:0] wdata,
    input  wire         default_allow,

    input  wire         start,           // the packet's fields hold until `done`
    input  wire  [31:0] src_ip,
    input  wire  [31:0] dst_ip,
    input  wire  [ 7:0] protocol,
    input  wire  [15:0] dst_port,
    output logic        done,
    output logic        allow
);

  logic [31:0] source [16], source_mask [16], destination [16], destination_mask [16], ports [16];
  logic [10:0] match [16];  // {protocol, any protocol, allow, valid}
  logic [15:0] valid;       // the only part that reset clears

  always_ff @(posedge clk) begin
    if (write && write_word == 3'd0) source[write_rule] <= wdata;
    if (write && write_word == 3'd1) source_mask[write_rule] <= wdata;
    if (write && write_word == 3'd2) destination[write_rule] <= wdata;
    if (write && write_word == 3'd3) destination_mask[write_rule] <= wdata;
    if (write && write_word == 3'd4) ports[write_rule] <= wdata;
    if (write && write_word == 3'd5) match[write_rule] <= {wdata[15:8], wdata[2:0]};
  end

  // Rule `at` is read, then compared field by field, then decided on.
  logic [ 4:0] at;  // 16: all have been read
  logic        running, read_1, read_2, last_1, last_2;
  logic [31:0] source_1, source_mask_1, destination_1, destination_mask_1, ports_1;
  logic [10:0] match_1;
  logic        source_2, destination_2, ports_2, protocol_2, allow_2;
  wire            fits = read_2 && source_2 && destination_2 && ports_2 && protocol_2;

  always_ff @(posedge clk) begin
    source_1           <= source[at[3:0]];
    source_mask_1      <= source_mask[at[3:0]];
    destination_1      <= destination[at[3:0]];
    destination_mask_1 <= destination_mask[at[3:0]];
    ports_1            <= ports[at[3:0]];
    match_1            <= match[at[3:0]];

    source_2      <= (src_ip & source_mask_1) == (source_1 & source_mask_1);
    destination_2 <= (dst_ip & destination_mask_1) == (destination_1 & destination_mask_1);
    ports_2       <= dst_port >= ports_1[15:0] && dst_port <= ports_1[31:16];
    protocol_2    <= match_1[2] || match_1[10:3] == protocol;
    allow_2       <= match_1[1];
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      {running, done, read_1, read_2, last_1, last_2} <= '0;
      valid <= '0;
    end else begin
      if (write && write_word == 3'd5) valid[write_rule] <= wdata[0];
      if (start) begin
        {at, running, done}              <= {5'd0, 2'b10};
        {read_1, read_2, last_1, last_2} <= '0;
      end else if (running) begin
        read_1 <= !at[4] && valid[at[3:0]];
        last_1 <= at[4];
        if (!at[4]) at <= at + 1'b1;
        {read_2, last_2} <= {read_1, last_1};
        if (fits || last_2) begin
          {running, done} <= 2'b01;
          allow           <= fits ? allow_2 : default_allow;
        end
      end
    end
  end

  wire unused = &{1'b0, match_1[0]};

endmodule

`default_nettype wire

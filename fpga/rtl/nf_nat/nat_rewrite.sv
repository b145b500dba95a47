// SPDX-License-Identifier: Apache-2.0
// New checksums of a packet whose one end changes (RFC 1624 eqn. 3), four cycles after the inputs stand.
`default_nettype none

module nat_rewrite (
    input  wire         clk,
    input  wire  [31:0] old_address,
    input  wire  [31:0] new_address,
    input  wire  [15:0] old_port,
    input  wire  [15:0] new_port,
    input  wire  [15:0] old_ip_sum,
    input  wire  [15:0] old_l4_sum,
    input  wire         is_icmp,      // its checksum does not cover addresses
    input  wire         is_udp,       // 0 says that there is none (RFC 768)
    output logic [15:0] ip_sum,
    output logic [15:0] l4_sum
);

  logic [18:0] address_change, port_change, ip_total, l4_total;
  logic [16:0] ip_folded, l4_folded;
  wire  [15:0] ip_new = ~(ip_folded[15:0] + {15'd0, ip_folded[16]});
  wire  [15:0] l4_new = ~(l4_folded[15:0] + {15'd0, l4_folded[16]});
  always_ff @(posedge clk) begin
    address_change <= {3'd0, ~old_address[31:16]} + {3'd0, ~old_address[15:0]} + {3'd0, new_address[31:16]} +
                      {3'd0, new_address[15:0]};
    port_change    <= {3'd0, ~old_port} + {3'd0, new_port};

    ip_total  <= address_change + {3'd0, ~old_ip_sum};
    l4_total  <= (is_icmp ? 19'd0 : address_change) + port_change + {3'd0, ~old_l4_sum};

    ip_folded <= {1'b0, ip_total[15:0]} + {14'd0, ip_total[18:16]};
    l4_folded <= {1'b0, l4_total[15:0]} + {14'd0, l4_total[18:16]};

    ip_sum    <= ip_new;
    l4_sum    <= !is_udp ? l4_new : old_l4_sum == 0 ? 16'd0 : l4_new == 0 ? 16'hffff : l4_new;
  end

endmodule

`default_nettype wire

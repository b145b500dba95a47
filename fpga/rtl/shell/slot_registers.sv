// SPDX-License-Identifier: Apache-2.0
// The shell's registers of one slot: control, state, metadata values, next hops and counters. `addr` is that of
// slot 0's register.
`default_nettype none

module slot_registers (
    input  wire         clk,
    input  wire         rst,

    input  wire         write,       // one cycle
    input  wire  [15:0] addr,
    input  wire  [31:0] wdata,
    output logic [31:0] rdata,       // one cycle after `addr`

    output logic        hold,
    output logic        decouple,
    output logic        csr_decouple,
    output logic        slot_reset,
    output logic [ 1:0] policy,
    output logic [15:0] metadata_mask,
    output logic [63:0] metadata_values,
    output logic [127:0] hops,       // 16 bits each: forward, then return, of class 0 in the lowest bits

    input  wire  [ 4:0] status,      // as SLOT_STATUS

    // A beat counts in a cycle with its strobe.
    input  wire         in_beat, out_beat, drop_beat, bypass_beat,
    input  wire         in_last, out_last, drop_last, bypass_last,
    input  wire  [ 3:0] in_bytes, out_bytes, drop_bytes, bypass_bytes,
    input  wire         out_error,
    input  wire         no_hop
);

  `include "nf_shell_regs.svh"

  always_ff @(posedge clk) begin
    if (rst) begin
      {policy, slot_reset, csr_decouple, decouple, hold} <= REG_SLOT_CONTROL_RESET[5:0];
      metadata_mask   <= '0;
      metadata_values <= '0;
      hops            <= '0;
    end else if (write) begin
      case (addr)
        REG_SLOT_CONTROL:     {policy, slot_reset, csr_decouple, decouple, hold} <= wdata[5:0];
        REG_METADATA_MASK:    metadata_mask <= wdata[15:0];
        REG_METADATA_VALUE_0: metadata_values[15:0] <= wdata[15:0];
        REG_METADATA_VALUE_1: metadata_values[31:16] <= wdata[15:0];
        REG_METADATA_VALUE_2: metadata_values[47:32] <= wdata[15:0];
        REG_METADATA_VALUE_3: metadata_values[63:48] <= wdata[15:0];
        REG_HOPS_FORWARD_0:   hops[31:0] <= wdata;
        REG_HOPS_FORWARD_1:   hops[63:32] <= wdata;
        REG_HOPS_RETURN_0:    hops[95:64] <= wdata;
        REG_HOPS_RETURN_1:    hops[127:96] <= wdata;
        default: ;
      endcase
    end
  end

  logic [31:0] frames_in, bytes_in, frames_out, bytes_out, frames_dropped, bytes_dropped, frames_bypassed,
      bytes_bypassed, frames_aborted, frames_no_hop;
  always_ff @(posedge clk) begin
    if (rst) begin
      {frames_in, bytes_in, frames_out, bytes_out}                     <= '0;
      {frames_dropped, bytes_dropped, frames_bypassed, bytes_bypassed} <= '0;
      {frames_aborted, frames_no_hop}                                  <= '0;
    end else begin
      frames_in       <= frames_in + 32'(in_beat && in_last);
      frames_out      <= frames_out + 32'(out_beat && out_last && !out_error);
      frames_aborted  <= frames_aborted + 32'(out_beat && out_last && out_error);
      frames_dropped  <= frames_dropped + 32'(drop_beat && drop_last);
      frames_bypassed <= frames_bypassed + 32'(bypass_beat && bypass_last);
      frames_no_hop   <= frames_no_hop + 32'(no_hop);
      if (in_beat) bytes_in <= bytes_in + 32'(in_bytes);
      if (out_beat && !out_error) bytes_out <= bytes_out + 32'(out_bytes);
      if (drop_beat) bytes_dropped <= bytes_dropped + 32'(drop_bytes);
      if (bypass_beat) bytes_bypassed <= bytes_bypassed + 32'(bypass_bytes);
    end
  end

  always_ff @(posedge clk) begin
    case (addr)
      REG_SLOT_CONTROL:     rdata <= {26'd0, policy, slot_reset, csr_decouple, decouple, hold};
      REG_SLOT_STATUS:      rdata <= {27'd0, status};
      REG_METADATA_MASK:    rdata <= {16'd0, metadata_mask};
      REG_METADATA_VALUE_0: rdata <= {16'd0, metadata_values[15:0]};
      REG_METADATA_VALUE_1: rdata <= {16'd0, metadata_values[31:16]};
      REG_METADATA_VALUE_2: rdata <= {16'd0, metadata_values[47:32]};
      REG_METADATA_VALUE_3: rdata <= {16'd0, metadata_values[63:48]};
      REG_FRAMES_IN:        rdata <= frames_in;
      REG_BYTES_IN:         rdata <= bytes_in;
      REG_FRAMES_OUT:       rdata <= frames_out;
      REG_BYTES_OUT:        rdata <= bytes_out;
      REG_FRAMES_DROPPED:   rdata <= frames_dropped;
      REG_BYTES_DROPPED:    rdata <= bytes_dropped;
      REG_FRAMES_BYPASSED:  rdata <= frames_bypassed;
      REG_BYTES_BYPASSED:   rdata <= bytes_bypassed;
      REG_FRAMES_ABORTED:   rdata <= frames_aborted;
      REG_NO_HOP:           rdata <= frames_no_hop;
      REG_HOPS_FORWARD_0:   rdata <= hops[31:0];
      REG_HOPS_FORWARD_1:   rdata <= hops[63:32];
      REG_HOPS_RETURN_0:    rdata <= hops[95:64];
      REG_HOPS_RETURN_1:    rdata <= hops[127:96];
      default:              rdata <= 32'd0;
    endcase
  end

endmodule

`default_nettype wire

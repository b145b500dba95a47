// SPDX-License-Identifier: Apache-2.0
// Carries register accesses over the boundary to one slot, through registers both ways. An access to a decoupled slot
// and one that the slot does not answer in 64 cycles read 0xdeaddead. The slot's side is all 0 while decoupled.
`default_nettype none

module slot_csr (
    input  wire         clk,
    input  wire         rst,
    input  wire         cut,
    input  wire         forget,        // clears `timeout`
    output logic        timeout,       // an access got no answer

    input  wire         request,       // held until `ack`, with what belongs to it
    input  wire         is_write,
    input  wire  [15:0] addr,
    input  wire  [31:0] wdata,
    output logic        ack,
    output logic [31:0] rdata,

    output logic [15:0] slot_csr_addr,
    output logic        slot_csr_write,
    output logic [31:0] slot_csr_wdata,
    output logic        slot_csr_read,
    input  wire  [31:0] slot_csr_rdata,
    input  wire         slot_csr_ack
);

  localparam logic [31:0] DEAD = 32'hdeaddead;

  logic       waiting;
  logic [5:0] cycles;
  wire        answered = waiting && slot_csr_ack && !cut;
  wire        gives_up = waiting && !answered && (cut || &cycles);
  wire        starts = request && !waiting && !ack && !cut;
  wire        refuses = request && !waiting && !ack && cut;

  always_ff @(posedge clk) begin
    if (rst) begin
      {waiting, ack, timeout}         <= '0;
      {slot_csr_write, slot_csr_read} <= '0;
    end else begin
      ack <= answered || gives_up || refuses;
      if (starts) waiting <= 1'b1;
      else if (answered || gives_up) waiting <= 1'b0;
      slot_csr_write <= is_write && (starts || (waiting && !answered && !gives_up));
      slot_csr_read  <= !is_write && (starts || (waiting && !answered && !gives_up));
      if (forget) timeout <= 1'b0;
      else if (gives_up && !cut) timeout <= 1'b1;
    end
    cycles         <= waiting ? cycles + 1'b1 : 6'd0;
    rdata          <= answered ? slot_csr_rdata : DEAD;
    slot_csr_addr  <= cut ? 16'd0 : addr;
    slot_csr_wdata <= cut ? 32'd0 : wdata;
  end

endmodule

`default_nettype wire

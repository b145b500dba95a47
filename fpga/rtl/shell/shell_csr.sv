// SPDX-License-Identifier: Apache-2.0
// Takes register accesses from the host: space 0 is the shell, space n + 1 is slot n's own registers.
`default_nettype none

module shell_csr #(
    parameter int SLOTS = 1,
    parameter int CLOCK_HZ = 100_000_000,
    parameter logic [127:0] SHELL_UUID = 128'd0
) (
    input  wire                clk,
    input  wire                rst,

    input  wire  [19:0]        host_csr_addr,
    input  wire                host_csr_write,
    input  wire  [31:0]        host_csr_wdata,
    input  wire                host_csr_read,
    output logic [31:0]        host_csr_rdata,
    output logic               host_csr_ack,

    output logic               link_up,
    output logic [15:0]        drain_timeout_us,

    output logic [15:0]        addr,             // of the access, with `slot_regs_write` and `slot_request`
    output logic [31:0]        wdata,
    output logic               is_write,
    output logic [SLOTS-1:0]   slot_regs_write,  // the shell's registers of a slot; `addr` is as for slot 0
    input  wire  [SLOTS*32-1:0] slot_regs_rdata,
    output logic [SLOTS-1:0]   slot_request,     // the slot's own registers
    input  wire  [SLOTS-1:0]   slot_ack,
    input  wire  [SLOTS*32-1:0] slot_rdata
);

  `include "nf_shell_regs.svh"

  localparam logic [5:0] IDLE = 6'd1, PERFORM = 6'd2, LOOK = 6'd4, CARRY = 6'd8, ACK = 6'd16, REST = 6'd32;
  logic [ 5:0] state;
  logic [ 3:0] space;
  logic [11:8] page;   // of the address as asked: 0 globals, n + 1 registers of slot n
  wire         request = host_csr_read || host_csr_write;
  wire         slot_exists = space != 0 && 32'(space) <= SLOTS;

  logic        carried;
  logic [31:0] carried_rdata, slot_rdata_word, global_rdata;
  always_comb begin
    carried         = 1'b0;
    carried_rdata   = 32'd0;
    slot_rdata_word = 32'd0;
    for (int n = 0; n < SLOTS; n++) begin
      if (slot_request[n] && slot_ack[n]) {carried, carried_rdata} = {1'b1, slot_rdata[n*32+:32]};
      if (32'(page) == n + 1) slot_rdata_word = slot_regs_rdata[n*32+:32];
    end
  end

  always_ff @(posedge clk) begin
    if (rst) begin
      state        <= IDLE;
      slot_request <= '0;
    end else begin
      case (state)
        IDLE: if (request) state <= PERFORM;
        PERFORM: begin
          state <= slot_exists ? CARRY : LOOK;
          for (int n = 0; n < SLOTS; n++) slot_request[n] <= 32'(space) == n + 1;
        end
        LOOK: state <= ACK;
        CARRY: if (carried) begin
          state        <= ACK;
          slot_request <= '0;
        end
        ACK: state <= request ? REST : IDLE;
        default: if (!request) state <= IDLE;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (state[0]) begin
      space    <= host_csr_addr[19:16];
      page     <= host_csr_addr[11:8];
      addr     <= host_csr_addr[19:16] != 0 || host_csr_addr[15:8] == 0 ? host_csr_addr[15:0] :
                  {host_csr_addr[15:12], 4'd1, host_csr_addr[7:0]};
      wdata    <= host_csr_wdata;
      is_write <= host_csr_write;
    end
    host_csr_ack <= !rst && (state[2] || (state[3] && carried));
    if (state[3]) host_csr_rdata <= carried_rdata;
    else if (state[2]) host_csr_rdata <= is_write || space != 0 ? 32'd0 : page == 0 ? global_rdata : slot_rdata_word;
  end

  wire write = state[1] && is_write && space == 0;
  always_comb for (int n = 0; n < SLOTS; n++) slot_regs_write[n] = write && 32'(page) == n + 1;

  always_ff @(posedge clk) begin
    if (rst) begin
      link_up          <= REG_LINK_RESET[0];
      drain_timeout_us <= REG_DRAIN_TIMEOUT_US_RESET[15:0];
    end else if (write && page == 0) begin
      if (addr == REG_LINK) link_up <= wdata[0];
      if (addr == REG_DRAIN_TIMEOUT_US) drain_timeout_us <= wdata[15:0];
    end
  end

  always_comb begin
    case (addr)
      REG_ID:                  global_rdata = MODULE_ID;
      REG_VERSION:             global_rdata = MODULE_VERSION;
      REG_CLOCK_HZ:            global_rdata = CLOCK_HZ;
      REG_SLOTS:               global_rdata = SLOTS;
      REG_SHELL_UUID:          global_rdata = SHELL_UUID[127:96];
      REG_SHELL_UUID + 16'd4:  global_rdata = SHELL_UUID[95:64];
      REG_SHELL_UUID + 16'd8:  global_rdata = SHELL_UUID[63:32];
      REG_SHELL_UUID + 16'd12: global_rdata = SHELL_UUID[31:0];
      REG_LINK:                global_rdata = {31'd0, link_up};
      REG_DRAIN_TIMEOUT_US:    global_rdata = {16'd0, drain_timeout_us};
      default:                 global_rdata = 32'd0;
    endcase
  end

endmodule

`default_nettype wire

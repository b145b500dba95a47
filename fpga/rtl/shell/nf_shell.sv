// SPDX-License-Identifier: Apache-2.0
// The static region of a board: ports, host registers and one lane for each slot. The slots themselves are outside:
// `slot_*` are the boundary (fpga/README.md), one module behind each slot's part of the vectors.
//
// Vectors hold slot n at bits [n * width +: width]. Frames are as at the boundary: no FCS, byte 0 in bits 7:0.
//
// port                            width a slot    meaning
// clk, rst                        1 in all        rst: synchronous; a full load resets the shell
// host_csr_addr                   20 in all       bits 19:16: 0 the shell (docs/registers.md), n + 1 slot n's registers
// host_csr_write/wdata/read       1/32/1 in all   held until the one-cycle ack; at most 80 cycles
// host_csr_rdata/ack              32/1 in all
// link_up                         1 in all        0: the MACs take their links down, deliver nothing, drop what leaves
// near_rx_tdata/keep/valid/ready/last  64/8/1/1/1 from the near port to the slot, direction forward
// far_rx_...                      64/8/1/1/1      from the far port, direction return
// host_rx_... , host_rx_tuser     64/8/1/1/1, 1   from the host (DMA); tuser: direction
// near_tx_... , near_tx_tuser     64/8/1/1/1, 1   to the near port; tuser with tlast: the frame is bad, drop it
// far_tx_... , far_tx_tuser       64/8/1/1/1, 1   to the far port
// host_tx_... , host_tx_tuser     64/8/1/1/1, 10  to the host; tuser bit 0 bad, bit 1 direction, bits 9:2 class
// slot_rst                        1               to the slot's rst
// slot_s_axis_tdata/keep/valid/ready/last/user  64/8/1/1/1/2   to the slot's s_axis
// slot_m_axis_...                 64/8/1/1/1/12   from the slot's m_axis
// slot_csr_addr/write/wdata/read/rdata/ack      16/1/32/1/32/1
// slot_busy                       1               from the slot
// tick_us                         1 in all        to every slot
//
// Register slices stand on the shell's side of every boundary and port signal but tx tvalid (a decode of registers),
// rx tready (depends on rx tvalid of the same slot) and the masks that decoupling puts on slot inputs: nothing leads
// from a slot's output through the shell to a slot's input within a cycle, except slot_m_axis_tready and
// slot_s_axis_tvalid, which depend on registers only.
//
// Load of slot n: HOLD -> until DRAINED or TIMED_OUT -> DECOUPLE + CSR_DECOUPLE + RESET -> load -> RESET off with
// DECOUPLE on -> CSR_DECOUPLE off -> verify ID, write configuration -> DECOUPLE and HOLD off.
`default_nettype none

module nf_shell #(
    parameter int SLOTS = 1,                        // 1 to 4
    parameter int CLOCK_HZ = 100_000_000,           // a multiple of 1 MHz, at least 2 MHz
    parameter logic [127:0] SHELL_UUID = 128'd0     // the first byte of its text form is the most significant
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire  [19:0]         host_csr_addr,
    input  wire                 host_csr_write,
    input  wire  [31:0]         host_csr_wdata,
    input  wire                 host_csr_read,
    output wire  [31:0]         host_csr_rdata,
    output wire                 host_csr_ack,
    output wire                 link_up,

    input  wire  [SLOTS*64-1:0] near_rx_tdata,
    input  wire  [SLOTS*8-1:0]  near_rx_tkeep,
    input  wire  [SLOTS-1:0]    near_rx_tvalid,
    output wire  [SLOTS-1:0]    near_rx_tready,
    input  wire  [SLOTS-1:0]    near_rx_tlast,

    input  wire  [SLOTS*64-1:0] far_rx_tdata,
    input  wire  [SLOTS*8-1:0]  far_rx_tkeep,
    input  wire  [SLOTS-1:0]    far_rx_tvalid,
    output wire  [SLOTS-1:0]    far_rx_tready,
    input  wire  [SLOTS-1:0]    far_rx_tlast,

    input  wire  [SLOTS*64-1:0] host_rx_tdata,
    input  wire  [SLOTS*8-1:0]  host_rx_tkeep,
    input  wire  [SLOTS-1:0]    host_rx_tvalid,
    output wire  [SLOTS-1:0]    host_rx_tready,
    input  wire  [SLOTS-1:0]    host_rx_tlast,
    input  wire  [SLOTS-1:0]    host_rx_tuser,

    output wire  [SLOTS*64-1:0] near_tx_tdata,
    output wire  [SLOTS*8-1:0]  near_tx_tkeep,
    output wire  [SLOTS-1:0]    near_tx_tvalid,
    input  wire  [SLOTS-1:0]    near_tx_tready,
    output wire  [SLOTS-1:0]    near_tx_tlast,
    output wire  [SLOTS-1:0]    near_tx_tuser,

    output wire  [SLOTS*64-1:0] far_tx_tdata,
    output wire  [SLOTS*8-1:0]  far_tx_tkeep,
    output wire  [SLOTS-1:0]    far_tx_tvalid,
    input  wire  [SLOTS-1:0]    far_tx_tready,
    output wire  [SLOTS-1:0]    far_tx_tlast,
    output wire  [SLOTS-1:0]    far_tx_tuser,

    output wire  [SLOTS*64-1:0] host_tx_tdata,
    output wire  [SLOTS*8-1:0]  host_tx_tkeep,
    output wire  [SLOTS-1:0]    host_tx_tvalid,
    input  wire  [SLOTS-1:0]    host_tx_tready,
    output wire  [SLOTS-1:0]    host_tx_tlast,
    output wire  [SLOTS*10-1:0] host_tx_tuser,

    output logic [SLOTS-1:0]    slot_rst,
    output wire  [SLOTS*64-1:0] slot_s_axis_tdata,
    output wire  [SLOTS*8-1:0]  slot_s_axis_tkeep,
    output wire  [SLOTS-1:0]    slot_s_axis_tvalid,
    input  wire  [SLOTS-1:0]    slot_s_axis_tready,
    output wire  [SLOTS-1:0]    slot_s_axis_tlast,
    output wire  [SLOTS*2-1:0]  slot_s_axis_tuser,
    input  wire  [SLOTS*64-1:0] slot_m_axis_tdata,
    input  wire  [SLOTS*8-1:0]  slot_m_axis_tkeep,
    input  wire  [SLOTS-1:0]    slot_m_axis_tvalid,
    output wire  [SLOTS-1:0]    slot_m_axis_tready,
    input  wire  [SLOTS-1:0]    slot_m_axis_tlast,
    input  wire  [SLOTS*12-1:0] slot_m_axis_tuser,
    output wire  [SLOTS*16-1:0] slot_csr_addr,
    output wire  [SLOTS-1:0]    slot_csr_write,
    output wire  [SLOTS*32-1:0] slot_csr_wdata,
    output wire  [SLOTS-1:0]    slot_csr_read,
    input  wire  [SLOTS*32-1:0] slot_csr_rdata,
    input  wire  [SLOTS-1:0]    slot_csr_ack,
    input  wire  [SLOTS-1:0]    slot_busy,
    output wire                 tick_us
);

  wire [15:0]         drain_timeout_us, addr;
  wire [31:0]         wdata;
  wire                is_write;
  wire [SLOTS-1:0]    regs_write, slot_request, slot_ack;
  wire [SLOTS*32-1:0] regs_rdata, slot_rdata;

  tick_gen #(.CLOCK_HZ(CLOCK_HZ)) u_tick (.clk, .rst, .tick_us);

  shell_csr #(.SLOTS(SLOTS), .CLOCK_HZ(CLOCK_HZ), .SHELL_UUID(SHELL_UUID)) u_csr (
      .clk, .rst,
      .host_csr_addr, .host_csr_write, .host_csr_wdata, .host_csr_read, .host_csr_rdata, .host_csr_ack,
      .link_up, .drain_timeout_us, .addr, .wdata, .is_write,
      .slot_regs_write(regs_write), .slot_regs_rdata(regs_rdata), .slot_request, .slot_ack, .slot_rdata);

  for (genvar n = 0; n < SLOTS; n++) begin : g_slot
    wire        hold, decouple, csr_decouple, slot_reset, held, drained, timed_out, slot_is_busy, csr_timeout;
    wire [ 1:0] policy;
    wire [ 15:0] metadata_mask;
    wire [ 63:0] metadata_values, tx_tdata;
    wire [127:0] hops;
    wire [ 7:0] tx_tkeep, tx_class;
    wire        tx_tlast, tx_terror, tx_direction;
    wire        in_beat, out_beat, drop_beat, bypass_beat, in_last, out_last, drop_last, bypass_last, out_error, no_hop;
    wire [ 3:0] in_bytes, out_bytes, drop_bytes, bypass_bytes;

    always_ff @(posedge clk) slot_rst[n] <= rst || slot_reset;

    slot_registers u_registers (
        .clk, .rst, .write(regs_write[n]), .addr, .wdata, .rdata(regs_rdata[n*32+:32]),
        .hold, .decouple, .csr_decouple, .slot_reset, .policy, .metadata_mask, .metadata_values, .hops,
        .status({csr_timeout, slot_is_busy, timed_out, drained, held}),
        .in_beat, .out_beat, .drop_beat, .bypass_beat, .in_last, .out_last, .drop_last, .bypass_last,
        .in_bytes, .out_bytes, .drop_bytes, .bypass_bytes, .out_error, .no_hop);

    slot_csr u_slot_csr (
        .clk, .rst, .cut(csr_decouple), .forget(slot_reset), .timeout(csr_timeout),
        .request(slot_request[n]), .is_write, .addr, .wdata, .ack(slot_ack[n]), .rdata(slot_rdata[n*32+:32]),
        .slot_csr_addr(slot_csr_addr[n*16+:16]), .slot_csr_write(slot_csr_write[n]),
        .slot_csr_wdata(slot_csr_wdata[n*32+:32]), .slot_csr_read(slot_csr_read[n]),
        .slot_csr_rdata(slot_csr_rdata[n*32+:32]), .slot_csr_ack(slot_csr_ack[n]));

    slot_lane u_lane (
        .clk, .rst, .tick_us, .hold, .decouple, .policy, .drain_timeout_us, .metadata_mask, .metadata_values,
        .hops, .held, .drained, .timed_out, .slot_is_busy,
        .in_beat, .out_beat, .drop_beat, .bypass_beat, .in_last, .out_last, .drop_last, .bypass_last,
        .in_bytes, .out_bytes, .drop_bytes, .bypass_bytes, .out_error, .no_hop,
        .rx_tdata({host_rx_tdata[n*64+:64], far_rx_tdata[n*64+:64], near_rx_tdata[n*64+:64]}),
        .rx_tkeep({host_rx_tkeep[n*8+:8], far_rx_tkeep[n*8+:8], near_rx_tkeep[n*8+:8]}),
        .rx_tvalid({host_rx_tvalid[n], far_rx_tvalid[n], near_rx_tvalid[n]}),
        .rx_tready({host_rx_tready[n], far_rx_tready[n], near_rx_tready[n]}),
        .rx_tlast({host_rx_tlast[n], far_rx_tlast[n], near_rx_tlast[n]}),
        .host_rx_tuser(host_rx_tuser[n]),
        .tx_tdata, .tx_tkeep, .tx_tlast, .tx_terror, .tx_class, .tx_direction,
        .tx_tvalid({host_tx_tvalid[n], far_tx_tvalid[n], near_tx_tvalid[n]}),
        .tx_tready({host_tx_tready[n], far_tx_tready[n], near_tx_tready[n]}),
        .slot_s_axis_tdata(slot_s_axis_tdata[n*64+:64]), .slot_s_axis_tkeep(slot_s_axis_tkeep[n*8+:8]),
        .slot_s_axis_tvalid(slot_s_axis_tvalid[n]), .slot_s_axis_tready(slot_s_axis_tready[n]),
        .slot_s_axis_tlast(slot_s_axis_tlast[n]), .slot_s_axis_tuser(slot_s_axis_tuser[n*2+:2]),
        .slot_m_axis_tdata(slot_m_axis_tdata[n*64+:64]), .slot_m_axis_tkeep(slot_m_axis_tkeep[n*8+:8]),
        .slot_m_axis_tvalid(slot_m_axis_tvalid[n]), .slot_m_axis_tready(slot_m_axis_tready[n]),
        .slot_m_axis_tlast(slot_m_axis_tlast[n]), .slot_m_axis_tuser(slot_m_axis_tuser[n*12+:12]),
        .slot_busy(slot_busy[n]));

    assign near_tx_tdata[n*64+:64] = tx_tdata;
    assign far_tx_tdata[n*64+:64]  = tx_tdata;
    assign host_tx_tdata[n*64+:64] = tx_tdata;
    assign near_tx_tkeep[n*8+:8]   = tx_tkeep;
    assign far_tx_tkeep[n*8+:8]    = tx_tkeep;
    assign host_tx_tkeep[n*8+:8]   = tx_tkeep;
    assign near_tx_tlast[n]        = tx_tlast;
    assign far_tx_tlast[n]         = tx_tlast;
    assign host_tx_tlast[n]        = tx_tlast;
    assign near_tx_tuser[n]        = tx_terror;
    assign far_tx_tuser[n]         = tx_terror;
    assign host_tx_tuser[n*10+:10] = {tx_class, tx_direction, tx_terror};
  end

endmodule

`default_nettype wire

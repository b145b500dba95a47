// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h53514c31;  // SQL1
localparam logic [31:0] MODULE_VERSION = 32'h00010100;
localparam int DROP_ATTACK = 0;
localparam logic [31:0] EVENT_ATTACK = 32'd1;
localparam logic [15:0] REG_OPTIONS = 16'h0080;
localparam logic [15:0] REG_PORT = 16'h0090;
localparam int REG_PORT_COUNT = 4;
localparam logic [15:0] REG_ATTACKS = 16'h00a0;
localparam logic [15:0] REG_PATTERN_PACKETS = 16'h0100;
localparam int REG_PATTERN_PACKETS_COUNT = 32;
/* verilator lint_on UNUSEDPARAM */

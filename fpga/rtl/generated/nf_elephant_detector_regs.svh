// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h454c4531;  // ELE1
localparam logic [31:0] MODULE_VERSION = 32'h00010000;
localparam logic [31:0] EVENT_ELEPHANT = 32'd1;
localparam logic [15:0] REG_THRESHOLD_BYTES = 16'h0080;
localparam logic [31:0] REG_THRESHOLD_BYTES_RESET = 32'h00100000;
localparam logic [15:0] REG_WINDOW_MS = 16'h0084;
localparam logic [31:0] REG_WINDOW_MS_RESET = 32'h000003e8;
localparam logic [15:0] REG_IDLE_TIMEOUT_S = 16'h0088;
localparam logic [31:0] REG_IDLE_TIMEOUT_S_RESET = 32'h0000003c;
localparam logic [15:0] REG_ELEPHANTS = 16'h008c;
/* verilator lint_on UNUSEDPARAM */

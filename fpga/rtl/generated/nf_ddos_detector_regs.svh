// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h44445331;  // DDS1
localparam logic [31:0] MODULE_VERSION = 32'h00010000;
localparam int DROP_ATTACK = 0;
localparam logic [31:0] EVENT_FLAGGED = 32'd1;
localparam logic [31:0] EVENT_CLEARED = 32'd2;
localparam logic [15:0] REG_OPTIONS = 16'h0080;
localparam logic [15:0] REG_WINDOW_MS = 16'h0084;
localparam logic [31:0] REG_WINDOW_MS_RESET = 32'h000003e8;
localparam logic [15:0] REG_MINIMUM = 16'h0088;
localparam logic [31:0] REG_MINIMUM_RESET = 32'h00000020;
localparam logic [15:0] REG_DEVIATIONS = 16'h008c;
localparam logic [31:0] REG_DEVIATIONS_RESET = 32'h0000000c;
localparam logic [15:0] REG_WINDOWS = 16'h00a0;
localparam logic [15:0] REG_COUNTERS = 16'h00a4;
localparam logic [15:0] REG_SUM = 16'h00a8;
localparam logic [15:0] REG_THRESHOLD = 16'h00ac;
localparam logic [15:0] REG_FLAGGED = 16'h00b0;
/* verilator lint_on UNUSEDPARAM */

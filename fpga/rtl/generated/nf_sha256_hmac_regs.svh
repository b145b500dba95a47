// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h53484131;  // SHA1
localparam logic [31:0] MODULE_VERSION = 32'h00010000;
localparam logic [15:0] REG_OPTIONS = 16'h0080;
localparam logic [15:0] REG_BLOCKS = 16'h0084;
localparam logic [15:0] REG_KEY = 16'h00c0;
localparam int REG_KEY_COUNT = 16;
/* verilator lint_on UNUSEDPARAM */

// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h50415331;  // PAS1
localparam logic [31:0] MODULE_VERSION = 32'h00010000;
/* verilator lint_on UNUSEDPARAM */

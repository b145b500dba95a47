// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h4e415431;  // NAT1
localparam logic [31:0] MODULE_VERSION = 32'h00010000;
localparam int DROP_MISS_BUFFER_FULL = 0;
localparam int DROP_NO_TRANSLATION = 1;
localparam int DROP_UNSUPPORTED = 2;
localparam int DROP_MALFORMED = 3;
localparam logic [31:0] EVENT_MISS = 32'd1;
localparam logic [15:0] REG_MISS_TIMEOUT_MS = 16'h0080;
localparam logic [31:0] REG_MISS_TIMEOUT_MS_RESET = 32'h000003e8;
localparam logic [15:0] REG_MISSES_WAITING = 16'h0084;
localparam logic [15:0] REG_TRANSLATED_FORWARD = 16'h0088;
localparam logic [15:0] REG_TRANSLATED_RETURN = 16'h008c;
/* verilator lint_on UNUSEDPARAM */

// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [15:0] CSR_ID = 16'h0000;
localparam logic [15:0] CSR_VERSION = 16'h0004;
localparam logic [15:0] CSR_CONTROL = 16'h0008;
localparam logic [15:0] CSR_STATUS = 16'h000c;
localparam logic [15:0] CSR_FRAMES_IN = 16'h0010;
localparam logic [15:0] CSR_FRAMES_OUT = 16'h0014;
localparam logic [15:0] CSR_DROPS = 16'h0018;
localparam int CSR_DROPS_COUNT = 4;
localparam logic [15:0] CSR_EVENT_COUNT = 16'h0028;
localparam logic [15:0] CSR_EVENT_DATA = 16'h002c;
localparam logic [15:0] CSR_EVENT_LOST = 16'h0030;
localparam logic [15:0] CSR_OVERSIZE = 16'h0034;
localparam logic [15:0] CSR_TABLE_COMMAND = 16'h0040;
localparam logic [15:0] CSR_TABLE_STATUS = 16'h0044;
localparam logic [15:0] CSR_TABLE_DATA = 16'h0060;
localparam int CSR_TABLE_DATA_COUNT = 8;
/* verilator lint_on UNUSEDPARAM */

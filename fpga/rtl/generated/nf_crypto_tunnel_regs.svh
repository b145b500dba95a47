// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h45535031;  // ESP1
localparam logic [31:0] MODULE_VERSION = 32'h00010000;
localparam int DROP_MALFORMED = 0;
localparam int DROP_UNSUPPORTED = 1;
localparam int DROP_TOO_BIG = 2;
localparam int DROP_EXHAUSTED = 3;
localparam int DROP_NOT_PROTECTED = 4;
localparam int DROP_UNKNOWN_SESSION = 5;
localparam int DROP_BAD_ICV = 6;
localparam int DROP_REPLAYED = 7;
localparam logic [15:0] REG_OPTIONS = 16'h0080;
localparam logic [15:0] REG_LOCAL = 16'h0084;
localparam logic [15:0] REG_PEER = 16'h0088;
localparam logic [15:0] REG_LARGEST = 16'h008c;
localparam logic [15:0] REG_SESSION_PACKETS = 16'h0090;
localparam logic [15:0] REG_NEXT_SESSION = 16'h0094;
localparam logic [15:0] REG_IV = 16'h0098;
localparam int REG_IV_COUNT = 2;
localparam logic [15:0] REG_KEY = 16'h00a0;
localparam int REG_KEY_COUNT = 8;
localparam logic [15:0] REG_MORE_DROPS = 16'h00c0;
localparam int REG_MORE_DROPS_COUNT = 4;
localparam logic [15:0] REG_PROTECTED_PACKETS = 16'h00d0;
localparam logic [15:0] REG_PROTECTED_BYTES = 16'h00d4;
localparam logic [15:0] REG_UNPROTECTED_PACKETS = 16'h00d8;
localparam logic [15:0] REG_UNPROTECTED_BYTES = 16'h00dc;
localparam logic [15:0] REG_SESSIONS_SENT = 16'h00e0;
localparam logic [15:0] REG_SESSIONS_RECEIVED = 16'h00e4;
localparam logic [15:0] REG_ARP = 16'h00e8;
/* verilator lint_on UNUSEDPARAM */

// SPDX-License-Identifier: Apache-2.0
// Made by fpga/regs/generate.py: do not edit.
/* verilator lint_off UNUSEDPARAM */
localparam logic [31:0] MODULE_ID = 32'h53465731;  // SFW1
localparam logic [31:0] MODULE_VERSION = 32'h00010100;
localparam int DROP_DENIED = 0;
localparam int DROP_NO_STATE = 1;
localparam int DROP_MALFORMED = 2;
localparam int DROP_TABLE_FULL = 3;
localparam logic [15:0] REG_DEFAULT_ACTION = 16'h0080;
localparam logic [31:0] REG_DEFAULT_ACTION_RESET = 32'h00000001;
localparam logic [15:0] REG_IDLE_TIMEOUT_S = 16'h0084;
localparam logic [31:0] REG_IDLE_TIMEOUT_S_RESET = 32'h0000012c;
localparam logic [15:0] REG_TRANSITORY_TIMEOUT_S = 16'h0088;
localparam logic [31:0] REG_TRANSITORY_TIMEOUT_S_RESET = 32'h0000001e;
localparam logic [15:0] REG_EVICTIONS = 16'h008c;
localparam logic [15:0] REG_HASH_KEY = 16'h00a0;
localparam int REG_HASH_KEY_COUNT = 4;
localparam logic [15:0] REG_STATE_TABLE = 16'h00c0;
localparam int REG_STATE_TABLE_COUNT = 16;
localparam logic [15:0] REG_RULE_SOURCE = 16'h0200;
localparam int REG_RULE_SOURCE_COUNT = 16;
localparam logic [15:0] REG_RULE_SOURCE_MASK = 16'h0204;
localparam int REG_RULE_SOURCE_MASK_COUNT = 16;
localparam logic [15:0] REG_RULE_DESTINATION = 16'h0208;
localparam int REG_RULE_DESTINATION_COUNT = 16;
localparam logic [15:0] REG_RULE_DESTINATION_MASK = 16'h020c;
localparam int REG_RULE_DESTINATION_MASK_COUNT = 16;
localparam logic [15:0] REG_RULE_PORTS = 16'h0210;
localparam int REG_RULE_PORTS_COUNT = 16;
localparam logic [15:0] REG_RULE_MATCH = 16'h0214;
localparam int REG_RULE_MATCH_COUNT = 16;
/* verilator lint_on UNUSEDPARAM */

// SPDX-License-Identifier: Apache-2.0
// A table of 4,096 entries by key: 1,024 sets of four ways, set = CRC-32C of the key modulo 1,024, or its Toeplitz hash.
// One search at a time; a way is looked at in each cycle. An entry idle for more than `idle_timeout_s` does not exist for
// any search or read; a sweep after each second frees it. Index of an entry: set * 4 + way.
//
// With TRANSITORY an entry whose value has bit 0 set is transitory: it has a time-out of its own, and a put into a full
// set takes the place of the one idle longest. Of several the first does, counted from a way that moves on with each such
// put: within one second no entry is younger than another.
//
// A packet's search: `find_valid` until `find_ready`, then one cycle of `found`, then the owner must give one `commit`.
// The table takes searches from both sides in turn, the host's (`host_*`) first.
`default_nettype none

module flow_table #(
    parameter int KEY_W = 104,    // a multiple of 8; network order
    parameter int VALUE_W = 32,
    parameter bit REPLACE = 1'b0,  // a put into a full set takes the place of the entry that is idle longest
    parameter bit TRANSITORY = 1'b0,
    parameter bit KEYED = 1'b0  // Toeplitz hash under `hash_key`
) (
    input  wire                clk,
    input  wire                rst,
    input  wire                clear,           // one cycle
    output logic               clearing,        // also after reset: no search is taken
    input  wire  [15:0]        now_s,
    input  wire                tick_s,
    input  wire  [15:0]        idle_timeout_s,  // at most 43,200; 65,535: never
    input  wire  [15:0]        transitory_timeout_s,
    input  wire  [KEY_W+8:0]   hash_key,        // changes only while the table is empty

    input  wire                find_valid,
    output wire                find_ready,
    input  wire  [KEY_W-1:0]   find_key,
    output logic               found,           // one cycle; what follows holds until the commit
    output logic               hit,
    output wire                room,            // a put would succeed
    output logic [VALUE_W-1:0] value,
    input  wire                commit,
    input  wire                commit_put,      // write `commit_value` and be idle for 0 s from now on
    input  wire                commit_delete,
    input  wire  [VALUE_W-1:0] commit_value,

    input  wire                host_start,      // one cycle; the operands hold until `host_done`
    input  wire  [3:0]         host_operation,  // 1 read, 2 put, 3 delete, 4 find
    input  wire  [11:0]        host_index,
    input  wire  [KEY_W-1:0]   host_key,
    input  wire  [VALUE_W-1:0] host_value,
    input  wire  [15:0]        host_idle_s,
    output logic               host_done,       // one cycle, with all below
    output logic               host_valid,      // the entry was there, after a put: is there
    output logic               host_full,
    output wire  [KEY_W-1:0]   host_entry_key,  // its value is `value`
    output logic [15:0]        host_entry_idle_s,
    output logic [12:0]        in_use,
    output logic               evicted          // one cycle: a transitory entry made room
);

  localparam int WORD_W = 1 + 16 + KEY_W + VALUE_W;  // {valid, last seen s, key, value}
  localparam logic [3:0] READ = 4'd1, PUT = 4'd2, DELETE = 4'd3, FIND = 4'd4;

  // Who is served: a packet, the host or the sweep.
  localparam logic [1:0] PACKET = 2'd0, HOST = 2'd1, SWEEP = 2'd2;
  logic [1:0] client;
  localparam logic [5:0] CLEAR = 6'd1, IDLE = 6'd2, KEY = 6'd4, HASH = 6'd8, SCAN = 6'd16, DECIDE = 6'd32;
  logic [5:0] state;

  logic host_waits, sweep_waits;
  logic [3:0] searches;   // since the last step of the sweep
  logic [11:0] sweep_at;
  wire  host_by_key = host_operation == PUT || host_operation == DELETE || host_operation == FIND;
  wire  serve_host = state == IDLE && host_waits;
  wire  serve_sweep = state == IDLE && !host_waits && sweep_waits && (!find_valid || &searches);
  wire  serve_packet = state == IDLE && !host_waits && !serve_sweep && find_valid;
  assign find_ready = serve_packet;

  logic [KEY_W-1:0] key;
  wire  [ 9:0] set;
  if (KEYED) begin : g_keyed
    toeplitz #(.WIDTH(KEY_W), .HASH_W(10)) u_hash (
        .clk, .start(state == KEY), .data(key), .key(hash_key), .hash(set));
  end else begin : g_crc
    wire [31:0] crc;
    crc32c #(.WIDTH(KEY_W)) u_hash (
        .clk, .start(state == KEY), .data(key), .crc);
    assign set = crc[9:0];
    wire unused = &{1'b0, crc[31:10], hash_key};
  end

  // Scan: `at` is the entry being read, `pending` follows it through RAM, word register and comparison.
  logic [11:0] at;
  logic [2:0]  reads_left;
  logic [2:0]  pending;
  logic [11:0] at_1, at_2, at_3;
  wire         reading = state == SCAN && reads_left != 0;

  (* no_rw_check *)  // what a read meets that is being written does not matter
  logic [WORD_W-1:0] store [4096];
  logic [WORD_W-1:0] ram_word, word;
  logic              write;
  logic [11:0]       write_at;
  logic [WORD_W-1:0] write_word;
  always_ff @(posedge clk) begin
    if (write) store[write_at] <= write_word;
    ram_word <= store[at];
    word     <= ram_word;
  end

  wire               word_valid = word[WORD_W-1];
  wire [15:0]        word_idle_s = now_s - word[WORD_W-2-:16];
  wire [KEY_W-1:0]   word_key = word[VALUE_W+:KEY_W];
  wire [VALUE_W-1:0] word_value = word[VALUE_W-1:0];
  wire               reads_one = client == HOST && host_operation == READ;
  wire               word_transitory = TRANSITORY && word_value[0];
  wire               word_lasts = word_idle_s <= idle_timeout_s;
  wire               word_lasts_transitory = word_idle_s <= transitory_timeout_s;
  logic               way_valid, way_live, way_matches;
  logic [15:0]        way_idle_s;
  logic [KEY_W-1:0]   way_key;
  logic [VALUE_W-1:0] way_value;
  assign host_entry_key = reads_one ? way_key : key;

  logic [11:0] hit_at, free_at, oldest_at, victim_at;
  logic [15:0] oldest_idle_s, victim_idle_s;
  logic        free, free_is_valid, victim;
  logic [ 1:0] first_way;  // of each search by key
  always_ff @(posedge clk) begin
    {at_3, at_2, at_1} <= {at_2, at_1, at};
    pending            <= {pending[1:0], reading};

    way_valid   <= word_valid;
    way_live    <= word_valid && (word_transitory ? word_lasts_transitory : word_lasts);
    way_matches <= word_key == key || reads_one;
    if (pending[1]) {way_key, way_value, way_idle_s} <= {word_key, word_value, word_idle_s};

    if (state == HASH || state == IDLE) begin
      {hit, free, free_is_valid, victim} <= '0;
      {oldest_at, oldest_idle_s}         <= '0;
    end else if (pending[2]) begin
      if (way_live && way_matches) begin
        {hit, hit_at, value} <= {1'b1, at_3, way_value};
        host_entry_idle_s    <= way_idle_s;
      end
      if (!way_live && !free) {free, free_is_valid, free_at} <= {1'b1, way_valid, at_3};
      if (at_3[1:0] == 2'd0 || way_idle_s > oldest_idle_s) {oldest_at, oldest_idle_s} <= {at_3, way_idle_s};
      if (TRANSITORY && way_live && way_value[0] && (!victim || way_idle_s > victim_idle_s))
        {victim, victim_at, victim_idle_s} <= {1'b1, at_3, way_idle_s};
    end
  end

  assign room = hit || free || victim || REPLACE;
  wire [11:0] put_at = hit ? hit_at : free ? free_at : victim ? victim_at : oldest_at;
  wire        host_put = client == HOST && host_operation == PUT;
  wire        host_delete = client == HOST && host_operation == DELETE;
  wire        decides = state == DECIDE && (client != PACKET || commit);
  wire        puts = decides && room && (host_put || (client == PACKET && commit_put));
  wire        deletes = decides && hit && (host_delete || (client == PACKET && commit_delete));
  wire        evicts = puts && !hit && !free && victim;
  wire        sweeps = decides && client == SWEEP && free_is_valid;
  wire        scan_ends = state == SCAN && reads_left == 0 && pending == 3'b100;

  always_ff @(posedge clk) begin
    write <= state == CLEAR || puts || deletes || sweeps;
    if (state == CLEAR) begin
      write_at   <= at;
      write_word <= '0;
    end else begin
      write_at <= sweeps ? free_at : deletes ? hit_at : put_at;
      write_word <= client == HOST ? {puts, now_s - host_idle_s, key, host_value} : {puts, now_s, key, commit_value};
    end
  end

  always_ff @(posedge clk) begin
    found     <= 1'b0;
    host_done <= 1'b0;
    evicted   <= evicts && !rst && !clear;
    if (rst || clear) begin
      state      <= CLEAR;
      clearing   <= 1'b1;
      at         <= '0;
      in_use     <= '0;
      host_waits <= host_start || (host_waits && !rst);
      {sweep_waits, sweep_at, searches, reads_left, first_way} <= '0;
    end else begin
      if (host_start) host_waits <= 1'b1;
      if (tick_s && in_use != 0) sweep_waits <= 1'b1;
      case (state)
        CLEAR: begin
          at <= at + 1'b1;
          if (&at) begin
            state    <= IDLE;
            clearing <= 1'b0;
          end
        end
        IDLE: begin
          if (serve_host || serve_packet) key <= serve_host ? host_key : find_key;
          if (serve_host) begin
            client     <= HOST;
            at         <= host_index;
            reads_left <= 3'd1;
            state      <= host_by_key ? KEY : SCAN;
          end else if (serve_sweep) begin
            client     <= SWEEP;
            at         <= sweep_at;
            reads_left <= 3'd1;
            searches   <= '0;
            state      <= SCAN;
          end else if (serve_packet) begin
            client   <= PACKET;
            searches <= searches + 4'(!(&searches));
            state    <= KEY;
          end
        end
        KEY: state <= HASH;
        HASH: begin
          at         <= {set, first_way};
          reads_left <= 3'd4;
          state      <= SCAN;
        end
        SCAN: begin
          if (reading) begin
            at         <= {at[11:2], at[1:0] + 2'd1};
            reads_left <= reads_left - 1'b1;
          end
          if (scan_ends) begin
            found <= client == PACKET;
            state <= DECIDE;
          end
        end
        DECIDE: if (decides) begin
          if (client == HOST) begin
            host_waits <= 1'b0;
            host_done  <= 1'b1;
          end
          if (client == SWEEP) {sweep_waits, sweep_at} <= {!(&sweep_at), sweep_at + 12'd1};
          if (evicts) first_way <= first_way + 1'b1;
          if (puts && !hit && free && !free_is_valid) in_use <= in_use + 1'b1;
          if (deletes || sweeps) in_use <= in_use - 1'b1;
          state <= IDLE;
        end
        default: state <= IDLE;
      endcase
    end
  end

  always_ff @(posedge clk) begin
    if (decides) begin
      host_valid <= host_put ? room : hit;
      host_full  <= host_put && !room;
    end
  end

endmodule

`default_nettype wire

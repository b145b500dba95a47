// SPDX-License-Identifier: Apache-2.0
// Treats one frame after the other: protects, unprotects or passes it, as its verdict says, and knows the sessions of
// both directions (agents/nfs/crypto-tunnel). Between frames it reads and changes sessions for the host.
`default_nettype none

module esp_engine #(
    parameter int VERDICT_W = 30
) (
    input wire clk,
    input wire rst,

    // Configuration
    input wire         key_is_256,
    input wire         udp,
    input wire         clamp,
    input wire [255:0] shared,
    input wire [ 31:0] local_end,
    input wire [ 31:0] peer_end,
    input wire [ 15:0] largest,          // packet to protect
    input wire [ 31:0] session_packets,
    input wire [ 31:0] next_spi,
    input wire         end_sessions,     // one cycle each
    input wire         end_outbound,
    input wire         set_iv,
    input wire [ 63:0] first_iv,

    // Frames
    input  wire [         63:0] s_tdata,
    input  wire [          7:0] s_tkeep,
    input  wire                 s_tvalid,
    output wire                 s_tready,
    input  wire                 s_tlast,
    input  wire [VERDICT_W-1:0] s_verdict,
    output wire [         63:0] m_tdata,
    output wire [          7:0] m_tkeep,
    output wire                 m_tvalid,
    input  wire                 m_tready,
    output wire                 m_tlast,
    output logic [         1:0] m_user,      // constant in a frame

    // Drops: the reason's bit, as regs/nf_crypto_tunnel.yaml numbers them
    output logic [ 7:0] drop,
    output wire         drop_valid,
    input  wire         drop_ready,

    // Table commands
    input  wire         table_start,
    input  wire [  3:0] table_operation,
    input  wire [ 27:0] table_index,
    input  wire [255:0] table_wdata,
    output logic        table_done,
    output logic        table_valid,
    output logic [255:0] table_rdata,

    // One cycle each
    output logic        protected_packet,
    output logic        unprotected_packet,
    output wire  [10:0] packet_bytes,        // of either: the packet within
    output logic        session_sent,
    output logic        session_received,
    output wire         busy
);

  localparam logic [1:0] PASS = 2'd0, PROTECT = 2'd1;
  localparam logic [2:0] CHECK = 3'd0, MARK = 3'd1, FORGET = 3'd2, SNAPSHOT = 3'd3, READ = 3'd4, WRITE = 3'd5,
                         MERGE = 3'd6;
  localparam logic [3:0] TABLE_READ = 4'd1, TABLE_PUT = 4'd2;
  localparam logic [7:0] NEXT_IPV4 = 8'd4, NEXT_IPV6 = 8'd41;
  localparam logic [7:0] MALFORMED = 8'h01, UNSUPPORTED = 8'h02, EXHAUSTED = 8'h08, NOT_PROTECTED = 8'h10,
                         UNKNOWN_SESSION = 8'h20, BAD_ICV = 8'h40, REPLAYED = 8'h80;

  function automatic logic [31:0] swap_half(input logic [31:0] x);
    swap_half = {x[7:0], x[15:8], x[23:16], x[31:24]};
  endfunction

  typedef enum logic [4:0] {
    IDLE, PASSING, LOADING, SESSION, NAME, KEYS, CLAMPING, CRYPTING, EMITTING, LENGTHS, FIND, CHECKING, ICV, ICV_LAST,
    FORGETTING, MARKING, PACKET, VERSION, DROPPED, TABLE, TABLE_WINDOW, TABLE_OUTBOUND, TABLE_FIND, TABLE_KEYS,
    TABLE_FORGET, TABLE_MERGE, TABLE_END
  } state_t;
  state_t state;

  // The frame's verdict.
  logic [1:0] kind;
  logic vlan, in_udp;
  logic [5:0] dscp;
  logic [10:0] ip_bytes;
  logic [6:0] l4_offset;
  wire protects = kind == PROTECT;
  wire [6:0] l3_offset = vlan ? 7'd18 : 7'd14;

  // Sessions. Those in which packets come have the numbers 1 to 3: the latest, the one before, and one for a candidate.
  logic open;
  logic [31:0] spi_out, sent;
  logic [1:0] latest_id, former_id;
  logic [31:0] latest_spi, former_spi;
  wire [1:0] candidate_id = latest_id ^ former_id;
  logic end_all_wanted, end_outbound_wanted, table_wanted;
  logic [63:0] next_iv;

  // The packet.
  logic [1:0] id;
  logic candidate;
  logic [31:0] spi, sequence_number;
  logic [63:0] iv;
  logic [10:0] bytes;       // of the packet within
  logic [10:0] text_bytes;
  logic [15:0] esp_bytes;
  assign packet_bytes = bytes;

  // The text, and its first bytes.
  (* no_rw_check *)  // a word that is being written is not read
  logic [63:0] text [256];
  logic [63:0] word;
  logic [7:0] read_at;
  wire load_write, clamp_write, crypt_write;
  wire [7:0] load_at, crypt_at, emit_at;
  wire [10:0] clamp_at;
  wire [63:0] load_word, clamp_word, crypt_word;
  wire write = load_write || clamp_write || crypt_write;
  wire [7:0] write_at = load_write ? load_at : clamp_write ? clamp_at[10:3] : crypt_at;
  wire [63:0] write_word = load_write ? load_word : clamp_write ? clamp_word : crypt_word;
  logic [63:0] head_0;
  logic [7:0] protocol;
  always_ff @(posedge clk) begin
    if (write) text[write_at] <= write_word;
    word <= text[read_at];
    if (write && write_at == 8'd0) head_0 <= write_word;
    if (write && write_at == 8'd1) protocol <= write_word[15:8];
  end

  // In.
  logic start_load;
  wire load_done, load_ready;
  wire [143:0] ethernet;
  wire [191:0] ahead;
  wire [7:0] text_offset = protects ? {1'b0, l3_offset} : {1'b0, l4_offset} + (in_udp ? 8'd24 : 8'd16);
  esp_load u_load (
      .clk, .rst, .start(start_load), .offset(text_offset), .done(load_done), .s_tdata, .s_tvalid,
      .s_tready(load_ready), .s_tlast, .write(load_write), .write_at(load_at), .write_word(load_word), .ethernet, .ahead);

  // Keys.
  logic start_derive, start_keys;
  wire keys_done;
  wire [255:0] cipher_key, inner, outer;
  wire [31:0] nonce;
  wire keys_hmac_start, keys_hmac_plain, keys_hmac_valid, keys_hmac_last;
  wire [63:0] keys_hmac_data;
  wire [3:0] keys_hmac_bytes;
  wire derives_out = id == 2'd0;
  wire hmac_ready, hmac_busy, hmac_done;
  wire [255:0] hash;
  esp_keys u_keys (
      .clk, .rst, .key_is_256, .shared, .derive(start_derive), .load(start_keys), .id,
      .sender(derives_out ? local_end : peer_end), .receiver(derives_out ? peer_end : local_end), .spi, .done(keys_done),
      .cipher_key, .nonce, .inner, .outer, .hmac_start(keys_hmac_start), .hmac_plain(keys_hmac_plain),
      .hmac_data(keys_hmac_data), .hmac_bytes(keys_hmac_bytes), .hmac_valid(keys_hmac_valid), .hmac_ready,
      .hmac_last(keys_hmac_last), .hmac_done, .hmac_result(hash));

  // Cipher and hash.
  logic start_crypt;
  wire crypt_done, crypt_hmac_start, crypt_hmac_valid, crypt_hmac_last;
  wire [63:0] crypt_hmac_data;
  wire [3:0] crypt_hmac_bytes;
  wire [15:0] trailer;
  esp_crypt u_crypt (
      .clk, .rst, .start(start_crypt), .done(crypt_done), .encrypt(protects), .key_is_256, .cipher_key, .nonce, .spi,
      .sequence_number, .iv, .packet_bytes(bytes), .text_bytes, .address(crypt_at), .word, .write(crypt_write),
      .write_word(crypt_word), .trailer, .hmac_start(crypt_hmac_start), .hmac_data(crypt_hmac_data),
      .hmac_bytes(crypt_hmac_bytes), .hmac_valid(crypt_hmac_valid), .hmac_ready, .hmac_last(crypt_hmac_last), .hmac_done);
  hmac_sha256 u_hmac (
      .clk, .rst, .start(keys_hmac_start || crypt_hmac_start), .plain(keys_hmac_start && keys_hmac_plain), .inner, .outer,
      .s_data(keys_hmac_valid ? keys_hmac_data : crypt_hmac_data),
      .s_bytes(keys_hmac_valid ? keys_hmac_bytes : crypt_hmac_bytes), .s_valid(keys_hmac_valid || crypt_hmac_valid),
      .s_ready(hmac_ready), .s_last(keys_hmac_valid ? keys_hmac_last : crypt_hmac_last), .busy(hmac_busy),
      .done(hmac_done), .result(hash));

  // MSS.
  logic start_clamp;
  wire clamp_done;
  mss_clamp u_clamp (
      .clk, .rst, .start(start_clamp), .header_words(head_0[3:0]), .fragment_offset({head_0[52:48], head_0[63:56]}),
      .protocol, .bytes, .most(largest - 16'd40), .done(clamp_done),
      .address(clamp_at), .word, .write(clamp_write), .write_word(clamp_word));

  // Windows.
  logic start_window;
  logic [2:0] window_operation;
  wire window_done, admits;
  wire [31:0] highest, former_highest;
  wire [255:0] window_rdata;
  logic [1:0] window_id;
  always_ff @(posedge clk)
    window_id <= state == TABLE || state == TABLE_WINDOW || state == TABLE_END ? latest_id : id;
  replay_windows u_windows (
      .clk, .rst, .start(start_window), .operation(window_operation), .id(window_id), .second_id(former_id),
      .sequence_number, .quarter(table_index[2:0] - 3'd1), .wdata(table_wdata), .rdata(window_rdata), .done(window_done),
      .admits, .highest, .second_highest(former_highest));

  // ICV, four bytes at a time.
  logic [1:0] icv_at;
  logic icv_good;
  logic [1:0] icv_phase;
  wire [10:0] icv_offset = text_bytes + {7'd0, icv_at, 2'b00};
  logic [31:0] icv_part;
  always_ff @(posedge clk) icv_part <= icv_offset[2] ? word[63:32] : word[31:0];
  wire [31:0] icv_wanted = swap_half(hash[{3'd7 - {1'b0, icv_at}, 5'd0}+:32]);

  // Out.
  logic start_emit;
  wire emit_done, emit_tvalid, emit_tlast;
  wire [63:0] emit_tdata;
  wire [7:0] emit_tkeep;
  esp_emit u_emit (
      .clk, .rst, .start(start_emit), .done(emit_done), .ethernet, .vlan, .encapsulate(protects), .udp, .dscp,
      .source(local_end), .destination(peer_end), .spi, .sequence_number, .iv, .icv(hash[255:128]),
      .text_bytes(protects ? text_bytes : bytes), .address(emit_at), .word, .m_tdata(emit_tdata), .m_tkeep(emit_tkeep),
      .m_tvalid(emit_tvalid), .m_tready, .m_tlast(emit_tlast));

  wire passing = state == PASSING;
  assign s_tready = passing ? m_tready : load_ready;
  assign m_tdata = passing ? s_tdata : emit_tdata;
  assign m_tkeep = passing ? s_tkeep : emit_tkeep;
  assign m_tvalid = passing ? s_tvalid : emit_tvalid;
  assign m_tlast = passing ? s_tlast : emit_tlast;
  assign drop_valid = state == DROPPED;
  assign busy = state != IDLE || table_wanted || end_all_wanted || end_outbound_wanted;

  always_comb begin
    case (state)
      CLAMPING: read_at = clamp_at[10:3];
      CRYPTING: read_at = crypt_at;
      ICV, ICV_LAST: read_at = icv_offset[10:3];
      default: read_at = emit_at;
    endcase
  end

  // The packet within an ESP packet.
  wire [10:0] inner_total = {head_0[18:16], head_0[31:24]};
  wire inner_long = head_0[23:19] != 5'd0;
  logic [11:0] available;  // negative: the padding is longer than the text
  logic inner_bad;

  always_ff @(posedge clk) begin
    {start_load, start_derive, start_keys, start_crypt, start_clamp, start_window, start_emit} <= '0;
    {protected_packet, unprotected_packet, session_sent, session_received, table_done} <= '0;
    if (table_start) table_wanted <= 1'b1;
    if (end_sessions) end_all_wanted <= 1'b1;
    if (end_outbound) end_outbound_wanted <= 1'b1;
    if (set_iv) next_iv <= first_iv;
    case (state)
      IDLE: begin
        candidate <= 1'b0;
        if (end_all_wanted) begin
          {open, end_all_wanted} <= '0;
          {latest_spi, former_spi} <= '0;
        end else if (end_outbound_wanted) begin
          {open, end_outbound_wanted} <= '0;
        end else if (table_wanted) begin
          table_wanted <= 1'b0;
          state <= TABLE;
        end else if (s_tvalid) begin
          {kind, m_user, vlan, dscp, ip_bytes, l4_offset, in_udp} <= s_verdict;
          start_load <= s_verdict[VERDICT_W-1-:2] != PASS;
          state <= s_verdict[VERDICT_W-1-:2] == PASS ? PASSING : LOADING;
        end
      end
      PASSING: if (s_tvalid && m_tready && s_tlast) state <= IDLE;
      LOADING: begin
        bytes <= ip_bytes;
        if (load_done) state <= protects ? SESSION : LENGTHS;
      end

      // Out: sequence number and keys.
      SESSION: begin
        id <= 2'd0;
        spi <= spi_out;
        sequence_number <= sent + 32'd1;
        iv <= next_iv;
        text_bytes <= (ip_bytes + 11'd5) & ~11'd3;
        if (open && sent != session_packets) begin
          start_keys <= 1'b1;
          sent <= sent + 32'd1;
          next_iv <= next_iv + 64'd1;
          state <= KEYS;
        end else if (&spi_out) begin
          drop  <= EXHAUSTED;
          state <= DROPPED;
        end else begin
          spi_out <= next_spi > spi_out ? next_spi : spi_out + 32'd1;
          sent <= '0;
          open <= 1'b1;
          session_sent <= 1'b1;
          state <= NAME;
        end
      end
      NAME: begin
        spi <= spi_out;
        sequence_number <= 32'd1;
        sent <= 32'd1;
        next_iv <= next_iv + 64'd1;
        start_derive <= 1'b1;
        state <= KEYS;
      end
      KEYS:
      if (keys_done) begin
        if (!protects) begin
          start_window <= !candidate;
          window_operation <= CHECK;
          drop <= REPLAYED;
          start_crypt <= candidate && sequence_number != 32'd0;
          state <= !candidate ? CHECKING : sequence_number != 32'd0 ? CRYPTING : DROPPED;
        end else if (clamp) begin
          start_clamp <= 1'b1;
          state <= CLAMPING;
        end else begin
          start_crypt <= 1'b1;
          state <= CRYPTING;
        end
      end
      CLAMPING:
      if (clamp_done) begin
        start_crypt <= protects;
        start_emit <= !protects;
        state <= protects ? CRYPTING : EMITTING;
      end
      CRYPTING: begin
        icv_at <= '0;
        icv_phase <= 2'd0;
        icv_good <= 1'b1;
        if (crypt_done) begin
          start_emit <= protects;
          state <= protects ? EMITTING : ICV;
        end
      end
      EMITTING:
      if (emit_done) begin
        protected_packet <= protects;
        unprotected_packet <= !protects;
        state <= IDLE;
      end

      // In: of which session, and whether it may come.
      LENGTHS: begin
        spi <= swap_half(ahead[95:64]);
        sequence_number <= swap_half(ahead[127:96]);
        iv <= ahead[191:128];
        esp_bytes <= in_udp ? {ahead[39:32], ahead[47:40]} - 16'd8 : {5'd0, ip_bytes} - {9'd0, l4_offset - l3_offset};
        state <= FIND;
      end
      FIND: begin
        text_bytes <= esp_bytes[10:0] - 11'd32;
        id <= spi == latest_spi ? latest_id : spi == former_spi ? former_id : candidate_id;
        if (esp_bytes < 16'd36 || esp_bytes[1:0] != 2'd0) begin
          drop  <= NOT_PROTECTED;
          state <= DROPPED;
        end else if (spi == 32'd0 || (spi != former_spi && spi < latest_spi)) begin
          drop  <= UNKNOWN_SESSION;
          state <= DROPPED;
        end else begin
          candidate <= spi != latest_spi && spi != former_spi;
          start_derive <= spi != latest_spi && spi != former_spi;
          start_keys <= spi == latest_spi || spi == former_spi;
          state <= KEYS;
        end
      end
      CHECKING:
      if (window_done) begin
        start_crypt <= admits;
        state <= admits ? CRYPTING : DROPPED;
      end
      ICV: begin  // a part is at hand in every third cycle
        icv_phase <= icv_phase == 2'd2 ? 2'd0 : icv_phase + 2'd1;
        if (icv_phase == 2'd2) begin
          icv_good <= icv_good && icv_part == icv_wanted;
          icv_at   <= icv_at + 2'd1;
          if (icv_at == 2'd3) state <= ICV_LAST;
        end
      end
      ICV_LAST: begin
        drop <= BAD_ICV;
        start_window <= icv_good;
        window_operation <= candidate ? FORGET : MARK;
        state <= !icv_good ? DROPPED : candidate ? FORGETTING : MARKING;
      end
      FORGETTING:
      if (window_done) begin
        {latest_id, latest_spi} <= {id, spi};
        {former_id, former_spi} <= {latest_id, latest_spi};
        session_received <= 1'b1;
        start_window <= 1'b1;
        window_operation <= MARK;
        state <= MARKING;
      end
      MARKING: begin
        available <= {1'b0, text_bytes} - 12'd2 - {4'd0, trailer[7:0]};
        if (window_done) state <= PACKET;
      end
      PACKET: begin
        bytes <= inner_total;
        inner_bad <= available[11] || available < 12'd20 || head_0[7:4] != 4'd4 || head_0[3:0] < 4'd5 || inner_long ||
                     inner_total < {5'd0, head_0[3:0], 2'b00} || {1'b0, inner_total} > available;
        drop <= trailer[15:8] == NEXT_IPV6 ? UNSUPPORTED : MALFORMED;
        state <= VERSION;
      end
      VERSION:
      if (trailer[15:8] != NEXT_IPV4 || inner_bad) state <= DROPPED;
      else begin
        start_clamp <= clamp;
        start_emit <= !clamp;
        state <= clamp ? CLAMPING : EMITTING;
      end
      DROPPED: if (drop_ready) state <= IDLE;

      // For the host.
      TABLE: begin
        sequence_number <= table_wdata[95:64];
        spi <= table_wdata[63:32];
        start_window <= 1'b1;
        window_operation <= table_operation == TABLE_PUT ? WRITE : table_index == 28'd0 ? SNAPSHOT : READ;
        state <= TABLE_WINDOW;
        if (table_operation == TABLE_PUT && table_index == 28'd0) begin
          start_window <= 1'b0;
          state <= TABLE_OUTBOUND;
        end else if (!(table_operation == TABLE_READ && table_index <= 28'd8) &&
                     !(table_operation == TABLE_PUT && table_index <= 28'd4)) begin
          start_window <= 1'b0;
          table_valid <= 1'b0;
          state <= TABLE_END;
        end
      end
      TABLE_WINDOW:
      if (window_done) begin
        table_valid <= 1'b1;
        state <= TABLE_END;
      end
      TABLE_OUTBOUND: begin
        if (!open || spi_out <= table_wdata[31:0]) begin
          open <= 1'b0;
          if (spi_out < table_wdata[31:0]) spi_out <= table_wdata[31:0];
        end
        table_valid <= 1'b1;
        state <= spi == 32'd0 ? TABLE_END : TABLE_FIND;
      end
      TABLE_FIND: begin
        id <= spi == latest_spi ? latest_id : spi == former_spi ? former_id : candidate_id;
        window_operation <= MERGE;
        if (spi == latest_spi || spi == former_spi) begin
          start_window <= 1'b1;
          state <= TABLE_MERGE;
        end else begin
          start_derive <= spi > former_spi;
          state <= spi > former_spi ? TABLE_KEYS : TABLE_END;
        end
      end
      TABLE_KEYS:
      if (keys_done) begin
        if (spi > latest_spi) begin
          {latest_id, latest_spi} <= {id, spi};
          {former_id, former_spi} <= {latest_id, latest_spi};
        end else {former_id, former_spi} <= {id, spi};
        start_window <= 1'b1;
        window_operation <= FORGET;
        state <= TABLE_FORGET;
      end
      TABLE_FORGET:
      if (window_done) begin
        start_window <= 1'b1;
        window_operation <= MERGE;
        state <= TABLE_MERGE;
      end
      TABLE_MERGE: if (window_done) state <= TABLE_END;
      default: begin
        table_done <= 1'b1;
        state <= IDLE;
      end
    endcase
    table_rdata <= table_index == 28'd0 ?
                   {32'd0, 31'd0, open, former_highest, former_spi, highest, latest_spi, sent, spi_out} : window_rdata;
    if (rst) begin
      state <= IDLE;
      {open, table_wanted, end_all_wanted, end_outbound_wanted} <= '0;
      {spi_out, sent, latest_spi, former_spi} <= '0;
      {latest_id, former_id} <= {2'd1, 2'd2};
      next_iv <= '0;
    end
  end

  wire unused = &{1'b0, hmac_busy, clamp_at[2:0], icv_offset[1:0], ahead[63:48], ahead[31:0], head_0[55:53],
                  head_0[47:32], head_0[15:8]};

endmodule

`default_nettype wire

// SPDX-License-Identifier: Apache-2.0
// The substitution of one byte (FIPS 197 5.1.1, figure 7).
`default_nettype none

module aes_sbox (
    input  wire  [7:0] value,
    output logic [7:0] substitute
);
  // Row 0 first, so entry n lies at bits 8 * (255 - n).
  localparam logic [2047:0] SBOX = {
    128'h637c777b_f26b6fc5_3001672b_fed7ab76,
    128'hca82c97d_fa5947f0_add4a2af_9ca472c0,
    128'hb7fd9326_363ff7cc_34a5e5f1_71d83115,
    128'h04c723c3_1896059a_071280e2_eb27b275,
    128'h09832c1a_1b6e5aa0_523bd6b3_29e32f84,
    128'h53d100ed_20fcb15b_6acbbe39_4a4c58cf,
    128'hd0efaafb_434d3385_45f9027f_503c9fa8,
    128'h51a3408f_929d38f5_bcb6da21_10fff3d2,
    128'hcd0c13ec_5f974417_c4a77e3d_645d1973,
    128'h60814fdc_222a9088_46eeb814_de5e0bdb,
    128'he0323a0a_4906245c_c2d3ac62_9195e479,
    128'he7c8376d_8dd54ea9_6c56f4ea_657aae08,
    128'hba78252e_1ca6b4c6_e8dd741f_4bbd8b8a,
    128'h703eb566_4803f60e_613557b9_86c11d9e,
    128'he1f89811_69d98e94_9b1e87e9_ce5528df,
    128'h8ca1890d_bfe64268_41992d0f_b054bb16
  };

  logic [7:0] table_of[256];
  initial for (int i = 0; i < 256; i = i + 1) table_of[i] = SBOX[8*(255-i)+:8];

  assign substitute = table_of[value];
endmodule

`default_nettype wire

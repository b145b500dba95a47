// SPDX-License-Identifier: Apache-2.0
// The constant of a round (FIPS 180-4 4.2.2).
`default_nettype none

module sha256_constants (
    input  wire  [ 5:0] round,
    output logic [31:0] k
);
  // Round 0 first, so entry n lies at bits 32 * (63 - n).
  localparam logic [2047:0] K = {
    128'h428a2f98_71374491_b5c0fbcf_e9b5dba5,
    128'h3956c25b_59f111f1_923f82a4_ab1c5ed5,
    128'hd807aa98_12835b01_243185be_550c7dc3,
    128'h72be5d74_80deb1fe_9bdc06a7_c19bf174,
    128'he49b69c1_efbe4786_0fc19dc6_240ca1cc,
    128'h2de92c6f_4a7484aa_5cb0a9dc_76f988da,
    128'h983e5152_a831c66d_b00327c8_bf597fc7,
    128'hc6e00bf3_d5a79147_06ca6351_14292967,
    128'h27b70a85_2e1b2138_4d2c6dfc_53380d13,
    128'h650a7354_766a0abb_81c2c92e_92722c85,
    128'ha2bfe8a1_a81a664b_c24b8b70_c76c51a3,
    128'hd192e819_d6990624_f40e3585_106aa070,
    128'h19a4c116_1e376c08_2748774c_34b0bcb5,
    128'h391c0cb3_4ed8aa4a_5b9cca4f_682e6ff3,
    128'h748f82ee_78a5636f_84c87814_8cc70208,
    128'h90befffa_a4506ceb_bef9a3f7_c67178f2
  };

  logic [31:0] table_of[64];
  initial for (int i = 0; i < 64; i = i + 1) table_of[i] = K[32*(63-i)+:32];

  assign k = table_of[round];
endmodule

`default_nettype wire

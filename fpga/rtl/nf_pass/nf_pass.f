../generated/common_regs.svh
../generated/nf_pass_regs.svh
../common/sync_fifo.sv
../common/axis_skid.sv
../common/csr_common.sv
nf_pass.sv

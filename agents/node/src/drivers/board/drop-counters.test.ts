import { expect, it } from 'vitest';
import { DropCounters } from './drop-counters.js';
import { at } from './fields.js';
import { BOARD_MODULES, COMMON_REGISTERS } from './registers.js';

it('reads the reasons beyond the fourth from the registers of the module', async () => {
  const memory = new Map<number, number>([
    [COMMON_REGISTERS.OVERSIZE.address, 1],
    [at(COMMON_REGISTERS.DROPS, 3), 2],
    [at(BOARD_MODULES.nf_crypto_tunnel.registers.MORE_DROPS, 0), 3],
    [at(BOARD_MODULES.nf_crypto_tunnel.registers.MORE_DROPS, 3), 4],
  ]);
  const port = {
    readRegisters: async (_: unknown, addresses: readonly number[]) => addresses.map((a) => memory.get(a) ?? 0),
  };
  const drops = new DropCounters(0, { port });
  await drops.read('crypto-tunnel');
  expect(drops.byReason).toEqual({ oversize: 1, exhausted: 2, not_protected: 3, replayed: 4 });
});

import { BOARD_MODULES } from '../registers.js';
import { readConfig } from './config.js';
import type { ModuleAdapter } from './module-adapter.js';
import { NatConfig } from './nat-config.js';
import { NatSession } from './nat-session.js';

const { MISS_TIMEOUT_MS } = BOARD_MODULES.nf_nat.registers;
/** A frame that has waited this long for a mapping is dropped. */
const ANSWER_LIMIT_MS = 1000;
export const nat: ModuleAdapter = {
  nf: 'nat',
  attribute: null,
  configure(config) {
    readConfig(NatConfig, config);
    return [[MISS_TIMEOUT_MS.address, ANSWER_LIMIT_MS]];
  },
  async begin(slot, config, fresh) {
    const session = new NatSession(slot, readConfig(NatConfig, config));
    if (!fresh) await session.adopt();
    return session;
  },
};

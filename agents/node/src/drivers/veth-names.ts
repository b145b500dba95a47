import { createHash } from 'node:crypto';

/** Interface names of one veth pair: the engine polls one end, the process the other. */
export interface VethPair {
  engine: string;
  process: string;
}

/** Packets enter a process NF at `near` and leave it at `far`; replies go the other way. At most 15 characters each. */
export interface ProcessLinks {
  near: VethPair;
  far: VethPair;
}

/** Every interface that a process driver makes has this prefix; it removes no other. */
export const VETH_PREFIX = 'orp';

export function processLinks(instanceId: string): ProcessLinks {
  const stem = VETH_PREFIX + createHash('sha256').update(instanceId).digest('hex').slice(0, 9);
  return {
    near: { engine: `${stem}ne`, process: `${stem}np` },
    far: { engine: `${stem}fe`, process: `${stem}fp` },
  };
}

import { createHash } from 'node:crypto';

/** Interface names of one veth pair: the engine polls one end, the NF the other. */
export interface VethPair {
  engine: string;
  nf: string;
}

/** Packets enter an NF at `near` and leave it at `far`; replies go the other way. At most 15 characters each. */
export interface VethLinks {
  near: VethPair;
  far: VethPair;
}

/** Prefix of every interface that a driver creates; it removes no others. */
export const VETH_PREFIX = 'orp';

/** Short name of an instance for interfaces, folders and containers. */
export const stemOf = (instanceId: string): string =>
  VETH_PREFIX + createHash('sha256').update(instanceId).digest('hex').slice(0, 9);

export function vethLinks(instanceId: string): VethLinks {
  const stem = stemOf(instanceId);
  return {
    near: { engine: `${stem}ne`, nf: `${stem}np` },
    far: { engine: `${stem}fe`, nf: `${stem}fp` },
  };
}

import { Name } from '@orrery/contract';
import { BOARD_MODULES } from './registers.js';

/**
 * Boards and their register descriptions name modules differently: `nf_sqli_detector` is `sqli-detector` everywhere
 * else.
 */
export function moduleName(hardware: string): string {
  const name = hardware.replace(/^nf_/, '').replaceAll('_', '-').toLowerCase();
  return Name.safeParse(name).success ? name : 'unknown';
}

interface ModuleIdentity {
  id: number;
  version: string;
  drops: readonly string[];
  registers: Readonly<Record<string, { readonly address: number; readonly count?: number; readonly stride?: number }>>;
}

const IDENTITIES: ReadonlyMap<string, ModuleIdentity> = new Map(
  Object.entries(BOARD_MODULES).map(([name, module]) => [moduleName(name), module]),
);

/** Null for a module unknown to this version of the agent. */
export const identityOf = (module: string): ModuleIdentity | null => IDENTITIES.get(module) ?? null;

/** The module with this `ID` register; null for none. */
export function moduleWithId(id: number): string | null {
  for (const [name, identity] of IDENTITIES) if (identity.id === id) return name;
  return null;
}

export const versionText = (word: number): string => [word >>> 16, (word >>> 8) & 0xff, word & 0xff].join('.');
export const idText = (word: number): string =>
  Buffer.from([word >>> 24, (word >>> 16) & 0xff, (word >>> 8) & 0xff, word & 0xff])
    .toString('latin1')
    .replace(/[^ -~]/g, '?');

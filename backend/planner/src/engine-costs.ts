// Written by `npm run profile -- --write`: what is measured anew changes here, too (agents/engine/measured.json).
import type { CostProfile } from '@orrery/contract';

/** What the engine itself spends on a packet, in cycles of a core. */
export type EngineCost = Pick<CostProfile, 'cycles_per_packet' | 'cycles_per_byte'>;

/** Into a queue and out of it, by two tasks of one worker. Source: npm run profile, 2026-11-23, AMD EPYC. */
export const QUEUE: EngineCost = { cycles_per_packet: 7, cycles_per_byte: 0 };

/** Out of one module and into the next. Source: npm run profile, 2026-11-23, AMD EPYC. */
export const GATE: EngineCost = { cycles_per_packet: 2, cycles_per_byte: 0 };

/** The class of a packet by its headers, of which there are four. Source: npm run profile, 2026-11-23, AMD EPYC. */
export const CLASSIFIER: EngineCost = { cycles_per_packet: 46, cycles_per_byte: 0 };

/** One copy of a packet, made and freed again: what a mirror does. Source: npm run profile, 2026-11-23, AMD EPYC. */
export const COPY: EngineCost = { cycles_per_packet: 34, cycles_per_byte: 0.05 };

/** One copy of a packet merged into another (xor, HydraNF 6.4). Source: npm run profile, 2026-11-23, AMD EPYC. */
export const MERGE: EngineCost = { cycles_per_packet: 43, cycles_per_byte: 0.03 };

/** To the port of a board and back from it: af_packet over a veth pair. Source: npm run profile, 2026-11-23, AMD EPYC. */
export const LOOK_ASIDE: EngineCost = { cycles_per_packet: 4365, cycles_per_byte: 0.39 };

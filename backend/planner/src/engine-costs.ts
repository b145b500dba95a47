// Written by `npm run profile -- --write`: what is measured anew changes here, too (agents/engine/measured.json).
import type { CostProfile } from '@orrery/contract';

/** What the engine itself spends on a packet, in cycles of a core. */
export type EngineCost = Pick<CostProfile, 'cycles_per_packet' | 'cycles_per_byte'>;

/** Into a queue and out of it, by two tasks of one worker. Source: npm run profile, 2026-11-27, Intel(R) Xeon(R) Processor. */
export const QUEUE: EngineCost = { cycles_per_packet: 10, cycles_per_byte: 0 };

/** Out of one module and into the next. Source: npm run profile, 2026-11-27, Intel(R) Xeon(R) Processor. */
export const GATE: EngineCost = { cycles_per_packet: 1, cycles_per_byte: 0 };

/** The class of a packet by its headers, of which there are four. Source: npm run profile, 2026-11-27, Intel(R) Xeon(R) Processor. */
export const CLASSIFIER: EngineCost = { cycles_per_packet: 68, cycles_per_byte: 0 };

/** One copy of a packet for a branch that writes, made and freed again: what a mirror does. Source: npm run profile, 2026-11-27, Intel(R) Xeon(R) Processor. */
export const COPY: EngineCost = { cycles_per_packet: 27, cycles_per_byte: 0.08 };

/** One copy of a packet found and merged into another (xor, HydraNF 6.4). Source: npm run profile, 2026-11-27, Intel(R) Xeon(R) Processor. */
export const MERGE: EngineCost = { cycles_per_packet: 100, cycles_per_byte: 0.06 };

/** To the port of a board and back from it: af_packet over a veth pair. Source: npm run profile, 2026-11-27, Intel(R) Xeon(R) Processor. */
export const LOOK_ASIDE: EngineCost = { cycles_per_packet: 3305, cycles_per_byte: 0.64 };

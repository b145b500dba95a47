import { softwareCost, sourceOf } from './costs.mjs';

/** Names of the parts in the planner, and what their figures stand for. */
const PARTS = {
  queue: ['QUEUE', 'Into a queue and out of it, by two tasks of one worker.'],
  gate: ['GATE', 'Out of one module and into the next.'],
  classifier: ['CLASSIFIER', 'The class of a packet by its headers, of which there are four.'],
  copy: ['COPY', 'One copy of a packet for a branch that writes, made and freed again: what a mirror does.'],
  merge: ['MERGE', 'One copy of a packet found and merged into another (xor, HydraNF 6.4).'],
  'look-aside': ['LOOK_ASIDE', 'To the port of a board and back from it: af_packet over a veth pair.'],
};

/** Nothing that is done for a packet costs less; what is less was lost in the noise. */
const LEAST_CYCLES = 1;

function costOf(cycles) {
  const { cycles_per_packet, cycles_per_byte } = softwareCost(cycles);
  return `{ cycles_per_packet: ${Math.max(LEAST_CYCLES, cycles_per_packet)}, cycles_per_byte: ${cycles_per_byte} }`;
}

/** The planner's `engine-costs.ts` for what was measured (agents/engine/measured.json), as it is formatted. */
export function engineCosts(measured) {
  const constants = Object.entries(PARTS).map(([part, [name, meaning]]) => {
    if (!measured.parts[part]) throw new Error(`nothing was measured of ${part}`);
    return `/** ${meaning} Source: ${sourceOf(measured)}. */
export const ${name}: EngineCost = ${costOf(measured.parts[part])};
`;
  });
  return `// Written by \`npm run profile -- --write\`: what is measured anew changes here, too (agents/engine/measured.json).
import type { CostProfile } from '@orrery/contract';

/** What the engine itself spends on a packet, in cycles of a core. */
export type EngineCost = Pick<CostProfile, 'cycles_per_packet' | 'cycles_per_byte'>;

${constants.join('\n')}`;
}

import { FAULTS } from './faults.mjs';
import { PARTS } from './parts.mjs';
import { PHASES } from './phases.mjs';

/** A few cases of different kinds, by name. */
export const SELECTION = [
  'server kill x deploy',
  'switch drift (no entries) x quiet',
  'engine drift (empty graph) x quiet',
  'engine freeze x quiet',
  'agent kill x undeploy',
];

function all() {
  return PARTS.flatMap((part) =>
    PHASES.flatMap((phase) =>
      Object.entries(FAULTS).flatMap(([fault, { of }]) =>
        of(part).map((kind) => {
          const drift = fault === 'drift' ? kind : null;
          return {
            name: `${part.name} ${fault}${drift ? ` (${drift})` : ''} x ${phase.name}`,
            part,
            phase,
            fault,
            drift,
          };
        }),
      ),
    ),
  );
}

/** The cases with these names (null: all) that contain the text, in an order and with delays that follow from the seed. */
export function choose(seed, names, text) {
  const random = mulberry32(seed);
  const drawn = all().map((one) => ({
    ...one,
    delay_ms: Math.round(random() * one.phase.lasts_ms),
    rank: random(),
  }));
  return drawn
    .filter(({ name }) => (names === null || names.includes(name)) && name.includes(text))
    .sort((a, b) => a.rank - b.rank);
}

/** Uniform numbers in [0, 1) (mulberry32). */
function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

import type { Random } from '../../random.js';
import type { ProvisioningState } from './state.js';

/**
 * The document's greedy (HydraNF 6.4.2): instances of the highest transmission rate first, each to the server that has
 * most left.
 */
export function greedy(state: ProvisioningState): void {
  const { problem, n } = state;
  const edges = (nf: number) => problem.edges.filter(({ from, to }) => from === nf || to === nf).length;
  const rate = Array.from({ length: n }, (_, nf) => edges(nf) / state.needed(nf));
  const order = [...rate.keys()].sort((a, b) => rate[b]! - rate[a]! || a - b);
  for (const nf of order) for (let j = 0; j < state.needed(nf); j++) putOn(state, nf, roomiest(state, nf));
  for (let nf = 0; nf < n; nf++) state.spreadEvenly(nf);
}

/** NFs in the order of the graph, each server filled before the next is begun. */
export function fillInOrder(state: ProvisioningState): void {
  for (let nf = 0; nf < state.n; nf++) {
    for (let j = 0; j < state.needed(nf); j++)
      putOn(state, nf, candidates(state, nf).find((k) => takes(state, nf, k)) ?? roomiest(state, nf));
    state.spreadEvenly(nf);
  }
}

/** Every server with a random NF's next instance (HydraNF 6.6.1, random placement). */
export function atRandom(state: ProvisioningState, random: Random): void {
  for (let nf = 0; nf < state.n; nf++) {
    for (let j = 0; j < state.needed(nf); j++) {
      const free = candidates(state, nf).filter((k) => takes(state, nf, k));
      putOn(state, nf, free[Math.floor(random() * free.length)] ?? roomiest(state, nf));
    }
    state.spreadEvenly(nf);
  }
}

/** One instance of each NF on each server in turn (HydraNF 6.6.1, linear placement). */
export function linear(state: ProvisioningState): void {
  for (let nf = 0; nf < state.n; nf++) {
    for (let j = 0; j < state.needed(nf); j++) {
      const all = candidates(state, nf);
      const turn = all.map((_, t) => all[(j + t) % all.length]!);
      putOn(state, nf, turn.find((k) => takes(state, nf, k)) ?? roomiest(state, nf));
    }
    state.spreadEvenly(nf);
  }
}

function candidates(state: ProvisioningState, nf: number): number[] {
  return Array.from({ length: state.s }, (_, k) => k).filter((k) => state.allows(nf, k));
}

function takes(state: ProvisioningState, nf: number, server: number): boolean {
  state.put(nf, server, 1);
  const fits = state.fill(server) <= 1 + 1e-9;
  state.put(nf, server, -1);
  return fits;
}

function roomiest(state: ProvisioningState, nf: number): number {
  const fillWith = (k: number) => {
    state.put(nf, k, 1);
    const fill = state.fill(k);
    state.put(nf, k, -1);
    return fill;
  };
  return candidates(state, nf).reduce((best, k) => (fillWith(k) < fillWith(best) ? k : best));
}

function putOn(state: ProvisioningState, nf: number, server: number): void {
  state.put(nf, server, 1);
}

import type { SloStatus } from '@orrery/contract';
import { meanFrom } from '../e2-split/balance.js';

type Point = readonly [s: number, value: number];

/** What was seen of a chain at a time, in seconds since the start of its round. */
export interface Look {
  readonly s: number;
  /** An objective was missed. */
  readonly missed: boolean;
  /** Of the NF that is scaled. */
  readonly instances: number;
  /** The smallest share of a budget that is left; null: none was counted yet. */
  readonly left: number | null;
}

type Judged = Pick<SloStatus, 'kind' | 'state' | 'measured' | 'target'>;

/**
 * Whether an objective is missed, as is judged or, while it warms up after a change, as is measured: one that changes all the time
 * would miss nothing.
 */
export function isMissed({ kind, state, measured, target }: Judged): boolean {
  if (state !== 'warming-up') return state === 'violated';
  const isLimit = kind === 'latency' || kind === 'loss';
  return measured !== null && (isLimit ? measured > target : measured < target);
}

/** Seconds in which an objective was missed: each look tells of the time until the next one. */
export function secondsMissed(looks: readonly Pick<Look, 's' | 'missed'>[]): number {
  return looks.reduce((sum, { s, missed }, i) => sum + (missed ? (looks[i + 1]?.s ?? s) - s : 0), 0);
}

/** The rate before a fault is the mean over this time. */
const BEFORE_S = 5;
/** A chain carries again from this share on of the rate before, or of what is offered if that is less. */
const CARRIED = 0.5;
/** The receiver tells of whole seconds: a fault shows in its rate within this time. */
const NOTICED_S = 4;
/** Where it does not show, rates say nothing for so long. */
const EDGE_S = 2;

/** Seconds from a fault until the chain carries again, by rates; null: it did not, or carried nothing before. */
export function recovery(delivered: readonly Point[], offered: readonly Point[], faultS: number): number | null {
  const before = meanFrom(delivered, faultS - BEFORE_S, faultS);
  if (!before) return null;
  const carries = ([s, value]: Point) => {
    const wanted = offered.findLast(([at]) => at <= s)?.[1] ?? before;
    return value > 0 && value >= CARRIED * Math.min(before, wanted);
  };
  const since = delivered.filter(([s]) => s >= faultS);
  const noticed = since.find((point) => point[0] <= faultS + NOTICED_S && !carries(point));
  const fromS = noticed?.[0] ?? faultS + EDGE_S;
  const again = since.find((point) => point[0] >= fromS && carries(point));
  return again ? again[0] - faultS : null;
}

/** Where an instance runs. */
interface Placed {
  readonly node_id: string;
  readonly server: string;
}

/**
 * The server of an NF that is to be cut off: one without the NF in front of it, if there is one. `together`: whether
 * the round before cut both off, so that rounds are alike; null: this is the first one. Returns null if the NF does not
 * run.
 */
export function serverToCut(
  instances: readonly Placed[],
  nf: string,
  front: string,
  together: boolean | null,
): { readonly server: string; readonly together: boolean } | null {
  const own = instances.filter(({ node_id }) => node_id === nf).map(({ server }) => server);
  const first = instances.find(({ node_id }) => node_id === front)?.server;
  const server = together && first !== undefined && own.includes(first) ? first : own.find((each) => each !== first);
  const chosen = server ?? own[0];
  return chosen === undefined ? null : { server: chosen, together: chosen === first };
}

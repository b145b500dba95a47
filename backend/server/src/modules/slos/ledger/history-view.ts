import { SLO_HISTORY_POINTS, type SloAlert, type SloHistory } from '@orrery/contract';
import { ProblemError } from '../../../platform/problem.js';
import type { Bucket } from '../budget/bucket-ring.js';
import { burnRate } from '../budget/budget.js';
import { COARSE_S, FINE_S } from '../budget/seconds-history.js';
import type { HistoryClock } from './history-clock.js';
import type { Ledger } from './slo-ledgers.js';

interface HistoryQuery {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly step?: number | undefined;
  readonly span?: number | undefined;
}

const HOUR_MS = 3_600_000;
/** Where no step is asked for: an hour by 10 s, whose first step mostly begins before it. */
const USUAL_POINTS = 361;
const LONGEST_STEP_S = 86_400;
const STEPS_S = [FINE_S, 60, COARSE_S, 1800, 3600, 6 * 3600, LONGEST_STEP_S] as const;

/** Steps begin at whole multiples of their length, of the time of the history. Throws 400 that names the parameter. */
export function historyOf(
  { record, history }: Ledger,
  query: HistoryQuery,
  clock: HistoryClock,
  nowMs: number,
): SloHistory {
  const asked = (wallMs: number | undefined) => (wallMs === undefined ? undefined : clock.historyOf(wallMs));
  const toMs = Math.min(asked(query.to) ?? nowMs, nowMs);
  if (query.span !== undefined && query.from !== undefined) throw bad('span', 'cannot be given with "from"');
  const spanMs = query.span === undefined ? HOUR_MS : 1000 * query.span;
  const fromMs = Math.max(0, asked(query.from) ?? toMs - spanMs);
  if (fromMs > toMs) throw bad('from', 'is after "to"');
  const isRecent = history.fine.slotOf(fromMs) > history.fine.slotOf(nowMs) - history.fine.capacity;
  const spanS = (toMs - fromMs) / 1000;
  const least = isRecent ? FINE_S : COARSE_S;
  const pointsOf = (stepS: number) => Math.ceil(toMs / 1000 / stepS) - Math.floor(fromMs / 1000 / stepS);
  const usual = STEPS_S.find((each) => each >= least && pointsOf(each) <= USUAL_POINTS) ?? LONGEST_STEP_S;
  const step_s = query.step ?? usual;
  if (!isRecent && step_s % COARSE_S !== 0)
    throw bad('step', `must be a multiple of ${COARSE_S} s for a time before the last six hours`);
  if (pointsOf(step_s) > SLO_HISTORY_POINTS) {
    const shortest = least * Math.ceil(spanS / (SLO_HISTORY_POINTS - 1) / least);
    const most = `an answer has ${SLO_HISTORY_POINTS} points at most`;
    if (shortest > LONGEST_STEP_S) throw bad('from', `is too early: ${most}, of ${LONGEST_STEP_S} s each`);
    throw bad('step', `must be at least ${shortest} s: ${most}`);
  }
  const ring = isRecent && step_s % COARSE_S !== 0 ? history.fine : history.coarse;
  const { goal, period_s, since_ms, chain_id, slo_id } = record;
  const allowed_s = (1 - goal) * period_s;
  const stepMs = 1000 * step_s;
  const first = Math.floor(fromMs / stepMs) * stepMs;
  let bad_s = history.coarse.sum(0, history.coarse.slotOf(first) - 1).bad_s;
  if (ring === history.fine)
    bad_s += history.fine.sum((history.coarse.slotOf(first) * COARSE_S) / FINE_S, history.fine.slotOf(first) - 1).bad_s;
  const points: SloHistory['points'] = [];
  for (let t_ms = first; t_ms < toMs; t_ms += stepMs) {
    const slots = Array.from({ length: step_s / ring.lengthS }, (_, n) => ring.bucket(ring.slotOf(t_ms) + n));
    const known = slots.flatMap((bucket) => bucket ?? []);
    const sum = history.sumOf(0, known satisfies Bucket[]);
    const countedS = Math.max(0, Math.min(t_ms + stepMs, nowMs) - Math.max(t_ms, since_ms)) / 1000;
    bad_s += sum.bad_s;
    points.push({
      t_ms: clock.wallOf(t_ms),
      good_s: sum.good_s,
      bad_s: sum.bad_s,
      unknown_s: Math.max(0, countedS - sum.good_s - sum.bad_s),
      mean: sum.mean,
      worst: sum.worst,
      burn: burnRate(sum, goal),
      left_share: 1 - bad_s / allowed_s,
    });
  }
  const to_ms = clock.wallOf(toMs);
  return { chain_id, slo_id, goal, period_s, since_ms: clock.wallOf(since_ms), step_s, to_ms, points };
}

/** An alert as it is told: since when its budget is counted is stored in the time of the history. */
export function byWallClock({ since_ms, ...alert }: SloAlert, clock: Pick<HistoryClock, 'wallOf'>): SloAlert {
  return since_ms === undefined ? alert : { ...alert, since_ms: clock.wallOf(since_ms) };
}

function bad(parameter: string, detail: string): ProblemError {
  return new ProblemError(400, `The parameter "${parameter}" ${detail}.`, [{ pointer: `/${parameter}`, detail }]);
}

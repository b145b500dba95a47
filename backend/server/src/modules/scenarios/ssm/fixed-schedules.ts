import { LendingGroupRequest } from '@orrery/contract';
import type { Stage } from '../scenario.js';
import { EDGE_S, partOfBest, totalMean } from './turns.js';

/** Schedules that take no notice of the load, once it is there. */
export const FIXED = [
  { strategy: 'round-robin', name: 'turns of one slice' },
  { strategy: 'static', name: 'one tunnel keeps it' },
] as const;
export type Fixed = (typeof FIXED)[number]['strategy'];

/** From when to when a schedule was observed. */
export interface Observed {
  readonly name: string;
  readonly from_ms: number;
  readonly end_ms: number;
}

interface Measuring {
  readonly group: string;
  readonly request: object;
  /** Brings the load to where it was when SSM was observed. */
  readonly repeat: () => Promise<void>;
  readonly seconds: (strategy: Fixed) => number;
}

/** The strawmen under the same load, one after the other. */
export async function measureFixed(
  stage: Stage,
  { group, request, repeat, seconds }: Measuring,
): Promise<readonly Observed[]> {
  const observed: Observed[] = [];
  for (const { strategy, name } of FIXED) {
    const body = LendingGroupRequest.parse({ ...request, strategy });
    await stage.api.call('putLendingGroup', { params: { id: group }, body });
    await repeat();
    await stage.wait(EDGE_S, `${name} begins`);
    const from_ms = Date.now();
    await stage.wait(seconds(strategy), name);
    observed.push({ name, from_ms, end_ms: Date.now() });
  }
  return observed;
}

/** By what all tunnels carry together; `rates`: of each, in Mbit/s. */
export function compareFixed(
  stage: Stage,
  ssm: Omit<Observed, 'name'>,
  fixed: readonly Observed[],
  rates: readonly (readonly (readonly [s: number, mbps: number])[])[],
  load: string,
): void {
  const carried = ({ from_ms, end_ms }: Omit<Observed, 'name'>) =>
    totalMean(rates, { startMs: stage.started_ms, fromMs: from_ms, endMs: end_ms });
  const byLoad = carried(ssm);
  const others = fixed.map((each) => ({ name: each.name, here: carried(each) }));
  for (const { name, here } of [{ name: 'by load (SSM)', here: byLoad }, ...others])
    stage.figure({ name: `Rate of all tunnels, ${name}`, unit: 'Mbit/s', published: null, here });
  const part = partOfBest(
    byLoad,
    others.map(({ here }) => here),
  );
  stage.figure({
    name: 'SSM, of the best fixed schedule',
    unit: '',
    published: null,
    here: part,
    bar: { least: 0.95, most: null },
    note: `by the rate of all tunnels, one schedule after the other; ${load}`,
  });
  stage.figure({
    name: 'Gain over the best fixed schedule',
    unit: '%',
    published: null,
    here: part === null ? null : 100 * (part - 1),
  });
}

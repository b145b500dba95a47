import { nfInstances, type Plan, type PlannedChain } from '@orrery/contract';
import { Memo, makePlan, OutOfTime } from '@orrery/planner';
import { ofOwnPort } from '../src/testing/chains.js';
import { CATALOGUE } from '../src/testing/descriptors.js';
import { rack } from '../src/testing/infrastructure.js';
import { cpuMs, type Figure, fittedExponent, sized } from './measure.js';

const RATE_BPS = 2e9;
const chains = (count: number): PlannedChain[] => Array.from({ length: count }, (_, i) => ofOwnPort(i, RATE_BPS));

/** As the server asks. */
const SEARCH_STEPS = 2000;
const INFRASTRUCTURE = rack({ servers: 24, cores: 8, ghz: 2, nic_bps: 1e11, link_bps: 1e11 });

function inputOf(planned: PlannedChain[], base: Plan | null) {
  return {
    id: 'plan',
    created_ms: 0,
    chains: planned,
    descriptors: CATALOGUE,
    infrastructure: INFRASTRUCTURE,
    base,
    budget: { steps: SEARCH_STEPS },
  };
}

/** A whole plan: checked, sized, placed, wired, predicted, and with the steps to it. */
export function planFigures(): Figure[] {
  const points = sized([1, 4, 16, 64], [1, 4]).map((count) => {
    const input = inputOf(chains(count), null);
    const made = makePlan(input);
    if (!made.feasible) throw new Error(`not feasible: ${JSON.stringify([made.problems[0], made.conflicts[0]])}`);
    return [nfInstances(made.graph).length, cpuMs(() => makePlan(input))] as const;
  });
  return [
    ...points.map(([n, value]): Figure => ({ name: `whole plan, ${n} instances`, value, unit: 'ms', better: 'lower' })),
    { name: 'whole plan, exponent of instances', value: fittedExponent(points), unit: '', better: 'lower' },
    ...changeFigures(),
    largeFigure(),
  ];
}

/** Chains of three NFs with a latency objective each. */
const LARGE = sized(1333, 4);
const LIMIT_MS = 1000;
/** Between two questions to the clock, and on the way out. */
const OVER_MS = 100;

/** Time to the answer of a plan that the limit does not suffice for: a plan that leaves things out, or none. */
function largeFigure(): Figure {
  const slos = [{ id: 'fast', kind: 'latency', percentile: 99, max_us: 60 } as const];
  const planned = chains(LARGE).map((chain) => ({ ...chain, definition: { ...chain.definition, slos } }));
  const infrastructure = rack({ servers: 256, cores: 64, nic_bps: 1e11, link_bps: 1e11, table_entries: 100_000 });
  const answer = () => {
    const began = process.cpuUsage();
    const spent_ms = () => {
      const { user, system } = process.cpuUsage(began);
      return (user + system) / 1000;
    };
    const budget = { steps: SEARCH_STEPS, late: () => spent_ms() > LIMIT_MS / 2, expired: () => spent_ms() > LIMIT_MS };
    try {
      makePlan({ ...inputOf(planned, null), infrastructure, budget });
    } catch (error) {
      if (!(error instanceof OutOfTime)) throw error;
    }
  };
  return {
    name: `answer for ${3 * LARGE} NFs with objectives, at a limit of ${LIMIT_MS / 1000} s`,
    value: cpuMs(answer),
    unit: 'ms',
    better: 'lower',
    bar: LIMIT_MS + OVER_MS,
  };
}

/** Chains of three instances each that run. */
const RUNNING = sized(33, 3);
/** So many of them that a rate is one that lasts. */
const SUSTAINED_MS = 2000;
/** E2 answers 68 split requests a second (E2 3.6.2). */
const PUBLISHED_PER_SECOND = 68;

/**
 * Whole plans a second for one change after the other to what runs, as the server makes them: with the parts of earlier
 * plans (`Memo`); the baseline makes all anew. Every change is another one.
 */
function changeFigures(): Figure[] {
  const running = chains(RUNNING);
  const base = makePlan(inputOf(running, null));
  if (!base.feasible) throw new Error('not feasible');
  const rated = ({ definition, ...chain }: PlannedChain, rate_bps: number): PlannedChain => ({
    ...chain,
    definition: { ...definition, traffic_class: { ...definition.traffic_class, rate_bps } },
  });
  const more = chains(RUNNING + 1).at(-1)!;
  const changes: Record<string, (i: number) => PlannedChain[]> = {
    'one chain more': (i) => [...running, rated(more, 1e9 + i * 1e6)],
    'an NF split': (i) => [rated(running[0]!, 4e9 + i * 1e6), ...running.slice(1)],
  };
  return Object.entries(changes).map(([name, change]): Figure => {
    let i = 0;
    const perSecond = (memo?: Memo) =>
      1000 / cpuMs(() => makePlan({ ...inputOf(change(i++), base), ...(memo ? { memo } : {}) }), SUSTAINED_MS);
    return {
      name: `plans, ${name} beside ${nfInstances(base.graph).length} instances`,
      value: perSecond(new Memo(2000)),
      unit: 'plans/s',
      better: 'higher',
      bar: PUBLISHED_PER_SECOND,
      baseline: perSecond(),
    };
  });
}

import { LendingStrategy, type LendingTurn, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of } from '../address.js';
import { observeCores, percentOf } from '../busy-cores.js';
import { cpuLimit, receiver, seedOf, sender } from '../fields.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { historyOf, outlasting } from '../series.js';
import { compareFixed, FIXED, type Fixed, measureFixed, type Observed } from './fixed-schedules.js';
import type { LoadCourse } from './load-course.js';
import { containers, instructions } from './needs.js';
import {
  beginAnew,
  chainNames,
  definitionOf,
  deployTunnels,
  load,
  loadByCourse,
  NEAR,
  NF,
  type Shape,
  sinkOf,
  type Tunnel,
} from './tunnels.js';
import { EDGE_S, fairness, lane, leastFairness, mean, whileHeld, whole } from './turns.js';

/** Between the loads of two tunnels, so that the first one has it alone before (Figure 6). */
const LATER_S = 8;
/** Of a load that comes and goes: no whole number, so that turns of a slice do not keep step with it. */
const PERIOD_SLICES = 2.5;
const PERIODS = 2;
/** Of the load of a tunnel that is overloaded. */
const IDLE = 0.02;
const LOADS = ['even', 'uneven'] as const;

interface Parameters {
  from: string;
  to: string;
  strategy: z.output<typeof LendingStrategy>;
  load: (typeof LOADS)[number];
  slice_s: number;
  th_up: number;
  th_low: number;
  turns: number;
  cpu_limit: number;
  offered_mbps: number;
  seed: number;
}

interface Memory {
  shape: Shape;
  tunnels: Tunnel[];
  group: string;
  request: object;
  /** From when to when the chosen strategy was observed, with all loads there. */
  loaded_ms: number;
  end_ms: number;
  turns: LendingTurn[];
  switch_ms: number | null;
  busyShare: number;
  fixed: readonly Observed[];
}

const periodOf = ({ slice_s }: Parameters) => PERIOD_SLICES * slice_s;

function courseOf(parameters: Parameters, tunnels: number): LoadCourse {
  const high_bps = 1e6 * parameters.offered_mbps;
  return { tunnels, period_s: periodOf(parameters), high_bps, low_bps: IDLE * high_bps };
}

/** How long each schedule is observed. SSM and one with turns need a turn of each tunnel, unless the load says how long. */
function secondsOf(parameters: Parameters, tunnels: number, strategy: Fixed | 'chosen'): number {
  const { load: course, slice_s, turns } = parameters;
  if (course === 'uneven') return PERIODS * periodOf(parameters);
  if (strategy === 'chosen') return (turns * tunnels + 1) * slice_s;
  return (strategy === 'static' ? 2 : tunnels) * slice_s;
}

/** How long all schedules are observed, one after the other, s. */
function observedS(parameters: Parameters, tunnels: number): number {
  const chosen = secondsOf(parameters, tunnels, 'chosen');
  if (parameters.strategy !== 'ssm') return chosen;
  return FIXED.reduce((sum, { strategy }) => sum + EDGE_S + secondsOf(parameters, tunnels, strategy), chosen);
}

/** So that all tunnels together leave some of two cores free. */
const loadOf = (tunnels: 2 | 4) =>
  tunnels === 2 ? { cpu_limit: 0.05, offered_mbps: 50 } : { cpu_limit: 0.02, offered_mbps: 25 };

/** Tunnels that share the accelerator of their server (SSM IV.B, Figure 6). */
function tunnelsInTurn(
  id: string,
  tunnels: 2 | 4,
  title: string,
  source: string,
  usual: { readonly turns: number; readonly duration_s: number },
) {
  const Declared = z.object({
    from: sender('client-3'),
    to: receiver('web-1'),
    strategy: LendingStrategy.default('ssm').meta({
      title: 'Who gets the instructions',
      titles: {
        ssm: 'The overloaded one that had them the least (SSM)',
        static: 'Always the same one (strawman)',
        'round-robin': 'All in turn (strawman)',
      },
    }),
    load: z
      .enum(LOADS)
      .default('even')
      .meta({
        title: 'Load',
        titles: {
          even: 'Even: all tunnels are overloaded all the time',
          uneven: 'Uneven: each for half of every 2.5 slices, in turn',
        },
      }),
    slice_s: z.number().min(1).max(60).default(11).meta({
      title: 'Time slice',
      unit: 's',
      description: 'for which a tunnel keeps the instructions while others wait (published: 11)',
    }),
    th_up: z
      .number()
      .min(0.05)
      .max(1)
      .default(0.75)
      .meta({ title: 'Qualifies above', unit: 'of its CPU limit', description: 'the upper threshold of a tunnel' }),
    th_low: z
      .number()
      .min(0)
      .max(1)
      .default(0.65)
      .meta({ title: 'Gives up below', unit: 'of its CPU limit', description: 'the lower threshold of a holder' }),
    turns: z
      .int()
      .min(1)
      .max(20)
      .default(usual.turns)
      .meta({ title: 'Turns', unit: 'turns', description: 'of each tunnel, under even load' }),
    cpu_limit: cpuLimit(loadOf(tunnels).cpu_limit, 'of a near end'),
    offered_mbps: z.number().min(1).max(200).default(loadOf(tunnels).offered_mbps).meta({
      title: 'Offered UDP',
      unit: 'Mbit/s',
      description: 'to each tunnel that is overloaded, more than it carries in software',
    }),
    seed: seedOf('flows of an uneven load'),
  });
  return defineScenario({
    id,
    title,
    summary: `${tunnels} encrypted tunnels on one server want its crypto instructions, which one of them may use at a time. The one that is overloaded and has had them the least gets them for a slice. Shows who has them when, above CPU and rate of every tunnel, and what all carry beside fixed schedules.`,
    source,
    duration_s: usual.duration_s,
    watch: 'accelerators',
    parameters: Declared,
    faults: (parameters) => [
      ...(parameters.from === parameters.to
        ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }]
        : []),
      ...(parameters.th_low >= parameters.th_up
        ? [{ pointer: '/parameters/th_low', detail: 'must be below the upper threshold', code: 'not-below' }]
        : []),
      ...outlasting(
        parameters.load === 'even' && parameters.turns > 1 ? 'turns' : 'slice_s',
        observedS(parameters, tunnels),
      ),
    ],
    needs: ({ from, to, cpu_limit, offered_mbps }) => [
      runningTwin(),
      nfs(NF),
      hosts(from, to),
      containers(),
      instructions(),
      freeNames(...chainNames(tunnels)),
      freeTraffic(async (api) => {
        const address = await ipv4Of(api, to);
        const of = { from, cpu_limit, offered_mbps, cipher: 'aes-128-ctr' as const };
        return address ? chainNames(tunnels).map((_, n) => definitionOf(n + 1, { ...of, address })) : [];
      }),
    ],
    steps: (parameters) => {
      const memory = {} as Memory;
      return [
        {
          title: 'Deploy the tunnels on one server, and lend its instructions',
          run: (stage) => prepare(stage, memory, parameters, tunnels),
        },
        {
          title: parameters.load === 'even' ? 'Load one tunnel after the other' : 'Begin loads that come and go',
          run: (stage) => begin(stage, memory, parameters),
        },
        { title: 'Observe their turns', run: (stage) => observe(stage, memory, parameters) },
        ...(parameters.strategy === 'ssm'
          ? [
              {
                title: 'Measure fixed schedules',
                run: (stage: Stage) => measureStrawmen(stage, memory, parameters),
              },
            ]
          : []),
        { title: 'Compare', run: (stage) => compare(stage, memory, parameters, source) },
      ];
    },
  });
}

async function prepare(stage: Stage, memory: Memory, parameters: Parameters, tunnels: number): Promise<void> {
  const { from, to, cpu_limit, offered_mbps, strategy, slice_s, th_up, th_low } = parameters;
  memory.shape = { tunnels, from, to, cpu_limit, offered_mbps, cipher: 'aes-128-ctr' };
  memory.fixed = [];
  memory.tunnels = await deployTunnels(stage, memory.shape);
  memory.request = {
    title: 'Scenario: tunnels in turn',
    nfs: memory.tunnels.map(({ chain }) => ({ chain_id: chain, node_id: NEAR })),
    accelerators: [{ kind: 'instructions', server: memory.tunnels[0]!.server }],
    strategy,
    slice_s,
    th_up,
    th_low,
  };
  memory.group = await stage.make('lending-group', memory.request);
}

async function begin(stage: Stage, { tunnels, shape }: Memory, parameters: Parameters): Promise<void> {
  if (parameters.load === 'uneven') {
    await loadByCourse(stage, tunnels, shape, courseOf(parameters, tunnels.length), parameters.seed);
    await stage.wait(EDGE_S, 'the loads begin');
    return;
  }
  for (const [index, tunnel] of tunnels.entries()) {
    if (index > 0) await stage.wait(LATER_S, `tunnel ${index} has it alone`);
    await load(stage, tunnel, index + 1, shape);
  }
}

async function observe(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  memory.loaded_ms = Date.now();
  const busy = observeCores();
  await stage.wait(secondsOf(parameters, memory.tunnels.length, 'chosen'), 'the tunnels take turns');
  memory.end_ms = Date.now();
  memory.busyShare = busy();
  const params = { id: memory.group };
  const { items } = await stage.api.call('listLendingTurns', {
    params,
    query: { since: stage.started_ms, limit: 500 },
  });
  memory.turns = [...items].reverse();
  const { items: groups } = await stage.api.call('listLendingGroups', { query: { limit: 100 } });
  memory.switch_ms = groups.find(({ id }) => id === memory.group)?.switch_ms ?? null;
}

/** An uneven load begins anew for each, so that all schedules meet the same one; an even one goes on. */
async function measureStrawmen(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { group, request, tunnels } = memory;
  memory.fixed = await measureFixed(stage, {
    group,
    request,
    repeat: async () => {
      if (parameters.load === 'uneven') await beginAnew(stage, tunnels.length);
    },
    seconds: (strategy) => secondsOf(parameters, tunnels.length, strategy),
  });
}

async function compare(stage: Stage, memory: Memory, parameters: Parameters, source: string): Promise<void> {
  const { api, started_ms } = stage;
  const { tunnels, turns, loaded_ms, end_ms, fixed } = memory;
  const { load: course, cpu_limit } = parameters;
  const rates = await Promise.all(
    tunnels.map((_, n) => historyOf(api, sampleKey('application', sinkOf(n + 1), 'bps'), started_ms, 1e-6)),
  );
  const cpus = await Promise.all(
    tunnels.map(({ near }) => historyOf(api, sampleKey('instance', near, 'cpu'), started_ms, 100 / cpu_limit)),
  );
  if (course === 'even') compareTurns(stage, memory, parameters, source, rates);
  compareSwitching(stage, memory, parameters);
  const text =
    course === 'even'
      ? 'all are overloaded alike all the time, so no schedule gains by the load, and this bounds only what switching costs'
      : `each is overloaded for half of every ${periodOf(parameters).toFixed(1)} s, in turn, and all schedules meet the same load; cores were busy for ${percentOf(memory.busyShare)} of the time`;
  if (fixed.length > 0) compareFixed(stage, { from_ms: loaded_ms, end_ms }, fixed, rates, text);
  const lines = (of: readonly (readonly [number, number][])[]) =>
    of.map((points, n) => ({ name: `tunnel ${n + 1}`, published: false, modelled: false, points: [...points] }));
  const x = { label: 'time since the start', unit: 's' };
  stage.plot({
    title: 'Who has the accelerator',
    source: '',
    x,
    y: { label: 'tunnel', unit: '' },
    series: lines(tunnels.map(({ near }, n) => lane(turns, near, started_ms, end_ms, n + 1))),
  });
  stage.plot({ title: 'CPU of its limit', source: '', x, y: { label: 'CPU', unit: '%' }, series: lines(cpus) });
  stage.plot({
    title: 'Rate of each tunnel',
    source: '',
    x,
    y: { label: 'rate', unit: 'Mbit/s' },
    series: lines(rates),
  });
}

/** Turns of tunnels that are all overloaded, and what the accelerator is worth to them. */
function compareTurns(
  stage: Stage,
  memory: Memory,
  { slice_s, strategy }: Parameters,
  source: string,
  rates: readonly (readonly (readonly [number, number])[])[],
): void {
  const { tunnels, turns, loaded_ms, end_ms } = memory;
  const ends = tunnels.map(({ near }) => near);
  const within = { startMs: stage.started_ms, fromMs: loaded_ms, endMs: end_ms, edgeS: EDGE_S };
  const over = whole(turns, end_ms).filter(({ from_ms }) => from_ms >= loaded_ms);
  const compared = tunnels.map(({ near }, n) => whileHeld(rates[n]!, turns, near, within));
  const [held, not] = [known(compared.map((it) => it.held)), known(compared.map((it) => it.not))];
  const [fast, plain] = [mean(held), mean(not)];
  const isSsm = strategy === 'ssm';
  const cores = `cores were busy for ${percentOf(memory.busyShare)} of the time`;
  stage.figure({
    name: 'Turns that ended',
    unit: 'turns',
    published: null,
    here: over.length,
    bar: isSsm ? { least: tunnels.length, most: null } : null,
  });
  stage.figure({
    name: 'Length of a turn',
    unit: 's',
    published: 11,
    here: mean(over.map(({ from_ms, to_ms }) => (to_ms - from_ms) / 1000)),
    source,
    bar: isSsm ? { least: slice_s - 1, most: slice_s + 2 } : null,
    note: slice_s === 11 ? 'of those that began once all tunnels were loaded' : `set to ${slice_s} s here`,
  });
  stage.figure({
    name: 'Fairness, Jain’s index',
    unit: '',
    published: null,
    here: fairness(turns, ends, stage.started_ms, end_ms),
    bar: isSsm ? { least: leastFairness(whole(turns, end_ms), ends), most: 1 } : null,
    note: 'of all time with the accelerator: the algorithm makes up for turns that some had before others were loaded',
  });
  stage.figure({
    name: 'Rate with the accelerator',
    unit: 'Mbit/s',
    published: 55.1,
    here: fast,
    source: 'SSM Table I',
    note: cores,
  });
  stage.figure({
    name: 'Rate without',
    unit: 'Mbit/s',
    published: 38.8,
    here: plain,
    source: 'SSM Table I',
    note: cores,
  });
  stage.figure({
    name: 'Gain while it is held',
    unit: '%',
    published: 42.1,
    here: fast !== null && plain ? 100 * (fast / plain - 1) : null,
    source: 'SSM Table I',
    bar: isSsm ? { least: 5, most: null } : null,
  });
}

function compareSwitching(stage: Stage, { switch_ms }: Memory, { slice_s }: Parameters): void {
  stage.figure({
    name: 'Time to switch',
    unit: 'ms',
    published: null,
    here: switch_ms,
    note: 'median; the overhead is Tsw / (Tsw + T)',
  });
  stage.figure({
    name: 'Overhead of switching',
    unit: '%',
    published: null,
    here: switch_ms === null ? null : (100 * switch_ms) / (switch_ms + 1000 * slice_s),
    bar: { least: null, most: 5 },
  });
}

const known = (values: readonly (number | null)[]) => values.flatMap((value) => value ?? []);

export const SSM_TWO_TUNNELS = tunnelsInTurn(
  'ssm-two-tunnels',
  2,
  'Two tunnels take turns at an accelerator',
  'SSM IV.B, Fig. 6 (a), (b)',
  { turns: 5, duration_s: 190 },
);
export const SSM_FOUR_TUNNELS = tunnelsInTurn(
  'ssm-four-tunnels',
  4,
  'Four tunnels take turns at an accelerator',
  'SSM IV.B, Fig. 6 (c), (d)',
  { turns: 2, duration_s: 275 },
);

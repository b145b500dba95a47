import { type HealingPolicyRequest, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { observeCores, percentOf } from '../busy-cores.js';
import { highest, meanFrom } from '../e2-split/balance.js';
import { cpuLimit, meanLifetime, newFlows, receiver, seedOf, sender } from '../fields.js';
import { type FlowLoad, flowLoad } from '../flow-load.js';
import { freeNames, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { lengthOf, pointsOf, type Wave } from '../wave.js';
import { CHAIN, NF_KINDS, objectives, PACKET_BYTES, SCALED } from './chain.js';
import { recovery, secondsMissed } from './judgement.js';
import { nothingDeployed, nothingOutOfService, serversWithContainers } from './needs.js';
import { deployWithOne, type Round, runRound, takeAway } from './round.js';

/** Each load has one, so that no sink meets packets of another. */
const PORTS = { measure: 9751, naive: 9752, here: 9753 } as const;
/** More than an instance carries at the smallest limit, less than the links do. */
const FLOOD_BPS = 120e6;
const MEASURE_S = 12;
/** An instance that carries more of it cannot be overloaded. */
const MOST_CARRIED = 0.9;
/** Expected of the chain while nothing is known of it. */
const USUAL_BPS = 20e6;
/** Of what one instance carries. */
const [LOW, HIGH] = [0.4, 1.6];
const TIMES = { low_s: 20, rise_s: 20, high_s: 38, fall_s: 2 } as const;
/** When the load has been high for a while. */
const FAULT_S = TIMES.low_s + TIMES.rise_s + 5;
const CLEARED_S = 40;
const STABLE_S = 5;
/** On top of the grace time: planning, containers that start, switches that are told. */
const HEALED_S = 15;

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  cpu_limit: cpuLimit(0.05, 'of an instance'),
  p99_ms: z.number().min(1).max(1000).default(100).meta({
    title: 'Objective of latency',
    unit: 'ms',
    description: 'for the 99th percentile. A container whose CPU is limited gets it once in 100 ms',
  }),
  grace_s: z
    .number()
    .min(1)
    .max(20)
    .default(3)
    .meta({ title: 'Grace time', unit: 's', description: 'a server that is away for longer is lost' }),
  by_hand_s: z
    .number()
    .min(5)
    .max(35)
    .default(30)
    .meta({ title: 'Healing by hand', unit: 's', description: 'until somebody deploys anew, without healing' }),
  flows_per_s: newFlows(200),
  lifetime_s: meanLifetime(2, 30),
  seed: seedOf('flows'),
});
type Parameters = z.output<typeof Parameters>;

interface Memory {
  /** Rate that one instance carries, bit/s. */
  capacity: number;
  policy: HealingPolicyRequest;
  naive: Round;
  here: Round;
  busyShare: number;
}

/** What scaling and healing save, beside the same load and the same fault without them. */
export const OVERLOAD_HEAL = defineScenario({
  id: 'overload-heal',
  title: 'Overload and a lost server, with and without loops',
  summary:
    'A load rises above what one instance of an IDS carries, and the link of its server is cut meanwhile. First one instance runs and somebody deploys anew by hand; then a scaling policy adds instances and healing moves what was lost. Shows for how long objectives were missed, and what was lost.',
  source: '',
  duration_s: 280,
  watch: 'slos',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: ({ from, to }) => [
    runningTwin(),
    nfs(...NF_KINDS),
    serversWithContainers(2),
    hosts(from, to),
    nothingOutOfService(),
    nothingDeployed(),
    freeNames(CHAIN),
  ],
  steps: (parameters) => {
    const memory = {} as Memory;
    return [
      { title: 'Measure what one instance carries', run: (stage) => measure(stage, memory, parameters) },
      { title: 'Without loops: overload and a lost server', run: (stage) => runNaive(stage, memory, parameters) },
      { title: 'With scaling and healing: the same', run: (stage) => runHere(stage, memory, parameters) },
      { title: 'Compare', run: (stage) => compare(stage, memory, parameters) },
    ];
  },
});

function loadOf(name: keyof typeof PORTS, parameters: Parameters, rates: Partial<FlowLoad['settings']>): FlowLoad {
  const { from, to, flows_per_s, lifetime_s: mean_lifetime_s, seed } = parameters;
  const flows = { flows_per_s, mean_lifetime_s, packet_bytes: PACKET_BYTES, seed };
  return { id: `${CHAIN}-${name}`, from, to, port: PORTS[name], settings: { ...flows, ...rates } };
}

/** By what arrives of more than it can carry. */
async function measure(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const chain = await deployWithOne(stage, { ...parameters, rate_bps: USUAL_BPS }, []);
  const load = loadOf('measure', parameters, { rate_bps: FLOOD_BPS, duration_s: MEASURE_S });
  const startedMs = Date.now();
  await flowLoad(stage, load);
  await stage.wait(MEASURE_S, 'one instance gets more than it can carry');
  const arrived = await historyOf(stage.api, sampleKey('application', `${load.id}-sink`, 'bps'), startedMs);
  await takeAway(stage, load.id, chain);
  const capacity = meanFrom(arrived, MEASURE_S / 2, MEASURE_S);
  if (!capacity) throw new Error('nothing arrived');
  if (capacity > MOST_CARRIED * FLOOD_BPS)
    throw new Error(`one instance carries ${mbps(capacity)}, too much to overload it: choose a lower CPU limit`);
  memory.capacity = capacity;
  stage.note(`one instance carries ${mbps(capacity)}`);
}

async function runNaive(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, make } = stage;
  const { revision: _revision, ...policy } = await api.call('getHealingPolicy');
  memory.policy = policy;
  await make('healing-policy', policy);
  await api.call('putHealingPolicy', { body: { ...policy, enabled: false } });
  const chain = await deployRound(stage, memory, parameters);
  const byHand_s = parameters.by_hand_s;
  const course = { ...courseOf('naive', memory, parameters), chain, byHand_s, policy: null, together: null };
  memory.naive = await runRound(stage, course);
}

async function runHere(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api, make } = stage;
  const { grace_s } = parameters;
  const healing = { ...memory.policy, enabled: true, grace_s, stable_s: STABLE_S, return: 'never', max_changes: 100 };
  await api.call('putHealingPolicy', { body: healing });
  const chain = await deployRound(stage, memory, parameters);
  const policy = await make('scaling-policy', {
    nf: { chain_id: chain, node_id: SCALED },
    out: { utilization: 0.6, queue: 4096, for_s: 1 },
    in: { utilization: 0.3, queue: 512, for_s: 5 },
    max_instances: 4,
    cooldown_s: 2,
  });
  const { together } = memory.naive.cut;
  const busyShare = observeCores();
  memory.here = await runRound(stage, {
    ...courseOf('here', memory, parameters),
    chain,
    byHand_s: null,
    policy,
    together,
  });
  memory.busyShare = busyShare();
}

function deployRound(stage: Stage, { capacity }: Memory, parameters: Parameters): Promise<string> {
  return deployWithOne(stage, { ...parameters, rate_bps: LOW * capacity }, objectives(parameters.p99_ms));
}

function courseOf(name: 'naive' | 'here', { capacity }: Memory, parameters: Parameters) {
  const wave: Wave = { ...TIMES, low: LOW * capacity, high: HIGH * capacity };
  const seconds = lengthOf(wave);
  const load = loadOf(name, parameters, { wave: pointsOf(wave), duration_s: seconds });
  return { load, seconds, fault_s: FAULT_S, cleared_s: CLEARED_S };
}

async function compare(
  { figure, plot }: Stage,
  { naive, here, capacity, busyShare }: Memory,
  { p99_ms, grace_s, by_hand_s, cpu_limit }: Parameters,
): Promise<void> {
  const missed = { naive: secondsMissed(naive.looks), here: secondsMissed(here.looks) };
  const recovered = (round: Round) => recovery(round.delivered, round.offered, round.fault_s);
  const alerts = [...naive.alerts, ...here.alerts];
  const left = [...naive.left, ...here.left];
  const wasCut = ({ cut }: Round) => `${cut.server} ${cut.together ? 'with the firewall' : 'without the firewall'}`;

  figure({
    name: 'Objectives missed, without loops',
    unit: 's',
    published: null,
    here: missed.naive,
    note: `latency, loss or availability; the load is up to ${HIGH} times what an instance with ${cpu_limit} of a core carries, ${mbps(capacity)}`,
  });
  figure({
    name: 'Objectives missed',
    unit: 's',
    published: null,
    here: missed.here,
    note: `measured over ten seconds: each miss shows for up to as long after it; cores were busy for ${percentOf(busyShare)} of the time`,
  });
  figure({
    name: 'Missed, of that without loops',
    unit: 'ratio',
    published: null,
    here: missed.naive > 0 ? missed.here / missed.naive : null,
    bar: { least: null, most: 0.5 },
  });
  figure({
    name: 'Until the chain carries again, without loops',
    unit: 's',
    published: null,
    here: recovered(naive),
    note: `deployed by hand ${by_hand_s} s after the link of ${wasCut(naive)} was cut`,
  });
  figure({
    name: 'Until the chain carries again',
    unit: 's',
    published: null,
    here: recovered(here),
    bar: { least: null, most: grace_s + HEALED_S },
    note: `healing waits ${grace_s} s after the link of ${wasCut(here)} was cut; half of the rate before is enough`,
  });
  const lossOf = ({ figures: { missing, generator, sink } }: Round, which: string) => {
    const note = `of ${generator.sent ?? 0} sent, counted at the receiving host`;
    figure({ name: `Packets lost${which}`, unit: 'packets', published: null, here: missing, note });
    const flows = sink.flows_with_loss ?? null;
    figure({ name: `Flows with loss${which}`, unit: 'flows', published: null, here: flows });
  };
  lossOf(naive, ', without loops');
  lossOf(here, '');
  figure({
    name: 'Most instances',
    unit: 'instances',
    published: null,
    here: highest(here.looks.map(({ s, instances }) => [s, instances])),
  });
  figure({
    name: 'Alerts, without loops',
    unit: 'alerts',
    published: null,
    here: naive.alerts.length,
    bar: { least: 1, most: null },
    note: 'objectives are missed for so long that one is due',
  });
  figure({
    name: 'Alerts without a cause',
    unit: 'alerts',
    published: null,
    here: alerts.filter(({ cause }) => cause === null).length,
    bar: { least: 0, most: 0 },
    note: `of ${alerts.length} in both rounds`,
  });
  figure({
    name: 'Left at the end',
    unit: '',
    published: null,
    here: left.length,
    bar: { least: 0, most: 0 },
    note: left.join(', ').slice(0, 200) || 'nothing out of service, every chain kept, no scaling under way',
  });

  const x = { label: 'time since the start of the round', unit: 's' };
  const line = (name: string, points: readonly (readonly [number, number])[], by = 1) => ({
    name,
    published: false,
    modelled: false,
    points: points.map(([s, value]): [number, number] => [s, value * by]),
  });
  const looks = (round: Round, of: (look: Round['looks'][number]) => number | null) =>
    round.looks.flatMap((look): [number, number][] => {
      const value = of(look);
      return value === null ? [] : [[look.s, value]];
    });
  plot({
    title: 'Delivered against offered',
    source: '',
    x,
    y: { label: 'rate', unit: 'Mbit/s' },
    series: [
      line('offered', here.offered, 1e-6),
      line('without loops', naive.delivered, 1e-6),
      line('with scaling and healing', here.delivered, 1e-6),
    ],
  });
  plot({
    title: 'Latency of the chain, p99',
    source: '',
    x,
    y: { label: 'latency', unit: 'ms' },
    series: [
      line('without loops', naive.p99_us, 1e-3),
      line('with scaling and healing', here.p99_us, 1e-3),
      line('objective', [
        [0, p99_ms],
        [here.offered.at(-1)?.[0] ?? 0, p99_ms],
      ]),
    ],
  });
  plot({
    title: `Instances of ${SCALED}`,
    source: '',
    x,
    y: { label: 'instances', unit: '' },
    series: [
      line(
        'without loops',
        looks(naive, ({ instances }) => instances),
      ),
      line(
        'with scaling and healing',
        looks(here, ({ instances }) => instances),
      ),
    ],
  });
  plot({
    title: 'Budget left, of the objective that has the least',
    source: '',
    x,
    y: { label: 'budget', unit: '%' },
    series: [
      line(
        'without loops',
        looks(naive, ({ left }) => left),
        100,
      ),
      line(
        'with scaling and healing',
        looks(here, ({ left }) => left),
        100,
      ),
    ],
  });
}

const mbps = (bps: number) => `${(bps / 1e6).toPrecision(3)} Mbit/s`;

import { ChainDefinition, type Plan } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { observeCores, percentOf } from '../busy-cores.js';
import { deployAs, deployChain, takeDown } from '../deploy-chain.js';
import { receiver, seedOf, sender } from '../fields.js';
import { type Execution, observe } from '../hydranf-chains/execution.js';
import { freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { ratioOf } from '../ratio.js';
import { defineScenario, type Stage } from '../scenario.js';
import { type Layout, layoutOf } from './layout.js';
import { leastDelivered, meanOfAll } from './measured.js';

const FIRST_PORT = 9501;
const SOURCE = 'HydraNF Fig. 6.13';
/** HydraNF 6.6.1: throughput over that of a random distribution, NFs placed linearly; from 1.74 to 1.87. */
const PUBLISHED_LINEAR = 1.74;
/** The same, NFs placed randomly; from 1.42 to 1.48. */
const PUBLISHED_RANDOM = 1.42;
/** Random placements among which the layouts of Figure 6.8 are looked for. */
const SEEDS = 40;

const Parameters = z.object({
  from: sender('client-4'),
  to: receiver('web-2'),
  packets_per_s: z.number().min(25).max(500).default(100).meta({ title: 'Probes of each chain', unit: 'probes/s' }),
  seconds: z
    .number()
    .min(5)
    .max(60)
    .default(10)
    .meta({ title: 'Measurement', unit: 's', description: 'of each placement' }),
  seed: seedOf('random placement', 1000),
});
type Parameters = z.output<typeof Parameters>;

const L2 = 'l2-forwarder';
const FW = 'firewall';
const NAT = 'nat';
/** The chains of Figures 6.13 and 6.14. */
const CHAINS = [
  [L2, NAT, FW],
  [L2, NAT],
  [L2, FW],
  [NAT, FW],
] as const;
/** For Figure 6.15: its three branches do not depend on each other. */
const PARALLEL = ['ids', 'monitor', FW] as const;

/** Placements of chains, mirrors and merges over servers. */
export const HYDRANF_PLACEMENT = defineScenario({
  id: 'hydranf-placement',
  title: 'Placement of chains, mirrors and merges',
  summary:
    'Runs four chains with the placement of the planner and with a random one, and a parallel chain with mirror and merge on one server, on two, and with the mirror in the switch. Compares latency and how often packets cross the fabric, which bounds the throughput of full links.',
  source: 'HydraNF Fig. 6.13 to 6.16',
  duration_s: 150,
  watch: 'topology',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: (parameters) => [
    runningTwin(),
    nfs(...CHAINS.flat(), ...PARALLEL),
    hosts(parameters.from, parameters.to),
    freeNames(...[...CHAINS, PARALLEL].map((_, i) => nameOf(i))),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, parameters.to);
      return address ? definitionsOf(address, parameters) : [];
    }),
  ],
  steps: (parameters) => {
    const chains: string[] = [];
    return [
      {
        title: `Send ${parameters.packets_per_s} probes per second to each chain`,
        async run(stage) {
          const definitions = definitionsOf(await requireIpv4(stage.api, parameters.to), parameters);
          for (const [i, definition] of definitions.entries()) {
            await probes(stage, FIRST_PORT + i, parameters);
            chains.push(await stage.make('chain', definition));
          }
        },
      },
      {
        title: 'Run four chains as planned and at random',
        run: (stage) => comparePlacements(stage, chains.slice(0, CHAINS.length), parameters),
      },
      {
        title: 'Run a parallel chain with its mirror and merge in different places',
        run: (stage) => compareMirrors(stage, chains.at(-1)!, parameters),
      },
    ];
  },
});

function nameOf(index: number): string {
  return `scenario-placement-${index + 1}`;
}

function definitionsOf(address: string, parameters: Parameters): ChainDefinition[] {
  return [...CHAINS, PARALLEL].map((kinds, i) => definitionOf(i, kinds, address, parameters));
}

function definitionOf(index: number, kinds: readonly string[], address: string, { from }: Parameters): ChainDefinition {
  const path = ['in', ...kinds.map((_, n) => `nf-${n + 1}`), 'out'];
  return ChainDefinition.parse({
    name: nameOf(index),
    title: `Scenario: placement ${index + 1}`,
    description: 'Created by the scenario “hydranf-placement”, which also removes it.',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'ip.proto', value: 'udp' },
        { attribute: 'port.dst', value: FIRST_PORT + index },
      ],
      rate_bps: 1_000_000,
      packet_bytes: 200,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      ...kinds.map((nf, n) => ({
        id: `nf-${n + 1}`,
        kind: 'nf',
        nf,
        config: nf === NAT ? { external_addresses: [`198.18.62.${index + 1}`] } : {},
      })),
      { id: 'out', kind: 'egress' },
    ],
    edges: path.slice(1).map((node, n) => ({ id: `e${n + 1}`, from: path[n], to: node })),
    slos: [{ id: 'p50', kind: 'latency', percentile: 50, max_us: 10_000_000 }],
  });
}

async function probes(stage: Stage, port: number, { from, to, packets_per_s: rate_per_s }: Parameters): Promise<void> {
  const server = { id: `scenario-placement-server-${port}`, kind: 'probe-server', node: to, config: { port } };
  await stage.make('application', { ...server, enabled: true });
  const client = { id: `scenario-placement-${port}`, kind: 'probe', node: from, config: { to, port, rate_per_s } };
  await stage.make('application', { ...client, enabled: true });
}

interface Placed extends Layout, Execution {}

async function measured(stage: Stage, plan: Plan, chainId: string, seconds: number, what: string): Promise<Placed> {
  return { ...layoutOf(plan, chainId), ...(await observe(stage, plan, chainId, seconds, what)) };
}

async function comparePlacements(stage: Stage, chains: readonly string[], parameters: Parameters): Promise<void> {
  const busyShare = observeCores();
  const run = async (strategy: 'e2' | 'random', what: string): Promise<readonly Placed[]> => {
    let plan: Plan | null = null;
    for (const chainId of chains) plan = await deployAs(stage, chainId, { strategy, seed: parameters.seed });
    const since = chains.map((chainId) => measured(stage, plan!, chainId, parameters.seconds, what));
    const placed = await Promise.all(since);
    for (const chainId of chains) await takeDown(stage, chainId);
    return placed;
  };
  const own = await run('e2', 'as planned');
  const random = await run('random', 'at random');
  const crossings = (all: readonly Placed[]) => meanOfAll(all.map((each) => each.crossings));
  const inOut = (all: readonly Placed[]) => plusOne(crossings(all));
  const p50 = (all: readonly Placed[]) => meanOfAll(all.map((each) => each.p50_us));
  for (const [name, all] of [
    ['as planned', own],
    ['at random', random],
  ] as const)
    stage.figure({
      name: `four chains ${name}: crossings of the fabric`,
      unit: 'a packet',
      published: null,
      here: crossings(all),
      note: 'between servers; ways in and out are not counted',
    });
  stage.figure({
    name: 'four chains: throughput of full links, as planned : at random',
    unit: '',
    published: PUBLISHED_LINEAR,
    here: ratioOf(inOut(random), inOut(own)),
    source: `${SOURCE}: linear; random NFs ${PUBLISHED_RANDOM}`,
    modelled: true,
    bar: { least: 1, most: null },
    note: 'links of servers carry each packet once for each way in: a full link carries so much more of the chains',
  });
  stage.figure({
    name: 'four chains: p50, as planned : at random',
    unit: '',
    published: null,
    here: ratioOf(p50(own), p50(random)),
    source: 'HydraNF Fig. 6.14',
    note: `${text(p50(own))} and ${text(p50(random))} us; cores busy for ${percentOf(busyShare())} of the time`,
  });
  tellDelivered(stage, 'four chains', [...own, ...random], parameters);
}

interface Wanted {
  readonly title: string;
  readonly label: string;
  is(layout: Layout): boolean;
}

/** The layouts of Figure 6.15. */
const WANTED: readonly Wanted[] = [
  {
    title: 'mirror and merge on one server',
    label: 'MM',
    is: ({ mirror, together, servers }) => mirror === 'software' && together && servers > 1,
  },
  {
    title: 'mirror and merge on two servers',
    label: 'M/M',
    is: ({ mirror, together }) => mirror === 'software' && !together,
  },
  { title: 'mirror in the switch', label: 'MH/M', is: ({ mirror }) => mirror === 'switch' },
];

async function compareMirrors(stage: Stage, chainId: string, parameters: Parameters): Promise<void> {
  await deployChain(stage, chainId);
  await takeDown(stage, chainId);
  const found = new Map<Wanted, Placed>();
  const planned = await deployAs(stage, chainId, { execution: 'parallel' });
  const own = await measured(stage, planned, chainId, parameters.seconds, 'as planned');
  await takeDown(stage, chainId);
  for (const wanted of WANTED) {
    const seed = await seedFor(stage.api, chainId, wanted);
    if (seed === null) {
      stage.figure({
        name: `${wanted.label}: p50, to that as planned`,
        unit: '',
        published: null,
        here: null,
        note: `${wanted.title}: not among ${SEEDS} random placements`,
      });
      continue;
    }
    const plan = await deployAs(stage, chainId, { execution: 'parallel', strategy: 'random', seed });
    found.set(wanted, await measured(stage, plan, chainId, parameters.seconds, wanted.title));
    await takeDown(stage, chainId);
  }
  for (const [{ title, label }, placed] of found) {
    stage.figure({
      name: `${label}: crossings of the fabric`,
      unit: 'a packet',
      published: null,
      here: placed.crossings,
      source: 'HydraNF Fig. 6.15',
      note: `${title}, branches on several servers; as planned ${own.crossings?.toFixed(2) ?? '–'}`,
    });
    stage.figure({
      name: `${label}: p50, to that as planned`,
      unit: '',
      published: null,
      here: ratioOf(placed.p50_us, own.p50_us),
      source: 'HydraNF Fig. 6.15',
      note: `${text(placed.p50_us)} us; as planned, on one server if it has room, ${text(own.p50_us)} us`,
    });
  }
  const [inSwitch] = [...found].flatMap(([{ label }, placed]) => (label === 'MH/M' ? [placed] : []));
  const inSoftware = [...found].flatMap(([{ label }, placed]) => (label === 'MH/M' ? [] : [placed]));
  if (inSwitch && inSoftware.length > 0)
    stage.figure({
      name: 'CPU of a packet, mirror in the switch : in software',
      unit: '',
      published: null,
      here: ratioOf(inSwitch.cpu_us, meanOfAll(inSoftware.map(({ cpu_us }) => cpu_us))),
      note: 'of NFs, mirrors and merges; the switch makes the copies',
    });
  tellDelivered(stage, 'parallel chain', [own, ...found.values()], parameters);
}

/** A random placement of that layout; `null` if there is none among the first. */
async function seedFor(api: Api, chainId: string, wanted: Wanted): Promise<number | null> {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const body = { chains: [{ chain_id: chainId, execution: 'parallel' as const }], strategy: 'random' as const, seed };
    const plan = await api.call('previewPlan', { body });
    if (plan.feasible && wanted.is(layoutOf(plan, chainId))) return seed;
  }
  return null;
}

/** Wherever NFs are placed, packets arrive. */
function tellDelivered(stage: Stage, what: string, all: readonly Placed[], { packets_per_s }: Parameters): void {
  stage.figure({
    name: `${what}: least delivered of what is offered`,
    unit: '%',
    published: null,
    here: leastDelivered(
      all.map(({ pps }) => pps),
      packets_per_s,
    ),
    bar: { least: 80, most: null },
    note: 'over all placements; a busy machine sends fewer probes than asked for',
  });
}

const plusOne = (ways: number | null) => (ways === null ? null : 1 + ways);
const text = (us: number | null) => (us === null ? '–' : us.toFixed(1));

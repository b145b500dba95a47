import { nfInstances, type Plan, SWITCH_DRIVER_TITLES, SwitchNode, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import type { Api } from '../api-caller.js';
import { deployAs } from '../deploy-chain.js';
import { areSettled, changeDrivers, driversNow, patiently } from '../drivers.js';
import { receiver, seedOf, sender } from '../fields.js';
import { captureOf, generate } from '../frames.js';
import { driverThere, freeNames, freeTraffic, hosts, nfs, runningTwin, twinSwitch } from '../needs.js';
import { MOST_ARRIVALS } from '../replay.js';
import { defineScenario, type Stage } from '../scenario.js';
import { historyOf } from '../series.js';
import { CHAIN, definitionOf, deniedOf, NF_KINDS } from './chain.js';
import { type Change, figuresOf } from './figures.js';
import { type Observed, observe, probeDuring, type Traffic } from './observe.js';

/** Of the entries of a switch, on a busy machine. */
const ENTRIES_S = 60;
const AS_IT_IS = 'as it is';
/** Of a capture; it is sent again and again. */
const MOST_FRAMES = 500;

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  driver: z
    .enum([AS_IT_IS, ...SwitchNode.shape.driver.options])
    .default(AS_IT_IS)
    .meta({
      title: 'Driver of the switch',
      description: 'where packets enter',
      titles: { [AS_IT_IS]: 'As it is', ...SWITCH_DRIVER_TITLES },
    }),
  seconds: z
    .number()
    .min(1)
    .max(60)
    .default(10)
    .meta({ title: 'Measurement', unit: 's', description: 'for which frames, and then probes, are sent in each form' }),
  rate_pps: z.number().min(10).max(1000).default(500).meta({ title: 'Frames', unit: 'frames/s' }),
  denied_share: z
    .number()
    .min(0)
    .max(0.9)
    .default(0.5)
    .meta({ title: 'Denied share', description: 'of the ports, from 0 to 0.9: the firewall denies them' }),
  probes_per_s: z.number().min(10).max(1000).default(50).meta({ title: 'Probes', unit: 'probes/s' }),
  seed: seedOf('ports, protocols and lengths of frames'),
});
type Parameters = z.output<typeof Parameters>;

interface Memory {
  chain: string;
  traffic: Traffic;
  plan: Plan;
  /** That run NFs of the chain by one of the plans. */
  servers: string[];
  onServers: Observed;
  onSwitch: Observed;
  change: Change;
}

/** What is gained by E2's opportunistic offload to the switch. */
export const E2_OFFLOAD = defineScenario({
  id: 'e2-offload',
  title: 'First NFs of a chain on the switch',
  summary:
    'Runs a firewall, a rate limiter and a monitor twice under the same seeded frames: all on a server, and the first two on the switch where packets enter. Compares what is denied and what arrives, packets on the link to the server, CPU of engines and of the switch, and latency. E2 proposes it and gives no figures. The switch is emulated: a program on the same machine.',
  source: 'E2 3.4.1, step 5',
  duration_s: 70,
  role: 'admin',
  watch: 'topology',
  parameters: Parameters,
  faults: ({ from, to, seconds, rate_pps }) => [
    ...(from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : []),
    ...(seconds * rate_pps > MOST_ARRIVALS
      ? [
          {
            pointer: '/parameters/seconds',
            detail: `makes more than ${MOST_ARRIVALS} frames at ${rate_pps} per second, which are too many to compare`,
            code: 'too-many-frames',
          },
        ]
      : []),
  ],
  needs: (parameters) => [
    runningTwin(),
    twinSwitch(),
    ...(parameters.driver === AS_IT_IS ? [] : [driverThere(parameters.driver)]),
    nfs(...NF_KINDS),
    hosts(parameters.from, parameters.to),
    freeNames(CHAIN),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, parameters.to);
      return address ? [definitionOf({ ...parameters, address })] : [];
    }),
  ],
  steps: (parameters) => {
    // Each step finds what those before it have put here.
    const memory = {} as Memory;
    return [
      { title: 'Deploy all NFs on servers', run: (stage) => prepare(stage, memory, parameters) },
      {
        title: 'Send frames and probes, all NFs on servers',
        run: async (stage) => {
          memory.onServers = await observe(stage, 'servers', memory, memory.traffic);
        },
      },
      { title: 'Move the first NFs to the switch, under probes', run: (stage) => move(stage, memory) },
      {
        title: 'Send frames and probes, first NFs on the switch',
        run: async (stage) => {
          memory.onSwitch = await observe(stage, 'switch', memory, memory.traffic);
        },
      },
      { title: 'Compare', run: (stage) => compare(stage, memory) },
    ];
  },
});

async function prepare(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { api } = stage;
  const { from, to, seconds, rate_pps, denied_share, probes_per_s, seed } = parameters;
  const ends = { from: await requireIpv4(api, from), to: await requireIpv4(api, to) };
  const entry = await entryOf(api, from);
  await withDriver(stage, entry, parameters.driver);
  const loops = Math.ceil((seconds * rate_pps) / MOST_FRAMES);
  const frames = generate(seed, Math.round((seconds * rate_pps) / loops), ends);
  const base64 = captureOf(frames).toString('base64');
  memory.traffic = {
    from,
    to,
    entry,
    rate_pps,
    probes_per_s,
    seconds,
    loops,
    capture: await stage.make('pcap', { name: CHAIN, base64 }),
    frames: loops * frames.length,
    denied: loops * deniedOf(frames, denied_share).packets,
  };
  memory.chain = await stage.make('chain', definitionOf({ ...parameters, address: ends.to }));
  memory.plan = await deployAs(stage, memory.chain, { offload: 'never', execution: 'sequential' });
  memory.servers = serversOf(memory.plan, memory.chain);
  await settled(stage, entry);
}

async function move(stage: Stage, memory: Memory): Promise<void> {
  const { chain, traffic } = memory;
  const { done, probes } = await probeDuring(stage, traffic, async () => {
    const began = performance.now();
    const plan = await deployAs(stage, chain, { offload: 'where-possible', execution: 'sequential' });
    const entries = await settled(stage, traffic.entry);
    return { plan, entries, seconds: (performance.now() - began) / 1000 };
  });
  const { plan, entries, seconds } = done;
  const moved = (plan.on_switches ?? []).filter(({ chain_id }) => chain_id === chain);
  if (moved.length === 0) {
    const why = plan.reasons
      .filter(({ part }) => part === 'offload')
      .map(({ subject, because }) => `${subject}: ${because}`);
    throw new Error(`the switch takes none of the NFs: ${why.join(' ')}`);
  }
  const forNfs = moved.reduce((sum, each) => sum + each.entries, 0);
  memory.plan = plan;
  memory.servers = [...new Set([...memory.servers, ...serversOf(plan, chain)])];
  memory.change = { seconds, probes, moved: moved.length, entries: { ...entries, nfs: forNfs } };
}

async function compare(stage: Stage, { onServers, onSwitch, change, traffic, servers }: Memory): Promise<void> {
  for (const figure of figuresOf(onServers, onSwitch, change, traffic)) stage.figure(figure);
  const { links } = await stage.api.call('getInfrastructure');
  const series = links.flatMap(({ id, a, b }) => {
    const [server, metric] =
      a.node === traffic.entry ? ([b.node, 'a_to_b_bps'] as const) : ([a.node, 'b_to_a_bps'] as const);
    const isBetween = [a.node, b.node].includes(traffic.entry) && servers.includes(server);
    return isBetween ? [{ name: `${traffic.entry} to ${server}`, key: sampleKey('link', id, metric) }] : [];
  });
  stage.plot({
    title: 'From the switch to the server: all NFs there, then the first ones on the switch',
    source: '',
    x: { label: 'time since the start', unit: 's' },
    y: { label: 'rate', unit: 'Mbit/s' },
    series: await Promise.all(
      series.map(async ({ name, key }) => ({
        name,
        published: false,
        modelled: false,
        points: await historyOf(stage.api, key, stage.started_ms, 1e-6),
      })),
    ),
  });
}

const serversOf = ({ graph }: Plan, chain: string): string[] => [
  ...new Set(nfInstances(graph).flatMap(({ chain_id, server }) => (chain_id === chain && server ? [server] : []))),
];

/** The switch at which the packets of a host enter. */
async function entryOf(api: Api, host: string): Promise<string> {
  const { links, switches } = await api.call('getInfrastructure');
  const next = links.flatMap(({ a, b }) => (a.node === host ? [b.node] : b.node === host ? [a.node] : []));
  const entry = switches.find(({ id, origin }) => origin === 'twin' && next.includes(id));
  if (!entry) throw new Error(`${host} is at no switch of the twin`);
  return entry.id;
}

async function withDriver(stage: Stage, id: string, driver: Parameters['driver']): Promise<void> {
  if (driver === AS_IT_IS) return;
  const now = (await driversNow(stage.api))[id]!;
  await stage.make('switch-drivers', { [id]: now });
  stage.note(`${id} changes its driver`);
  await changeDrivers(stage.api, { [id]: driver }, patiently(stage));
  stage.note(`${id} runs ${SWITCH_DRIVER_TITLES[driver]}`);
}

/** Resolves when the switch holds what is planned, with the numbers of entries. */
async function settled({ api, until }: Stage, id: string): Promise<{ planned: number; held: number }> {
  const isHeld = async () => areSettled(api, { [id]: (await driversNow(api))[id]! });
  return until(`${id} holds what is planned`, ENTRIES_S, async () => {
    if (!(await isHeld())) return null;
    const { planned, observed } = await api.call('getSwitch', { params: { id } });
    return planned && observed?.entries != null ? { planned: planned.entries, held: observed.entries } : null;
  });
}

import { ChainDefinition, type MeasuredRequest, Name, type ServicePool } from '@orrery/contract';
import { z } from 'zod';
import { median } from '../../../platform/median.js';
import { ipv4Of, requireIpv4 } from '../address.js';
import { observeCores, percentOf } from '../busy-cores.js';
import { ensureServer } from '../load.js';
import { freeBoard, freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { fillers, HARDWARE, NFS, POOL, poolOf, probed, RATE_BPS, randomSlas } from './slas.js';
import { type Served, serve } from './strawman.js';

const PORT = 9000;
const DEPLOY_S = 120;
const MEASURE_S = 60;
const SOURCE = 'HYPER VII';

const Parameters = z.object({
  from: Name.default('client-3').describe('host that sends'),
  to: Name.default('web-1').describe('host that receives'),
  slas: z.int().min(100).max(10_000).default(10_000).describe('random SLAs that are decided on (published: 10,000)'),
  live: z.int().min(1).max(2000).default(200).describe('of these that are booked and enforced at the switch'),
  packets_per_s: z.number().min(10).max(1000).default(50).describe('probes through a chain'),
  seconds: z.number().min(3).max(60).default(8).describe('for which each chain is measured'),
  seed: z.int().min(1).max(1_000_000).default(1).describe('of SLAs'),
});
type Parameters = z.output<typeof Parameters>;

interface Chain {
  /** By the model when it was chosen, and medians measured, in us. */
  readonly predicted_us: number;
  readonly measured: readonly [number, number][];
  readonly instances: string;
  readonly deployed_s: number;
}

interface Memory {
  address: string;
  pool: ServicePool;
  typical_us: number;
  transit_us: number;
  decided: { readonly ms: number; readonly accepted: number; readonly shares: [number, number][] };
  enforced_s: number;
  accepted: number;
  software: Chain;
  hybrid: Chain;
  hyper: Served;
  strawman: Served;
  busyShare: number;
}

/** SLA-aware chaining on the live network (HYPER IV and VII). */
export const HYPER_CHAINING = defineScenario({
  id: 'hyper-chaining',
  title: 'Random SLAs on shared instances, in software and on a board',
  summary:
    'A pool of 20 instances gets thousands of random SLAs in bulk: how many are accepted, what a decision takes beside the strawman that looks at functions alone, and how soon accepted ones are enforced at the switch. Then probes pass the same functions in software, and with two of them on boards, which are deployed for that request. Boards of a twin are emulated: their latency is that of a program.',
  source: 'HYPER VII, Figures 3 and 4 c',
  duration_s: 120,
  watch: 'accelerators',
  parameters: Parameters,
  faults: ({ from, to }) =>
    from === to ? [{ pointer: '/parameters/to', detail: 'must not be the sending host', code: 'same-host' }] : [],
  needs: ({ from, to }) => [
    runningTwin(),
    nfs(...NFS),
    hosts(from, to),
    freeBoard(),
    freeNames(POOL),
    freeTraffic(async (api) => {
      const address = await ipv4Of(api, to);
      return address ? [trafficOf(from, address)] : [];
    }),
  ],
  steps: (parameters) => {
    const memory = {} as Memory;
    return [
      { title: 'Deploy the pool', run: (stage) => deploy(stage, memory, parameters) },
      { title: 'Send probes through instances in software', run: (stage) => inSoftware(stage, memory, parameters) },
      { title: `Decide on ${parameters.slas} SLAs`, run: (stage) => decide(stage, memory, parameters) },
      { title: `Book and enforce ${parameters.live} of them`, run: (stage) => enforce(stage, memory, parameters) },
      { title: 'Send probes through a hybrid chain', run: (stage) => onBoards(stage, memory, parameters) },
      { title: 'Compare', run: (stage) => compare(stage, memory, parameters) },
    ];
  },
});

/** What requests of the probes take of the host's traffic. */
function trafficOf(from: string, address: string): ChainDefinition {
  return ChainDefinition.parse({
    name: POOL,
    title: 'Scenario: service requests',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'port.dst', value: PORT },
      ],
      rate_bps: RATE_BPS,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: 'nf', kind: 'nf', nf: NFS[0] },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: 'nf' },
      { id: 'e2', from: 'nf', to: 'out' },
    ],
  });
}

async function deploy(stage: Stage, memory: Memory, { from, to, packets_per_s: rate_per_s }: Parameters) {
  const { api, make, until } = stage;
  memory.address = await requireIpv4(api, to);
  await make('service-pool', poolOf(from));
  memory.pool = await until('the pool is ready', DEPLOY_S, async () => {
    const pool = await api.call('getServicePool', { params: { id: POOL } });
    if (pool.state === 'failed') throw new Error(`the pool could not be deployed: ${pool.detail}`);
    return pool.state === 'ready' ? pool : null;
  });
  await ensureServer(stage, 'probe-server', to);
  const config = { to, rate_per_s };
  await make('application', { id: 'scenario-hyper-probe', kind: 'probe', node: from, enabled: true, config });
}

/** A request of the probes, until it has been measured; `throughput_bps` decides where there is room for it. */
async function chained(stage: Stage, memory: Memory, { from, seconds }: Parameters, throughput_bps: number) {
  const { api, until } = stage;
  const beganMs = performance.now();
  const body = probed(from, memory.address, PORT, throughput_bps);
  const { id, way, why } = await api.call('createServiceRequest', { body });
  if (!way) throw new Error(`the request of the probes was refused: ${why}`);
  const now = async (): Promise<MeasuredRequest> => {
    const request = await api.call('getServiceRequest', { params: { id } });
    if (request.state === 'refused' || request.state === 'broken') throw new Error(`${request.why}`);
    return request;
  };
  await until('the request is enforced', DEPLOY_S, async () => ((await now()).state === 'active' ? true : null));
  const deployed_s = (performance.now() - beganMs) / 1000;
  await until('its instances are measured', MEASURE_S, async () => (await now()).measured.latency_us);
  const measured: [number, number][] = [];
  for (let second = 1; second <= seconds; second++) {
    await stage.wait(1, `second ${second} of ${seconds}`);
    const { latency_us } = (await now()).measured;
    if (latency_us !== null) measured.push([second, latency_us]);
  }
  const instances = way.stages.map(({ instance, place }) => `${instance} (${place})`).join(' → ');
  const chain: Chain = { predicted_us: way.latency_us, measured, instances, deployed_s };
  return { id, way, chain };
}

async function inSoftware(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { id, way, chain } = await chained(stage, memory, parameters, 1000);
  memory.software = chain;
  memory.typical_us = way.latency_us;
  memory.transit_us = Math.max(...way.stages.map(({ transit_us }) => transit_us));
  await stage.api.call('deleteServiceRequest', { params: { id } });
}

async function decide(stage: Stage, memory: Memory, { from, slas, seed }: Parameters): Promise<void> {
  const requests = randomSlas(from, slas, seed, memory.typical_us);
  const busyShare = observeCores();
  const answer = await stage.api.call('createServiceRequests', { body: { requests, dry_run: true } });
  memory.busyShare = busyShare();
  const { decided_ms, accepted, results } = answer;
  const part = Math.max(1, Math.floor(results.length / 50));
  const shares = Array.from({ length: Math.floor(results.length / part) }, (_, n): [number, number] => {
    const some = results.slice(n * part, (n + 1) * part);
    return [(n + 1) * part, (100 * some.filter(({ why }) => why === null).length) / some.length];
  });
  memory.decided = { ms: decided_ms, accepted, shares };
  memory.hyper = await serve(memory.pool, requests, memory.transit_us, 'hyper');
  memory.strawman = await serve(memory.pool, requests, memory.transit_us, 'function-only');
}

async function enforce(stage: Stage, memory: Memory, { from, live, seed }: Parameters): Promise<void> {
  const { api, until } = stage;
  const requests = [...fillers(from), ...randomSlas(from, live, seed, 2 * memory.typical_us)];
  const beganMs = performance.now();
  const { accepted } = await api.call('createServiceRequests', { body: { requests } });
  await until('accepted requests are enforced', DEPLOY_S, async () => {
    const waiting = await Promise.all(
      (['requested', 'deploying'] as const).map(async (state) => {
        return (await api.call('listServiceRequests', { query: { pool: POOL, state, limit: 1 } })).items.length;
      }),
    );
    return waiting.every((count) => count === 0) ? true : null;
  });
  memory.enforced_s = (performance.now() - beganMs) / 1000;
  memory.accepted = accepted;
}

async function onBoards(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const { way, chain } = await chained(stage, memory, parameters, 0.6 * RATE_BPS);
  memory.hybrid = chain;
  const { instances } = await stage.api.call('getServicePool', { params: { id: POOL } });
  const used = way.stages.filter(({ instance }) => instances.some((it) => it.id === instance && it.on === 'board'));
  if (used.length === 0) throw new Error(`no instance of the chain is on a board: ${chain.instances}`);
  stage.note(`${used.length} of ${HARDWARE.length} functions on boards`);
}

function compare(stage: Stage, memory: Memory, { slas, live }: Parameters): Promise<void> {
  const { decided, hyper, strawman, software, hybrid, enforced_s, accepted, busyShare } = memory;
  const cores = `cores were busy for ${percentOf(busyShare)} of the time`;
  const middle = ({ measured }: Chain) => (measured.length > 0 ? median(measured.map(([, us]) => us)) : null);
  const [soft, hybridUs] = [middle(software), middle(hybrid)];
  const less = (before: number | null, after: number | null) =>
    before === null || after === null ? null : 100 * (1 - after / before);
  stage.figure({
    name: 'Decision on an SLA',
    unit: 'ms',
    published: 1.2,
    here: decided.ms / slas,
    source: 'HYPER VII-E',
    bar: { least: null, most: 1.2 },
    note: `on the live pool, with what is booked by the SLAs before and what switches have left; ${cores}`,
  });
  stage.figure({
    name: 'Chaining alone',
    unit: 'ms',
    published: 1.2,
    here: hyper.us_each / 1000,
    source: 'HYPER VII-E',
    note: 'the same SLAs, each on empty instances',
  });
  stage.figure({
    name: 'Chaining by functions alone (strawman)',
    unit: 'ms',
    published: 1,
    here: strawman.us_each / 1000,
    source: 'HYPER VII-E',
  });
  stage.figure({
    name: 'SLAs kept on empty instances',
    unit: '%',
    published: null,
    here: (100 * hyper.kept) / slas,
    modelled: true,
    bar: { least: (100 * strawman.kept) / slas, most: null },
    note: 'by predicted latencies',
  });
  stage.figure({
    name: 'SLAs kept by the strawman',
    unit: '%',
    published: null,
    here: (100 * strawman.kept) / slas,
    modelled: true,
    note: `it gives ${strawman.given} of ${slas} a way; those that miss the bound are not kept`,
  });
  stage.figure({
    name: 'SLAs accepted on the live pool',
    unit: '%',
    published: null,
    here: (100 * decided.accepted) / slas,
    note: 'in turn, until rates of instances or entries of the switch are used up; only tried',
  });
  stage.figure({
    name: 'Accepted requests are enforced',
    unit: 's',
    published: null,
    here: enforced_s,
    note: `${accepted} of ${live} random ones and of those that fill instances, by as few operations as there is time for`,
  });
  stage.figure({
    name: 'Firewall on a board with 16 table entries',
    unit: 'ms',
    published: 6.1,
    here: 1000 * hybrid.deployed_s,
    source: 'HYPER VII-B',
    note: 'from the request until its packets take the way: plan, loading of bitstreams as long as the device takes, which the publication does not count, and entries of the switch',
  });
  stage.figure({
    name: 'Latency of the chain in software',
    unit: 'us',
    published: null,
    here: soft,
    source: 'HYPER Fig. 4 c',
    note: software.instances,
  });
  stage.figure({
    name: 'Latency of the hybrid chain',
    unit: 'us',
    published: null,
    here: hybridUs,
    source: 'HYPER Fig. 4 c',
    note: `${hybrid.instances}; boards are emulated: a program stands in for each, which is slower than the software`,
  });
  stage.figure({
    name: 'Hybrid chain below software, measured',
    unit: '%',
    published: 40,
    here: less(soft, hybridUs),
    source: `${SOURCE}-A: 40 to 67`,
    note: 'does not hold on emulated boards where it is negative',
  });
  stage.figure({
    name: 'Hybrid chain below software, predicted',
    unit: '%',
    published: 40,
    here: less(software.predicted_us, hybrid.predicted_us),
    modelled: true,
    source: `${SOURCE}-A: 40 to 67`,
    note: 'by the model of latency, with cycles of the RTL; links take most of the time here',
  });
  stage.plot({
    title: 'SLAs accepted, from the first to the last',
    source: '',
    x: { label: 'SLAs', unit: '' },
    y: { label: 'accepted', unit: '%' },
    series: [{ name: 'on the live pool', published: false, modelled: false, points: decided.shares }],
  });
  stage.plot({
    title: 'Latency of the chains, medians',
    source: '',
    x: { label: 'time since packets take the way', unit: 's' },
    y: { label: 'latency', unit: 'us' },
    series: [
      { name: 'software', published: false, modelled: false, points: [...software.measured] },
      { name: 'hybrid (emulated boards)', published: false, modelled: false, points: [...hybrid.measured] },
    ],
  });
  return Promise.resolve();
}

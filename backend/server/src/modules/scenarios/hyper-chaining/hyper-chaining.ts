import { ChainDefinition, type ServiceRequest, sampleKey } from '@orrery/contract';
import { z } from 'zod';
import { ipv4Of, requireIpv4 } from '../address.js';
import { observeCores } from '../busy-cores.js';
import { receiver, seedOf, sender } from '../fields.js';
import { ensureServer } from '../load.js';
import { freeBoard, freeNames, freeTraffic, hosts, nfs, runningTwin } from '../needs.js';
import { defineScenario, type Stage } from '../scenario.js';
import { above, historyOf } from '../series.js';
import type { Measured, Memory } from './memory.js';
import { report } from './report.js';
import { type Form, fillers, HARDWARE, NFS, POOL, poolOf, probed, RATE_BPS, randomSlas } from './slas.js';
import { serve } from './strawman.js';

const PORT = 9000;
const DEPLOY_S = 120;
const MEASURE_S = 60;
/** Probes that were sent before the change have arrived, and are in no median. */
const SETTLE_S = 3;
const PROBE = 'scenario-hyper-probe';

const Parameters = z.object({
  from: sender('client-3'),
  to: receiver('web-1'),
  slas: z
    .int()
    .min(100)
    .max(10_000)
    .default(10_000)
    .meta({ title: 'Random SLAs', unit: 'SLAs', description: 'that are decided on (published: 10,000)' }),
  live: z.int().min(1).max(2000).default(200).meta({
    title: 'Enforced SLAs',
    unit: 'SLAs',
    description: 'of these, that are booked and enforced at the switch',
  }),
  packets_per_s: z.number().min(10).max(1000).default(50).meta({ title: 'Probes of each chain', unit: 'probes/s' }),
  seconds: z.number().min(3).max(60).default(8).meta({ title: 'Measurement', unit: 's', description: 'of each chain' }),
  seed: seedOf('SLAs'),
});
type Parameters = z.output<typeof Parameters>;
type Way = NonNullable<ServiceRequest['way']>;

/** SLA-aware chaining on the live network (HYPER IV and VII). */
export const HYPER_CHAINING = defineScenario({
  id: 'hyper-chaining',
  title: 'Random SLAs on shared instances, in software and on a board',
  summary:
    'A pool of 20 instances gets thousands of random SLAs in bulk: how many are accepted, what a decision takes beside the strawman that looks at functions alone, and how soon accepted ones are enforced at the switch. Then probes pass chains in software, and with two NFs on boards, which are deployed for that request. Boards of a twin are emulated: their latency is that of a program.',
  source: 'HYPER VII, Figures 4 b and 4 c',
  duration_s: 75,
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
      { title: 'Send probes through boards', run: (stage) => onBoards(stage, memory, parameters) },
      { title: 'Compare', run: async (stage) => report(stage, memory, parameters) },
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
  await make('application', { id: PROBE, kind: 'probe', node: from, enabled: true, config });
}

/** A request of the probes, which is released once it has been measured; `throughput_bps` decides where there is room for it. */
async function chained(
  stage: Stage,
  memory: Memory,
  { from, seconds }: Parameters,
  form: Form,
  throughput_bps: number,
): Promise<{ way: Way; measured: Measured }> {
  const { api, until } = stage;
  const beganMs = performance.now();
  const body = probed(from, memory.address, PORT, throughput_bps, form);
  const { id, way, why } = await api.call('createServiceRequest', { body });
  if (!way) throw new Error(`the request of the probes was refused: ${why}`);
  await until('the request is enforced', DEPLOY_S, async () => {
    const request = await api.call('getServiceRequest', { params: { id } });
    if (request.state === 'refused' || request.state === 'broken') throw new Error(`${request.why}`);
    return request.state === 'active' ? true : null;
  });
  const deployed_s = (performance.now() - beganMs) / 1000;
  const sinceMs = Date.now() + 1000 * SETTLE_S;
  // One-way, by the receiving host: boards do not time packets.
  const of = (metric: 'latency_p50_us' | 'latency_p99_us') =>
    historyOf(api, sampleKey('application', PROBE, metric), sinceMs);
  await until('probes through it are measured', MEASURE_S, async () =>
    (await of('latency_p50_us')).length > 0 ? true : null,
  );
  for (let second = 1; second <= seconds; second++) await stage.wait(1, `second ${second} of ${seconds}`);
  const [median_us, p99_us] = [await of('latency_p50_us'), await of('latency_p99_us')];
  const jitter_us = above(p99_us, median_us);
  await api.call('deleteServiceRequest', { params: { id } });
  const instances = way.stages.map(({ instance, place }) => `${instance} (${place})`).join(' → ');
  return { way, measured: { predicted_us: way.latency_us, median_us, jitter_us, instances, deployed_s } };
}

async function inSoftware(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const alone = await chained(stage, memory, parameters, 'of-hardware', 1000);
  const { way, measured } = await chained(stage, memory, parameters, 'with-software', 1000);
  memory.software = { 'of-hardware': alone.measured, 'with-software': measured };
  memory.typical_us = way.latency_us;
  memory.transit_us = Math.max(...way.stages.map(({ transit_us }) => transit_us));
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

/** The hybrid chain first, for which boards are loaded; the chain of hardware alone uses the same instances. */
async function onBoards(stage: Stage, memory: Memory, parameters: Parameters): Promise<void> {
  const hybrid = await chained(stage, memory, parameters, 'with-software', 0.6 * RATE_BPS);
  const alone = await chained(stage, memory, parameters, 'of-hardware', 0.6 * RATE_BPS);
  memory.onBoards = { 'of-hardware': alone.measured, 'with-software': hybrid.measured };
  const { instances } = await stage.api.call('getServicePool', { params: { id: POOL } });
  const isOnBoard = (id: string) => instances.some((it) => it.id === id && it.on === 'board');
  for (const { way, measured } of [hybrid, alone]) {
    const used = way.stages.filter(({ instance }) => isOnBoard(instance));
    if (used.length < HARDWARE.length)
      throw new Error(`not all that boards can run is on boards: ${measured.instances}`);
  }
  stage.note(`${HARDWARE.join(' and ')} on boards`);
}

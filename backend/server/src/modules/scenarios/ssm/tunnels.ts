import { ChainDefinition, nfInstances, type Plan } from '@orrery/contract';
import { requireIpv4 } from '../address.js';
import { isCarriedOut, requireFeasible } from '../carried-out.js';
import type { Stage } from '../scenario.js';
import { type LoadCourse, waveOf } from './load-course.js';

const NAME = 'scenario-ssm';
/** The end whose CPU is limited, and which may get the accelerator. */
export const NEAR = 'near';
export const NF = 'crypto-tunnel';
const PORT = 5301;
const PACKET_BYTES = 1300;
/** The same packets as those of a stream, with their headers. */
const FRAME_BYTES = PACKET_BYTES + 42;
/** Flows of a load that follows a course: about a hundred at a time. */
const FLOWS = { flows_per_s: 20, mean_lifetime_s: 5 } as const;
/** Known to everybody: nothing secret is sent. */
const KEY = '5f1d3b9a7c2e4f60815d2c3e4a5b6978c0ffee1122334455d00df00dcafebabe';
const DEPLOYED_S = 90;
/** A sender connects to its receiver first, which takes long while the network is full. */
const STARTED_S = 60;

export type Cipher = 'aes-128-ctr' | 'aes-256-ctr';

export interface Shape {
  readonly tunnels: number;
  readonly from: string;
  readonly to: string;
  readonly cpu_limit: number;
  readonly offered_mbps: number;
  readonly cipher: Cipher;
}

/** A tunnel that runs, and the stream of UDP through it. */
export interface Tunnel {
  readonly chain: string;
  /** Instance of its near end. */
  readonly near: string;
  readonly server: string;
  readonly port: number;
}

export const chainNames = (tunnels: number) => Array.from({ length: tunnels }, (_, n) => `${NAME}-${n + 1}`);

/** Both ends of a tunnel, without an accelerator, of which a server has one; only the near one is short of CPU. */
export function definitionOf(
  n: number,
  { from, address, cpu_limit, offered_mbps, cipher }: Omit<Shape, 'tunnels' | 'to'> & { readonly address: string },
): ChainDefinition {
  return ChainDefinition.parse({
    name: `${NAME}-${n}`,
    title: `Scenario: tunnel ${n}`,
    description: 'Created by a scenario of SSM, which also removes it.',
    traffic_class: {
      from: [from],
      match: [
        { attribute: 'ip.dst', value: address },
        { attribute: 'ip.proto', value: 17 },
        { attribute: 'port.dst', value: PORT + n },
      ],
      // What is planned for is what the tunnel is to carry, not what it is offered: it is to be overloaded.
      rate_bps: 1e6 * Math.min(offered_mbps, 5),
      packet_bytes: PACKET_BYTES,
    },
    nodes: [
      { id: 'in', kind: 'ingress' },
      { id: NEAR, kind: 'nf', nf: NF, config: { mode: 'encrypt', key: KEY, cipher, acceleration: 'none' }, cpu_limit },
      { id: 'far', kind: 'nf', nf: NF, config: { mode: 'decrypt', key: KEY, cipher, acceleration: 'none' } },
      { id: 'out', kind: 'egress' },
    ],
    edges: [
      { id: 'e1', from: 'in', to: NEAR },
      { id: 'e2', from: NEAR, to: 'far' },
      { id: 'e3', from: 'far', to: 'out' },
    ],
  });
}

/** Deploys all tunnels, their near ends in containers of one server, whose accelerator they can share. */
export async function deployTunnels(stage: Stage, shape: Shape): Promise<Tunnel[]> {
  const { api, make } = stage;
  const address = await requireIpv4(api, shape.to);
  const ids: string[] = [];
  for (const n of numbers(shape)) ids.push(await make('chain', definitionOf(n, { ...shape, address })));
  const implementations = ids.map((chain_id) => ({ chain_id, node_id: NEAR, on: 'container' as const }));
  const first = await carriedOut(stage, { chains: ids.map((chain_id) => ({ chain_id })), implementations });
  const [server] = nearEnds(first, ids).map((it) => it.server);
  const elsewhere = nearEnds(first, ids).filter((it) => it.server !== server);
  const move = elsewhere.map(({ id }) => ({ instance: id, server: server! }));
  const plan = move.length > 0 ? await carriedOut(stage, { move }) : first;
  return nearEnds(plan, ids).map((it, index) => ({
    chain: it.chain_id,
    near: it.id,
    server: it.server,
    port: PORT + index + 1,
  }));
}

/** Near ends in the order of the chains. */
function nearEnds({ graph }: Plan, chains: readonly string[]) {
  const ends = nfInstances(graph).filter(({ node_id }) => node_id === NEAR);
  return chains.map((chain) => {
    const found = ends.find(({ chain_id }) => chain_id === chain);
    if (!found?.server) throw new Error(`the plan has no near end of ${chain}`);
    return { ...found, server: found.server };
  });
}

async function carriedOut({ api, until }: Stage, body: object): Promise<Plan> {
  const plan = await api.call('createPlan', { body });
  requireFeasible(plan);
  const { id } = await api.call('createDeployment', { body: { plan_id: plan.id } });
  await until('the tunnels', DEPLOYED_S, async () => ((await isCarriedOut(api, id)) ? true : null));
  return plan;
}

/** A UDP stream through the tunnel, of more than it can carry. */
export async function load(
  stage: Stage,
  { port }: Tunnel,
  n: number,
  { from, to, offered_mbps }: Shape,
): Promise<void> {
  const [sink, source] = [sinkOf(n), sourceOf(n)];
  await stage.make('application', { id: sink, kind: 'iperf3-server', node: to, enabled: true, config: { port } });
  await runs(stage, 'the receiver', sink);
  const config = { to, port, protocol: 'udp', rate_bps: 1e6 * offered_mbps, packet_bytes: PACKET_BYTES };
  await stage.make('application', { id: source, kind: 'iperf3-client', node: from, enabled: true, config });
  await runs(stage, `the load of tunnel ${n}`, source);
}

/** Flows through all tunnels whose rates follow a course, which begins once the receivers run. */
export async function loadByCourse(
  stage: Stage,
  tunnels: readonly Tunnel[],
  { from, to }: Shape,
  course: LoadCourse,
  seed: number,
): Promise<void> {
  for (const [index, { port }] of tunnels.entries()) {
    const id = sinkOf(index + 1);
    await stage.make('application', { id, kind: 'flow-sink', node: to, enabled: true, config: { port } });
    await runs(stage, 'the receiver', id);
  }
  for (const [index, { port }] of tunnels.entries()) {
    const n = index + 1;
    const wave = { wave: waveOf(course, n), wave_repeats: true };
    const config = { to, port, ...FLOWS, ...wave, packet_bytes: FRAME_BYTES, seed: seed + index };
    await stage.make('application', { id: sourceOf(n), kind: 'flow-generator', node: from, enabled: true, config });
  }
  for (const [index] of tunnels.entries()) await runs(stage, `the load of tunnel ${index + 1}`, sourceOf(index + 1));
}

/** The course begins again, with the same flows. */
export async function beginAnew({ api }: Stage, tunnels: number): Promise<void> {
  for (let n = 1; n <= tunnels; n++) await api.call('restartApplication', { params: { id: sourceOf(n) } });
}

async function runs({ api, until }: Stage, what: string, id: string): Promise<void> {
  await until(what, STARTED_S, async () => {
    const { status } = await api.call('getApplication', { params: { id } });
    return status.state === 'running' ? true : null;
  });
}

export const sinkOf = (n: number) => `${NAME}-sink-${n}`;
const sourceOf = (n: number) => `${NAME}-load-${n}`;
const numbers = ({ tunnels }: Shape) => Array.from({ length: tunnels }, (_, n) => n + 1);

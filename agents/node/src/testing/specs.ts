import { InstanceSpec, NodeSpec, type OutputSpec, type Target } from '@orrery/contract';
import type { EngineEnds } from '../drivers/nf-driver.js';

/** Interfaces of every instance outside the engine, as if all existed. */
export function allEnds({ instances }: NodeSpec): Map<string, EngineEnds> {
  const beside = instances.filter(({ driver }) => driver !== 'engine');
  return new Map(beside.map(({ id }) => [id, { near: `${id}-n`, far: `${id}-f` }]));
}

export const WHOLE = { lo: 0, hi: 65536 };

export const ENGINE_TRAITS = {
  workers: 1,
  cycles_per_second: 2e9,
  nfs: ['firewall', 'nat', 'ids', 'monitor', 'rate-limiter', 'l2-forwarder'],
  declared: [],
};

export function output(edge: string, to: Target, match: OutputSpec['match'] = []): OutputSpec {
  return { edge_id: edge, match, key: [], targets: [{ range: WHOLE, to }] };
}

export function instance(id: string, over: Partial<InstanceSpec> = {}): InstanceSpec {
  const [chain_id = 'p', node = 'n'] = id.split('.');
  return InstanceSpec.parse({
    id,
    chain_id,
    node_id: node.slice(0, 40),
    nf: 'monitor',
    driver: 'engine',
    core: 0,
    config: {},
    metadata: {},
    outputs: [],
    return_to: null,
    ...over,
  });
}

export function nodeSpec(over: Partial<NodeSpec> = {}): NodeSpec {
  return NodeSpec.parse({
    generation: 1,
    nic: { iface: 'eth0', mac: '02:00:00:00:00:01' },
    gateway_mac: '02:00:00:00:00:fe',
    instances: [],
    hops: [],
    exits: [],
    ...over,
  });
}

/**
 * firewall -> NAT -> monitor -> exit on one node, replies through the NAT; hop 1 for forward packets, hop 2 for
 * replies.
 */
export function linearChain(generation = 1): NodeSpec {
  return nodeSpec({
    generation,
    instances: [
      instance('lin.fw.0', {
        nf: 'firewall',
        config: { rules: [] },
        outputs: [output('lin.e1', { kind: 'instance', instance_id: 'lin.nat.0' })],
      }),
      instance('lin.nat.0', {
        nf: 'nat',
        outputs: [output('lin.e2', { kind: 'instance', instance_id: 'lin.mon.0' })],
        return_to: { kind: 'exit', exit_id: 'lin.return' },
      }),
      instance('lin.mon.0', { outputs: [output('lin.e3', { kind: 'exit', exit_id: 'lin.exit' })] }),
    ],
    hops: [
      { hop: 1, instance_id: 'lin.fw.0', direction: 'forward' },
      { hop: 2, instance_id: 'lin.nat.0', direction: 'return' },
    ],
    exits: [
      { exit_id: 'lin.exit', chain_id: 'lin', direction: 'forward' },
      { exit_id: 'lin.return', chain_id: 'lin', direction: 'return' },
    ],
  });
}

/**
 * firewall -> one of the targets by ranges of the addresses and ports -> exit; hop 1 for forward packets. A target is a
 * monitor, or a hop to another node. `inFront`: without the firewall, by a split of its own.
 */
export function splitChain(
  generation: number,
  ranges: readonly [to: string | number, lo: number, hi: number][],
  inFront = false,
): NodeSpec {
  const targets = ranges.map(([to, lo, hi]) => ({
    range: { lo, hi },
    to: typeof to === 'number' ? { kind: 'hop' as const, hop: to } : { kind: 'instance' as const, instance_id: to },
  }));
  const exit = output('lin.e2', { kind: 'exit', exit_id: 'lin.exit' });
  const split: OutputSpec = {
    edge_id: 'lin.e1',
    match: [],
    key: ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'],
    targets,
    keep_flows: { capacity: 1024, idle_timeout_s: 60 },
  };
  const monitors = ranges.flatMap(([to]) => (typeof to === 'string' ? [instance(to, { outputs: [exit] })] : []));
  return nodeSpec({
    generation,
    nic: { iface: 'e0', mac: '02:00:00:00:00:01' },
    instances: inFront
      ? monitors
      : [instance('lin.fw.0', { nf: 'firewall', config: { rules: [] }, outputs: [split] }), ...monitors],
    ...(inFront && { modules: [{ kind: 'queue', id: 'lin.mon.split', chain_id: 'lin', core: 0, outputs: [split] }] }),
    hops: [{ hop: 1, instance_id: inFront ? 'lin.mon.split' : 'lin.fw.0', direction: 'forward' }],
    exits: [{ exit_id: 'lin.exit', chain_id: 'lin', direction: 'forward' }],
  });
}

import {
  type ChainDefinition,
  type FlowRange,
  type InstanceSpec,
  isAtSwitch,
  type ModuleSpec,
  type NfDescriptor,
  type NodeSpec,
  nfInstances,
  type Plan,
  slotPlace,
} from '@orrery/contract';
import { flowHash, matchesResolved, matchesTerm, type Packet, packet } from './packets.js';

const ENGINE = 1;
const SWITCH = 2;
const toNumber = (address: string) => address.split('.').reduce((n, part) => n * 256 + Number(part), 0);
const toAddress = (n: number) => [24, 16, 8, 0].map((shift) => Math.floor(n / 2 ** shift) % 256).join('.');

/** What an NF decides about a packet: a value for each attribute that it derives. */
export type Verdicts = (nodeId: string, attribute: string) => string;

/** Nodes that a packet passes by the meaning of the DAG alone; `null` as last element: dropped. */
export function walkDefinition(
  { nodes, edges }: ChainDefinition,
  catalogue: readonly NfDescriptor[],
  start: Packet,
  verdicts: Verdicts,
  host = '',
): (string | null)[] {
  const passed: (string | null)[] = [];
  let at = nodes.find(({ kind }) => kind === 'ingress')!;
  let it = start;
  if (at.kind === 'ingress' && at.ways) {
    const way = at.ways.find(({ classes }) =>
      classes.some(({ from, match }) => from.includes(host) && match.every((term) => matchesTerm(start, term))),
    );
    if (!way) return [null];
    it = { ...it, derived: { [`${at.id}.way`]: way.id } };
  }
  for (;;) {
    if (at.kind === 'nf') {
      passed.push(at.id);
      const { nf, id } = at;
      const { attributes, return_traffic } = catalogue.find((descriptor) => descriptor.id === nf)!;
      for (const { name } of attributes)
        it = { ...it, derived: { ...it.derived, [`${id}.${name}`]: verdicts(id, name) } };
      if (return_traffic) it = packet({ ...it, 'ip.src': toNumber('198.18.77.77'), 'port.src': 7777 });
    }
    if (at.kind === 'egress') return passed;
    const edge = edges.find(({ from, filter }) => from === at.id && filter.every((term) => matchesTerm(it, term)));
    if (!edge) return [...passed, null];
    at = nodes.find(({ id }) => id === edge.to)!;
  }
}

export interface Walk {
  /** Instances with the packet as it entered each; a final `null` where the packet was dropped. */
  readonly passed: readonly { readonly instance: InstanceSpec; readonly server: string; readonly packet: Packet }[];
  readonly end: 'exit' | 'dropped' | 'not classified';
  readonly crossings: number;
  readonly packet: Packet;
}

/** Carries a packet through the emitted fabric rules and node specs as switch and engines would. */
export function walkPlan(plan: Plan, host: string, start: Packet, verdicts: Verdicts): Walk {
  const passed: { instance: InstanceSpec; server: string; packet: Packet }[] = [];
  let it = start;
  let word = 0;
  let crossings = 0;
  const classify = plan.fabric.rules
    .filter(
      ({ kind, from_hosts, match }) =>
        kind === 'classify' && from_hosts.includes(host) && match.every((term) => matchesResolved(it, 0, term)),
    )
    .sort((a, b) => b.priority - a.priority)[0];
  if (!classify) return { passed, end: 'not classified', crossings, packet: it };
  const pick = <T extends { range: FlowRange }>(targets: T[], hash: number) =>
    targets.find(({ range }) => range.lo <= hash && hash < range.hi)!;
  const first = pick(classify.targets, classify.targets.length > 1 ? flowHash(it, classify.key, SWITCH) : 0);
  word = first.metadata ?? 0;
  let { server, node } = arrive(plan, first.server, first.hop, 'forward');
  for (let steps = 0; steps < 1000; steps++) {
    if (isInstance(node)) pass(node);
    const matching = node.outputs.filter(({ match }) => match.every((term) => matchesResolved(it, word, term)));
    if (matching.length > 1) throw new Error(`two outputs of ${node.id} take one packet`);
    const [output] = matching;
    if (!output) return { passed, end: 'dropped', crossings, packet: it };
    if (isInstance(node) && isAtSwitch(node) && output.targets.length > 1)
      throw new Error(`the slot of ${node.id} would have to share out flows`);
    const { to } = pick(output.targets, output.targets.length > 1 ? flowHash(it, output.key, ENGINE) : 0);
    if (to.kind === 'exit') {
      if (
        !plan.nodes[server]!.exits.some(({ exit_id, direction }) => exit_id === to.exit_id && direction === 'forward')
      )
        throw new Error(`${server} has no exit ${to.exit_id}`);
      return { passed, end: 'exit', crossings, packet: it };
    }
    if (to.kind === 'instance') {
      if (isInstance(node) && isAtSwitch(node)) throw new Error(`${node.id} has no engine beside it`);
      node = nodeAt(plan, server, to.instance_id);
      continue;
    }
    crossings++;
    const rules = plan.fabric.rules.filter(({ kind, hop }) => kind === 'hop' && hop === to.hop);
    if (rules.length !== 1) throw new Error(`${rules.length} rules for hop ${to.hop}`);
    ({ server, node } = arrive(plan, rules[0]!.targets[0]!.server, to.hop, 'forward'));
  }
  throw new Error('the packet goes round for ever');

  function pass(instance: InstanceSpec): void {
    passed.push({ instance, server, packet: it });
    for (const [name, field] of Object.entries(instance.metadata)) {
      const value = field.values[verdicts(instance.node_id, name)]!;
      const mask = (2 ** field.width - 1) * 2 ** field.offset;
      word = (word & ~mask) | (value * 2 ** field.offset);
    }
    if (instance.return_to) {
      const [address] = instance.config.external_addresses as string[];
      it = packet({ ...it, 'ip.src': toNumber(address!), 'port.src': 7777 });
    }
  }
}

/** An instance, or a split in front of instances, which waits in a queue. */
type Node = InstanceSpec | Extract<ModuleSpec, { kind: 'queue' }>;

function isInstance(node: Node): node is InstanceSpec {
  return 'nf' in node;
}

/** What the server is told, or for a slot at a switch the server whose agent drives it. */
function specOf({ nodes, graph }: Plan, place: string): NodeSpec | undefined {
  const inSlot = nfInstances(graph).find((it) => isAtSwitch(it) && slotPlace(it.board!) === place);
  return nodes[inSlot?.server ?? place];
}

function nodeAt(plan: Plan, server: string, id: string): Node {
  const { instances, modules = [] } = specOf(plan, server)!;
  const node = [...instances, ...modules].find((it) => it.id === id);
  if (!node) throw new Error(`${id} is not on ${server}`);
  if (!('nf' in node) && node.kind !== 'queue') throw new Error(`${id} is a ${node.kind}`);
  return node;
}

function arrive(plan: Plan, server: string, hop: number, direction: 'forward' | 'return') {
  const found = specOf(plan, server)?.hops.filter((it) => it.hop === hop && it.direction === direction) ?? [];
  if (found.length !== 1) throw new Error(`${server} knows hop ${hop} ${found.length} times`);
  return { server, node: nodeAt(plan, server, found[0]!.instance_id) };
}

/** The instance to which the fabric brings a reply to this address, having checked its way out. */
export function walkReply(plan: Plan, address: number): InstanceSpec | null {
  const reply = packet({ 'ip.dst': address });
  const rules = plan.fabric.rules.filter(
    ({ kind, match }) => kind === 'return' && match.every((term) => matchesResolved(reply, 0, term)),
  );
  if (rules.length > 1) throw new Error(`${rules.length} owners of ${toAddress(address)}`);
  if (!rules[0]) return null;
  const { server, node: instance } = arrive(plan, rules[0].targets[0]!.server, rules[0].targets[0]!.hop, 'return');
  if (!isInstance(instance)) throw new Error(`replies come to ${instance.id}`);
  const { return_to } = instance;
  const exits = plan.nodes[server]!.exits;
  if (return_to?.kind !== 'exit' || !exits.some((it) => it.exit_id === return_to.exit_id && it.direction === 'return'))
    throw new Error(`replies cannot leave ${server}`);
  return instance;
}

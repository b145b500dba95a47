import type { MergeSpec, NfDescriptor, NodeSpec, OutputSpec, Plan, Target } from '@orrery/contract';
import { flowHash, matchesResolved, type Packet, packet } from './packets.js';

const ENGINE = 1;
const SWITCH = 2;
const FIELDS = ['ip.src', 'ip.dst', 'port.src', 'port.dst'] as const;
type Field = (typeof FIELDS)[number];

export interface ParallelWalk {
  /** `<node> <fields that it reads>`, once for each time that an NF saw the packet. */
  readonly visits: readonly string[];
  /** The packets that left; `null`: dropped. */
  readonly left: string | null;
  /** Times that a switch copied the packet. */
  readonly copied: number;
}

interface Copy {
  readonly it: Packet;
  /** Metadata that travels with the packet. */
  readonly word: number;
}

/** A number that depends on everything given. */
function mixed(...parts: readonly (string | number | null)[]): number {
  let hash = 0x811c9dc5;
  for (const character of parts.join('|')) hash = Math.imul(hash ^ character.codePointAt(0)!, 0x01000193) >>> 0;
  return (hash ^ (hash >>> 15)) >>> 0;
}

/**
 * Carries a packet through fabric rules and node specs with mirrors and merges. NFs do what their descriptors allow and
 * decide by what they read alone: write fields, drop one packet in four, derive attributes.
 */
export function walkParallel(
  plan: Plan,
  catalogue: readonly NfDescriptor[],
  host: string,
  start: Packet,
): ParallelWalk {
  const visits: string[] = [];
  const left: string[] = [];
  let copied = 0;
  const merges = new Map<string, Map<number, Copy>>();
  const classify = plan.fabric.rules
    .filter(
      ({ kind, from_hosts, match }) =>
        kind === 'classify' && from_hosts.includes(host) && match.every((term) => matchesResolved(start, 0, term)),
    )
    .sort((a, b) => b.priority - a.priority)[0];
  if (!classify) return { visits, left: null, copied };
  const first = pick(classify.targets, classify.key, start, SWITCH);
  arrive(first.server, first.hop, { it: start, word: 0 });
  if (left.length > 1) throw new Error(`one packet left ${left.length} times`);
  return { visits: visits.sort(), left: left[0] ?? null, copied };

  function arrive(server: string, hop: number, copy: Copy): void {
    const [found, ...others] = plan.nodes[server]!.hops.filter((it) => it.hop === hop);
    if (!found || others.length > 0) throw new Error(`${server} knows hop ${hop} ${others.length} times`);
    enter(server, found.instance_id, copy, found.input);
  }

  function follow(server: string, to: Target, copy: Copy): void {
    if (to.kind === 'instance') {
      enter(server, to.instance_id, copy, to.input);
      return;
    }
    if (to.kind === 'exit') {
      if (!plan.nodes[server]!.exits.some(({ exit_id }) => exit_id === to.exit_id)) throw new Error('no such exit');
      left.push(FIELDS.map((field) => copy.it[field]).join());
      return;
    }
    const rules = plan.fabric.rules.filter(({ kind, hop }) => (kind === 'hop' || kind === 'mirror') && hop === to.hop);
    if (rules.length !== 1) throw new Error(`${rules.length} rules for hop ${to.hop}`);
    if (!rules[0]!.from_servers.includes(server)) throw new Error(`${server} may not send hop ${to.hop}`);
    if (rules[0]!.kind === 'mirror') copied++;
    for (const target of rules[0]!.targets) arrive(target.server, target.hop, copy);
  }

  function send(server: string, outputs: readonly OutputSpec[], copy: Copy): void {
    const matching = outputs.filter(({ match }) => match.every((term) => matchesResolved(copy.it, copy.word, term)));
    if (matching.length > 1) throw new Error('two outputs take one packet');
    const [output] = matching;
    if (output) follow(server, pick(output.targets, output.key, copy.it, ENGINE).to, copy);
  }

  function enter(server: string, id: string, copy: Copy, input?: number): void {
    const spec = plan.nodes[server]!;
    const module = spec.modules?.find((it) => it.id === id);
    if (!module) {
      enterInstance(server, spec, id, copy);
      return;
    }
    if (module.kind === 'mirror') {
      for (const output of module.copies) send(server, [output], copy);
      return;
    }
    if (module.kind !== 'merge') throw new Error(`${id} is a ${module.kind}, which no parallel step has`);
    if (input === undefined) throw new Error(`a copy enters ${id} by no branch`);
    const there = (merges.get(id) ?? new Map<number, Copy>()).set(input, copy);
    merges.set(id, there);
    if (there.size === module.branches.length) send(server, module.outputs, merged(module, there));
  }

  function enterInstance(server: string, spec: NodeSpec, id: string, { it, word }: Copy): void {
    const instance = spec.instances.find((each) => each.id === id);
    if (!instance) throw new Error(`${id} is not on ${server}`);
    const { node_id } = instance;
    const { actions, attributes } = catalogue.find((each) => each.id === instance.nf)!;
    const read = FIELDS.filter((field) => (actions.reads as readonly string[]).includes(field)).map(
      (field) => it[field],
    );
    visits.push(`${node_id} ${read.join()}`);
    if (actions.may_drop && mixed(node_id, 'drop', ...read) % 4 === 0) return;
    const changed: Partial<Record<Field, number>> = {};
    for (const field of FIELDS) {
      const touched = [...actions.writes, ...actions.adds, ...actions.removes] as readonly string[];
      if (touched.includes(field) && it[field] !== null) changed[field] = mixed(node_id, field, ...read) % 60_000;
    }
    let next = word;
    for (const [name, { offset, width, values }] of Object.entries(instance.metadata)) {
      const known = attributes.find((each) => each.name === name)!.values;
      const value = values[known[mixed(node_id, name, ...read) % known.length]!.value]!;
      next = (next & ~((2 ** width - 1) * 2 ** offset)) | (value * 2 ** offset);
    }
    send(server, instance.outputs, { it: packet({ ...it, ...changed }), word: next });
  }
}

/** The copy of the writing branch; of several, the xor of theirs and an unchanged one. Metadata words are or-ed. */
function merged({ branches, id }: MergeSpec, copies: ReadonlyMap<number, Copy>): Copy {
  const word = [...copies.values()].reduce((all, copy) => all | copy.word, 0);
  const writers = [...copies.keys()].filter((branch) => branches[branch]!.writes);
  if (writers.length < 2) return { it: copies.get(writers[0] ?? 0)!.it, word };
  const reader = branches.findIndex(({ writes }) => !writes);
  if (reader < 0) throw new Error(`${id} has no unchanged copy`);
  const original = copies.get(reader)!.it;
  const fields = Object.fromEntries(
    FIELDS.map((field) => {
      const changes = writers.reduce(
        (all, branch) => all ^ (copies.get(branch)!.it[field] ?? 0) ^ (original[field] ?? 0),
        0,
      );
      return [field, original[field] === null ? null : (original[field]! ^ changes) >>> 0];
    }),
  );
  return { it: packet({ ...original, ...fields }), word };
}

function pick<T extends { range: { lo: number; hi: number } }>(
  targets: readonly T[],
  key: OutputSpec['key'],
  it: Packet,
  who: number,
): T {
  const hash = targets.length > 1 ? flowHash(it, key, who) : 0;
  return targets.find(({ range }) => range.lo <= hash && hash < range.hi)!;
}

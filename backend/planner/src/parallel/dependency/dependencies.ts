import type { NfDescriptor, PacketField } from '@orrery/contract';
import { BadProblem, requireAtMost } from '../../bad-problem.js';
import { unmodifiedOf } from '../../check/implementation.js';

/** More NFs than any chain in use has; pairs grow with the square. */
export const MAX_CHAIN_NFS = 30;

/**
 * What stands between an earlier and a later NF. All but the last two forbid to run them side by side; `read-write` and
 * `state-drop` only forbid to turn their order round.
 */
type ConflictKind =
  | 'write-read'
  | 'write-write'
  | 'add-remove'
  | 'length'
  | 'drop-state'
  | 'identity'
  | 'filter'
  | OrderKind;
type OrderKind = 'read-write' | 'state-drop';

export interface Conflict {
  readonly earlier: number;
  readonly later: number;
  readonly kind: ConflictKind;
  /** `null` where state and not a field of the packet is at stake. */
  readonly field: PacketField | null;
  /** For people, with the ids of the chain's NFs. */
  readonly sentence: string;
}

/** Two NFs of a chain, by position. They may run in parallel when `conflicts` is empty. */
export interface Pair {
  readonly earlier: number;
  readonly later: number;
  readonly parallel: boolean;
  readonly conflicts: readonly Conflict[];
  /** Why, though parallel, the later NF must never run before the earlier. */
  readonly order: readonly Conflict[];
}

/** An NF of the chain: its name in the chain and the id of its descriptor. */
interface ChainNf {
  readonly id: string;
  readonly nf: string;
  /** It reads reassembled TCP streams, so it keeps state of flows. */
  readonly readsStreams?: boolean;
}

type Profile = Pick<NfDescriptor, 'actions' | 'state' | 'implementations'>;

type State = NfDescriptor['state'];
const STREAM_KEY: State['key'] = ['ip.src', 'ip.dst', 'ip.proto', 'port.src', 'port.dst'];

/** State of an NF that reads TCP streams, in addition to its own. */
function withStreams({ kind, key }: State): State {
  return {
    kind: kind === 'aggregate' ? kind : 'flow',
    key: [...new Set([...STREAM_KEY, ...(kind === 'none' ? [] : key)])],
  };
}

/**
 * Which NFs of a linear chain may run in parallel, for each pair in order (HydraNF 6.2, 6.4.1).
 *
 * Each branch works on its own copy of the packet as it was at the mirror, and the merge gives
 * `P_O xor P_A xor P_B` (HydraNF 6.5.1). With `touch` for write, add or remove, an earlier and a later NF are
 *
 * - in conflict if the earlier touches a field that the later reads, or by which it finds its state: the later would read
 *   the value before the change;
 * - in conflict if both touch a field: both differences would be xored into it;
 * - in conflict if one adds or removes bits and the later reads `length`, or if both add or remove: every insertion or
 *   removal changes the length and where later bits stand; or if one does so where it does not declare, and the other
 *   changes packets: the merge could not align their copies;
 * - in conflict if the earlier may drop and the later keeps state that packets change (`flow`, `aggregate`): the later
 *   would count, or give an address to, a packet that it never meets in the chain. This is state poisoning: a firewall
 *   before a dynamic NAT. With `none` or `static` state (a static NAT) there is nothing to poison;
 * - in conflict if either is a legacy NF that does not preserve the ingress time: the merge finds the copies of a packet by
 *   it;
 * - parallel if the earlier reads what the later touches, since the earlier's copy has not been changed;
 * - parallel if the earlier keeps state and the later may drop, since the earlier meets the packet either way;
 * - parallel if both drop: the packet is gone if any branch drops it.
 *
 * Precondition: what an NF writes depends only on the fields that it reads and on its state.
 * Errors: `BadProblem` for an unknown descriptor, a doubled id or too long a chain.
 */
export function dependencies(chain: readonly ChainNf[], descriptors: readonly NfDescriptor[]): Pair[] {
  requireAtMost('/chain', chain.length, MAX_CHAIN_NFS);
  const byId = new Map(descriptors.map((it) => [it.id, it]));
  const seen = new Set<string>();
  const profiles = chain.map(({ id, nf, readsStreams }, i): Profile => {
    if (seen.has(id)) throw new BadProblem(`/chain/${i}/id`, `names ${id} twice`);
    seen.add(id);
    const found = byId.get(nf);
    if (!found) throw new BadProblem(`/chain/${i}/nf`, `names no NF of the catalogue: ${nf}`);
    return readsStreams ? { ...found, state: withStreams(found.state) } : found;
  });
  return profiles.flatMap((a, earlier) =>
    profiles.slice(earlier + 1).map((b, offset) => {
      const later = earlier + 1 + offset;
      return pairOf({ earlier, later, names: [chain[earlier]!.id, chain[later]!.id] }, a, b);
    }),
  );
}

interface Where {
  readonly earlier: number;
  readonly later: number;
  readonly names: readonly [string, string];
}

function pairOf(where: Where, a: Profile, b: Profile): Pair {
  const conflicts = [
    ...fieldConflicts(where, a, b),
    ...lengthConflicts(where, a, b),
    ...dropConflicts(where, a, b),
    ...identityConflicts(where, a, b),
  ];
  const order = [...readThenTouched(where, a, b), ...stateThenDrop(where, a, b)];
  return { earlier: where.earlier, later: where.later, parallel: conflicts.length === 0, conflicts, order };
}

const VERBS = { writes: 'writes', adds: 'adds', removes: 'removes' } as const;
type Touch = keyof typeof VERBS;

/** Fields that an NF changes, each with how. */
function touches({ actions }: Profile): (readonly [PacketField, Touch])[] {
  const of = (touch: Touch) => [...new Set(actions[touch])].map((field) => [field, touch] as const);
  return [...of('writes'), ...of('adds'), ...of('removes')];
}

function reshapes({ actions }: Profile): boolean {
  return actions.adds.length + actions.removes.length > 0;
}

function keepsState({ state }: Profile): boolean {
  return state.kind === 'flow' || state.kind === 'aggregate';
}

/** Fields that an NF looks at, each with how: those that it reads, and those that only find the entry of its state. */
function looksAt({ actions, state }: Profile): ReadonlyMap<PacketField, string> {
  const key = state.kind === 'none' ? [] : state.key;
  return new Map<PacketField, string>([
    ...key.map((field) => [field, 'keeps state by'] as const),
    ...actions.reads.map((field) => [field, 'reads'] as const),
  ]);
}

function fieldConflicts({ earlier, later, names: [u, w] }: Where, a: Profile, b: Profile): Conflict[] {
  const looked = looksAt(b);
  const conflicts: Conflict[] = [];
  for (const [field, touch] of touches(a)) {
    const what = `${u} ${VERBS[touch]} ${field}`;
    const how = looked.get(field);
    if (how !== undefined)
      conflicts.push({ earlier, later, kind: 'write-read', field, sentence: `${what}, ${w} ${how} ${field}` });
    for (const [other, by] of touches(b)) {
      if (other !== field) continue;
      const kind = touch === 'writes' && by === 'writes' ? 'write-write' : 'add-remove';
      conflicts.push({ earlier, later, kind, field, sentence: `${what}, ${w} ${VERBS[by]} ${field}` });
    }
  }
  return conflicts;
}

function lengthConflicts({ earlier, later, names: [u, w] }: Where, a: Profile, b: Profile): Conflict[] {
  const touched = (it: Profile) => touches(it).some(([field]) => field === 'length');
  const at = { earlier, later, kind: 'length', field: 'length' } as const;
  const conflicts: Conflict[] = [];
  if (reshapes(a) && b.actions.reads.includes('length') && !touched(a))
    conflicts.push({ ...at, sentence: `${u} changes the length of packets, ${w} reads length` });
  const both = (reshapes(a) || touched(a)) && (reshapes(b) || touched(b));
  if (both && !(touched(a) && touched(b)))
    conflicts.push({ ...at, sentence: `${u} and ${w} both change the length of packets` });
  for (const [it, other, name, beside] of [
    [a, b, u, w],
    [b, a, w, u],
  ] as const)
    if (reshapes(it) && it.actions.resizes_at === undefined && touches(other).length > 0 && !both)
      conflicts.push({
        ...at,
        sentence: `${name} adds or removes bytes at a place that it does not declare, ${beside} changes packets`,
      });
  return conflicts;
}

function dropConflicts({ earlier, later, names: [u, w] }: Where, a: Profile, b: Profile): Conflict[] {
  if (!a.actions.may_drop || !keepsState(b)) return [];
  const what = b.state.kind === 'flow' ? 'keeps state of flows' : 'counts over all packets';
  const sentence = `${u} may drop a packet, ${w} ${what} and would still see it`;
  return [{ earlier, later, kind: 'drop-state', field: null, sentence }];
}

function identityConflicts({ earlier, later, names }: Where, a: Profile, b: Profile): Conflict[] {
  const loses = (it: Profile) => unmodifiedOf(it)?.preserves.includes('ingress-time') === false;
  return [a, b].flatMap((it, i): Conflict[] => {
    if (!loses(it)) return [];
    const sentence = `${names[i]} does not preserve the ingress time, by which the merge finds the copies of a packet`;
    return [{ earlier, later, kind: 'identity', field: null, sentence }];
  });
}

function readThenTouched({ earlier, later, names: [u, w] }: Where, a: Profile, b: Profile): Conflict[] {
  const changed = new Map<PacketField, string>(touches(b).map(([field, touch]) => [field, VERBS[touch]]));
  if (reshapes(b) && !changed.has('length')) changed.set('length', 'changes');
  return [...looksAt(a)].flatMap(([field, how]): Conflict[] => {
    const verb = changed.get(field);
    if (verb === undefined) return [];
    const sentence = `${u} ${how} ${field}, ${w} ${verb} ${field} afterwards`;
    return [{ earlier, later, kind: 'read-write', field, sentence }];
  });
}

function stateThenDrop({ earlier, later, names: [u, w] }: Where, a: Profile, b: Profile): Conflict[] {
  if (!keepsState(a) || !b.actions.may_drop) return [];
  const sentence = `${u} keeps state of every packet, ${w} may drop it afterwards`;
  return [{ earlier, later, kind: 'state-drop', field: null, sentence }];
}

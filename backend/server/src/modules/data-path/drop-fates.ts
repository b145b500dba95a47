import { type GraphNode, type NfDescriptor, SLOT_DROPS } from '@orrery/contract';

/**
 * What a drop means. `refused`: as configured. `lost`: a packet is lost there. `missing`: a merge gave up a packet because a copy
 * did not arrive. `announced`: it gave up one of which it heard that a branch dropped it. `none`: no packet of the chain, or
 * nobody can tell.
 */
export type DropFate = 'refused' | 'lost' | 'missing' | 'announced' | 'none';

/** Reason of the engine's classifier: no edge of the chain takes the packet. */
const NO_EDGE = 'no_match';
/** Reason of the queue in front of an NF, or of a task: what waits there nobody has seen yet. */
export const QUEUE_FULL = 'queue_full';
/** Drops of which the NF knows nothing, so they are none of its refusals. */
const AROUND_NF: ReadonlySet<string> = new Set([QUEUE_FULL, ...Object.values(SLOT_DROPS)]);

/** Drops of a merge by what they mean; any other is a merged packet that is lost. */
const OF_MERGE: Readonly<Record<string, DropFate>> = {
  branch_dropped: 'announced',
  copy_lost: 'missing',
  table_full: 'missing',
  late_copy: 'none',
  duplicate_copy: 'none',
  no_identity: 'none',
  no_branch: 'none',
};

/** The reasons of drops that the configuration of an NF asks for; null: it may drop so, and does not say which drops those are. */
export function refusalsOf(descriptor: Pick<NfDescriptor, 'actions'> | undefined): readonly string[] | null {
  if (!descriptor) return [];
  const { may_drop, refuses } = descriptor.actions;
  return refuses ?? (may_drop ? null : []);
}

/** `refusesOf`: see `refusalsOf`. */
export function fateOf(
  node: Pick<GraphNode, 'kind'> & { readonly nf?: string },
  reason: string,
  refusesOf: (nf: string) => readonly string[] | null,
): DropFate {
  if (reason === NO_EDGE) return 'refused';
  if (node.kind === 'merge') return OF_MERGE[reason] ?? 'lost';
  if (node.kind !== 'nf' || AROUND_NF.has(reason)) return 'lost';
  const refused = refusesOf(node.nf ?? '');
  if (refused === null) return 'none';
  return refused.includes(reason) ? 'refused' : 'lost';
}

import { type FlowKey, isAtSwitch, type NfDescriptor, type PlannedChain } from '@orrery/contract';
import type { AssignedImplementations } from '../check/assigned-implementation.js';
import { indexDescriptors } from '../check/attributes.js';
import { askedSplit, keptByEngines, keptBySwitches } from './asked-split.js';
import type { ChainForm, FormEdge, FormNode } from './chain-form.js';
import { fullKey } from './partition.js';

/** The switches at which a class enters that cannot share out the flows of an NF by the key, or keep those in progress. */
export type UnableSwitches = (chain: PlannedChain, nodeId: string, key: FlowKey, keep: boolean) => readonly string[];

/**
 * The form with a split by an engine in front of each NF of several instances whose flows come from the hosts and that the
 * switches cannot share out (E2 3.4.4), or from a slot at a switch, which shares out nothing: one for each edge by which
 * they come; the same form where there is none.
 */
export function withFrontSplits(
  form: ChainForm,
  descriptors: readonly NfDescriptor[],
  implementations: AssignedImplementations,
  unableSwitches: UnableSwitches,
): ChainForm {
  const slotOf = (id: string | null): string | null => {
    const it = id === null ? undefined : implementations.get(id);
    return it?.driver === 'board' && isAtSwitch(it) ? `${it.board.board} slot ${it.board.slot}` : null;
  };
  const catalogue = indexDescriptors(descriptors);
  let { nodes, edges } = form;
  for (const node of form.nodes) {
    if (node.kind !== 'nf' || node.node.instances < 2) continue;
    const { node_id, nf } = node.node;
    const into = edges.filter(({ to }) => to === node.id);
    const asked = askedSplit(form.chain, node_id);
    const { affinity } = catalogue.get(nf)!;
    const switches = into.some(({ from }) => from === null)
      ? unableSwitches(form.chain, node_id, fullKey(affinity), keptBySwitches(asked) !== null)
      : [];
    const entering = into.filter(({ from }) => (from === null ? switches.length > 0 : slotOf(from) !== null));
    if (entering.length === 0) continue;
    const unable = [...switches, ...new Set(entering.flatMap(({ from }) => slotOf(from) ?? []))];
    const tracks = keptByEngines(asked, affinity) !== null;
    const splits = entering.map(({ pgraph_edge, rate_bps }): FormNode & { readonly kind: 'split' } => {
      const id = `${pgraph_edge}.split`;
      return { kind: 'split', id, node_id, pgraph_edge, tracks, load_bps: rate_bps, unable };
    });
    nodes = nodes.flatMap((it) => (it === node ? [...splits, it] : [it]));
    const splitOf = new Map(splits.map((split) => [split.pgraph_edge, split.id]));
    edges = [
      ...edges.map((edge) => (entering.includes(edge) ? { ...edge, to: splitOf.get(edge.pgraph_edge)! } : edge)),
      ...splits.map(
        ({ id, pgraph_edge, load_bps }): FormEdge => ({
          ...{ id, pgraph_edge, from: id, to: node.id, filter: [] },
          rate_bps: load_bps,
        }),
      ),
    ];
  }
  return nodes === form.nodes ? form : { ...form, nodes, edges };
}

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
 * they come; the same form where there is none. Also where the split is staged and the switches have not taken it over.
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
    if (node.kind !== 'nf') continue;
    const { node_id, nf } = node.node;
    const into = edges.filter(({ to }) => to === node.id);
    const asked = askedSplit(form.chain, node_id);
    const held = asked?.staged?.held;
    const isStaged = held !== undefined && into.length === 1 && into[0]!.from === null;
    const isKept = asked?.instances !== undefined && keptBySwitches(asked) !== null;
    if (node.node.instances < 2 && !isStaged && !isKept) continue;
    const { affinity } = catalogue.get(nf)!;
    const switches = into.some(({ from }) => from === null)
      ? unableSwitches(form.chain, node_id, fullKey(affinity), keptBySwitches(asked) !== null)
      : [];
    const isBehindSwitch = isStaged && (held.length === 1 || switches.length === 0);
    // A switch that cannot take over a split is told, where its entries are made.
    const goesToSwitch = asked?.staged !== undefined && held === undefined;
    const entering = into.filter(({ from }) =>
      from === null ? isBehindSwitch || (switches.length > 0 && !goesToSwitch) : slotOf(from) !== null,
    );
    if (entering.length === 0) continue;
    const unable = isBehindSwitch ? [] : [...switches, ...new Set(entering.flatMap(({ from }) => slotOf(from) ?? []))];
    const tracks = isBehindSwitch || keptByEngines(asked, affinity) !== null;
    const splits = entering.map(({ pgraph_edge, rate_bps }): FormNode & { readonly kind: 'split' } => {
      const id = `${pgraph_edge}.split`;
      const staged = isBehindSwitch ? { held } : {};
      return { kind: 'split', id, node_id, pgraph_edge, tracks, load_bps: rate_bps, unable, ...staged };
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

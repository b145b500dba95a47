import type { FlowKey, NfDescriptor, PlannedChain } from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { askedSplit, keptByEngines, keptBySwitches } from './asked-split.js';
import type { ChainForm, FormEdge, FormNode } from './chain-form.js';
import { fullKey } from './partition.js';

/** Whether the switches at which a class enters share out its flows by the key, and keep those in progress. */
export type SwitchesSplit = (
  traffic: PlannedChain['definition']['traffic_class'],
  key: FlowKey,
  keep: boolean,
) => boolean;

/**
 * The form with a split by an engine in front of each NF of several instances whose flows come from the hosts and that the
 * switches cannot share out (E2 3.4.4); the same form where there is none.
 */
export function withFrontSplits(
  form: ChainForm,
  descriptors: readonly NfDescriptor[],
  switchesSplit: SwitchesSplit,
): ChainForm {
  const catalogue = indexDescriptors(descriptors);
  const { traffic_class } = form.chain.definition;
  let { nodes, edges } = form;
  for (const node of form.nodes) {
    if (node.kind !== 'nf' || node.node.instances < 2) continue;
    const { node_id, nf } = node.node;
    const entering = edges.filter(({ from, to }) => from === null && to === node.id);
    if (entering.length === 0) continue;
    const asked = askedSplit(form.chain, node_id);
    const { affinity } = catalogue.get(nf)!;
    if (switchesSplit(traffic_class, fullKey(affinity), keptBySwitches(asked) !== null)) continue;
    const id = `${node.id}.split`;
    const load_bps = entering.reduce((sum, { rate_bps }) => sum + rate_bps, 0);
    const split: FormNode = { kind: 'split', id, node_id, tracks: keptByEngines(asked, affinity) !== null, load_bps };
    const [{ pgraph_edge }] = entering as [FormEdge];
    nodes = nodes.flatMap((it) => (it === node ? [split, it] : [it]));
    edges = [
      ...edges.map((edge) => (entering.includes(edge) ? { ...edge, to: id } : edge)),
      { id, pgraph_edge, from: id, to: node.id, filter: [], rate_bps: load_bps },
    ];
  }
  return nodes === form.nodes ? form : { ...form, nodes, edges };
}

import type { ChainDefinition, Filter, IngressWay, NfDescriptor } from '@orrery/contract';
import { type ChainGraph, reachableFrom } from './graph.js';
import { type DerivedDomains, isDirect } from './packet-space.js';

export type DescriptorIndex = ReadonlyMap<string, NfDescriptor>;

const INDICES = new WeakMap<readonly NfDescriptor[], DescriptorIndex>();

/** By id; made once for each catalogue. */
export function indexDescriptors(descriptors: readonly NfDescriptor[]): DescriptorIndex {
  const known = INDICES.get(descriptors);
  if (known) return known;
  const index = new Map(descriptors.map((descriptor) => [descriptor.id, descriptor]));
  INDICES.set(descriptors, index);
  return index;
}

/** Attribute of packets that switches put on ways. */
const WAY = 'way';

export function wayAttribute(ingress: string): string {
  return `${ingress}.${WAY}`;
}

/** The way on which an edge of the chain is; `null`: it does not decide on ways. */
export function wayOf(ingress: string, filter: Filter): string | null {
  const term = filter.find(({ attribute, op }) => attribute === wayAttribute(ingress) && op === 'is');
  return term ? String(term.value) : null;
}

const WAY_NAMES = new WeakMap<object, readonly string[]>();

function wayNames(ingress: { readonly ways?: readonly IngressWay[] | undefined }): readonly string[] {
  const names = WAY_NAMES.get(ingress) ?? ingress.ways!.map(({ id }) => id);
  WAY_NAMES.set(ingress, names);
  return names;
}

/** The values of the attribute `<node>.<name>`, in declared order; `null` when the node's NF does not derive it. */
export function derivedValues(
  attribute: string,
  graph: ChainGraph,
  descriptors: DescriptorIndex,
): readonly string[] | null {
  const dot = attribute.indexOf('.');
  const node = graph.nodes.get(attribute.slice(0, dot));
  if (node?.kind === 'ingress' && node.ways) return attribute.slice(dot + 1) === WAY ? wayNames(node) : null;
  if (node?.kind !== 'nf') return null;
  const declared = descriptors.get(node.nf)?.attributes.find(({ name }) => name === attribute.slice(dot + 1));
  return declared ? declared.values.map(({ value }) => value) : null;
}

/** Derived attributes that some edge filters on and that exist, with the number of their values. */
export function usedDerived(
  definition: ChainDefinition,
  graph: ChainGraph,
  descriptors: DescriptorIndex,
): DerivedDomains {
  const used = new Map<string, number>();
  for (const edge of definition.edges) {
    for (const { attribute } of edge.filter) {
      if (isDirect(attribute) || used.has(attribute)) continue;
      const values = derivedValues(attribute, graph, descriptors);
      if (values) used.set(attribute, values.length);
    }
  }
  return used;
}

/** Whether packets that leave `at` may carry an attribute that `source` derives. */
export function carries(graph: ChainGraph, source: string, at: string): boolean {
  return reachableFrom(graph, source, 'along').has(at);
}

import type { ChainDefinition, MetadataField, NfDescriptor, Plan, PlannedChain } from '@orrery/contract';
import { derivedValues, indexDescriptors, usedDerived } from '../check/attributes.js';
import { graphOf } from '../check/graph.js';
import type { Recall } from '../recall.js';

/** Bits of the word that travels with a packet, in its hop tag between servers. */
export const METADATA_BITS = 16;

/** Where each derived attribute `<node>.<name>` that a filter names is kept. */
export type MetadataLayout = ReadonlyMap<string, MetadataField>;

/** Bits that hold one attribute: its values and 0 for "not set". */
export function bitsFor(values: number): number {
  return Math.ceil(Math.log2(values + 1));
}

/**
 * Gives bits to the attributes on which the chain's filters decide; fields of the plan that runs keep their place.
 * `needed` is the sum of all bits; the layout is `null` when they do not fit.
 */
export function layOutMetadata(
  definition: ChainDefinition,
  descriptors: readonly NfDescriptor[],
  running: MetadataLayout,
): { readonly layout: MetadataLayout | null; readonly needed: number } {
  const catalogue = indexDescriptors(descriptors);
  const graph = graphOf(definition);
  const used = [...usedDerived(definition, graph, catalogue)];
  const needed = used.reduce((sum, [, values]) => sum + bitsFor(values), 0);
  if (needed > METADATA_BITS) return { layout: null, needed };
  const kept = used.filter(([attribute, values]) => running.get(attribute)?.width === bitsFor(values));
  return {
    layout:
      allocate(new Map(kept.map(([attribute]) => [attribute, running.get(attribute)!.offset]))) ?? allocate(new Map())!,
    needed,
  };

  /** `null` when the kept fields leave the free bits in pieces that are too small. */
  function allocate(fixed: ReadonlyMap<string, number>): MetadataLayout | null {
    const taken = new Array<boolean>(METADATA_BITS).fill(false);
    const offsets = new Map<string, number>();
    const claim = (attribute: string, offset: number, width: number) => {
      offsets.set(attribute, offset);
      taken.fill(true, offset, offset + width);
    };
    for (const [attribute, values] of used) {
      const offset = fixed.get(attribute);
      if (offset !== undefined) claim(attribute, offset, bitsFor(values));
    }
    for (const [attribute, values] of used) {
      if (offsets.has(attribute)) continue;
      const width = bitsFor(values);
      let offset = 0;
      while (offset + width <= METADATA_BITS && taken.slice(offset, offset + width).includes(true)) offset++;
      if (offset + width > METADATA_BITS) return null;
      claim(attribute, offset, width);
    }
    return new Map(
      used.map(([attribute, count]) => {
        const values = derivedValues(attribute, graph, catalogue)!;
        const ordinals = Object.fromEntries(values.map((value, i) => [value, i + 1]));
        return [attribute, { offset: offsets.get(attribute)!, width: bitsFor(count), values: ordinals }];
      }),
    );
  }
}

/** The metadata fields of each chain in a plan, by attribute. */
function runningFields(plan: Plan | null): Map<string, [attribute: string, field: MetadataField][]> {
  const fields = new Map<string, [string, MetadataField][]>();
  for (const { instances } of Object.values(plan?.nodes ?? {})) {
    for (const { chain_id, node_id, metadata } of instances) {
      for (const [name, field] of Object.entries(metadata)) {
        const own = fields.get(chain_id) ?? [];
        if (own.push([`${node_id}.${name}`, field]) === 1) fields.set(chain_id, own);
      }
    }
  }
  return fields;
}

/** The layout of each chain, by its name. Precondition: `checkMetadata` finds nothing wrong with any. */
export function metadataLayouts(
  chains: readonly PlannedChain[],
  descriptors: readonly NfDescriptor[],
  base: Plan | null,
  recall: Recall,
): Map<string, MetadataLayout> {
  const running = runningFields(base);
  return new Map(
    chains.map((chain) => {
      const { chain_id, definition } = chain;
      const own = running.get(chain_id) ?? [];
      const layout = recall.of(
        'layout',
        [recall.nameOf(chain), own],
        () => layOutMetadata(definition, descriptors, new Map(own)).layout!,
      );
      return [definition.name, layout];
    }),
  );
}

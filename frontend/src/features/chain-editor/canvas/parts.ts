import type { ChainDefinition, NfDescriptor } from '@orrery/contract';
import type { Part } from '../../../editor-model/edit.js';

/** A row of the palette. */
export interface PaletteEntry {
  id: string;
  title: string;
  summary: string;
  icon: string;
  group: string;
  part: Part;
  /** Why it cannot be added now, or null. */
  unavailable: string | null;
}

const GROUPS: Record<NfDescriptor['category'], string> = {
  security: 'Security',
  translation: 'Translation',
  measurement: 'Measurement',
  traffic: 'Traffic',
  forwarding: 'Forwarding',
};

/** Everything that can be added, by group, the ends of the chain last. */
export function paletteEntries(definition: ChainDefinition, descriptors: readonly NfDescriptor[]): PaletteEntry[] {
  const order = Object.keys(GROUPS);
  const nfs = [...descriptors]
    .sort((a, b) => order.indexOf(a.category) - order.indexOf(b.category) || a.title.localeCompare(b.title))
    .map(
      (descriptor): PaletteEntry => ({
        id: descriptor.id,
        title: descriptor.title,
        summary: descriptor.summary,
        icon: descriptor.icon,
        group: GROUPS[descriptor.category],
        part: { kind: 'nf', descriptor },
        unavailable: null,
      }),
    );
  const taken = (kind: 'ingress' | 'egress') =>
    definition.nodes.some((node) => node.kind === kind) ? `The chain already has its ${kind}.` : null;
  return [
    ...nfs,
    {
      id: 'ingress',
      title: 'Ingress',
      summary: 'Where the traffic class enters the chain.',
      icon: 'ingress',
      group: 'Ends',
      part: { kind: 'ingress' },
      unavailable: taken('ingress'),
    },
    {
      id: 'egress',
      title: 'Egress',
      summary: 'Where packets leave the chain for their destination.',
      icon: 'egress',
      group: 'Ends',
      part: { kind: 'egress' },
      unavailable: taken('egress'),
    },
  ];
}

/** Entries in which every word of the query occurs; titles that begin with it come first. */
export function searchEntries(entries: readonly PaletteEntry[], query: string): PaletteEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...entries];
  const starts = (entry: PaletteEntry) => (entry.title.toLowerCase().startsWith(words[0]!) ? 0 : 1);
  return entries
    .filter((entry) => {
      const text = `${entry.title} ${entry.id} ${entry.group} ${entry.summary}`.toLowerCase();
      return words.every((word) => text.includes(word));
    })
    .sort((a, b) => starts(a) - starts(b));
}

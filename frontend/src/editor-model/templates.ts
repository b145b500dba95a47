import { ChainDefinition, type HostNode } from '@orrery/contract';
import { asName, freshName } from './identifiers.js';
import e2Figure31 from './templates/e2-figure-3-1.json' with { type: 'json' };
import empty from './templates/empty.json' with { type: 'json' };
import linear from './templates/linear.json' with { type: 'json' };

/** A chain to start from. */
export interface Template {
  id: string;
  title: string;
  summary: string;
  definition: ChainDefinition;
}

function template(id: string, title: string, source: unknown, summary?: string): Template {
  const definition = ChainDefinition.parse(source);
  return { id, title, summary: summary ?? definition.description, definition };
}

export const TEMPLATES: readonly Template[] = [
  template('empty', 'Empty chain', empty, 'An ingress and an egress; everything between them is yours.'),
  template('e2-figure-3-1', 'E2 figure 3.1', e2Figure31),
  template('linear', 'Linear: firewall → NAT → monitor', linear),
];

/** A definition with the given title and an unused name. */
export function instantiate(source: ChainDefinition, title: string, takenNames: ReadonlySet<string>): ChainDefinition {
  return { ...structuredClone(source), title, name: freshName(asName(title), takenNames) };
}

/**
 * The definition with traffic from a host whose traffic no other chain takes: that of the template if it is free, otherwise
 * the first free client. Unchanged if there is none.
 */
export function fromFreeHost(
  definition: ChainDefinition,
  hosts: readonly Pick<HostNode, 'id' | 'role'>[],
  others: readonly ChainDefinition[],
): ChainDefinition {
  const taken = new Set(others.flatMap(({ traffic_class }) => traffic_class.from));
  const isFree = (id: string) => !taken.has(id) && hosts.some((host) => host.id === id);
  if (definition.traffic_class.from.every(isFree)) return definition;
  const free = hosts.find(({ id, role }) => role === 'client' && !taken.has(id));
  return free ? { ...definition, traffic_class: { ...definition.traffic_class, from: [free.id] } } : definition;
}

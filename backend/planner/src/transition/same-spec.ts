import type { FabricSpec, NodeSpec } from '@orrery/contract';

/** Whether two wire objects say the same, whatever the order of their fields. */
export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = Object.keys(a).filter((key) => (a as Record<string, unknown>)[key] !== undefined);
  const others = Object.keys(b).filter((key) => (b as Record<string, unknown>)[key] !== undefined);
  return (
    keys.length === others.length &&
    keys.every((key) => sameContent((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]))
  );
}

/** Whether a node runs the same, whatever the generation and the order in which it is told. */
export function sameNode(a: NodeSpec, b: NodeSpec): boolean {
  return sameContent(keyedNode(a), keyedNode(b));
}

/** Whether the fabric forwards the same, whatever the generation and the order of its rules. */
export function sameFabric(a: FabricSpec, b: FabricSpec): boolean {
  const keyed = ({ rules }: FabricSpec) => Object.fromEntries(rules.map((rule) => [rule.id, rule]));
  return sameContent(keyed(a), keyed(b));
}

function keyedNode(spec: NodeSpec) {
  return {
    ...spec,
    generation: 0,
    instances: Object.fromEntries(spec.instances.map((instance) => [instance.id, instance])),
    hops: Object.fromEntries(spec.hops.map((hop) => [hop.hop, hop])),
    exits: Object.fromEntries(spec.exits.map((exit) => [exit.exit_id, exit])),
  };
}

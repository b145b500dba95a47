import type { FabricSpec, NodeSpec } from '@orrery/contract';

/** Whether two wire objects are equal, regardless of field order. */
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

/** Whether two node specs are equivalent, regardless of generation and order. */
export function sameNode(a: NodeSpec, b: NodeSpec): boolean {
  return sameContent(keyedNode(a), keyedNode(b));
}

/** Whether two fabric specs are equivalent, regardless of generation and order of rules. */
export function sameFabric(a: FabricSpec, b: FabricSpec): boolean {
  const keyed = ({ rules }: FabricSpec) => Object.fromEntries(rules.map((rule) => [rule.id, rule]));
  return sameContent(keyed(a), keyed(b));
}

function keyedNode(spec: NodeSpec) {
  return {
    ...spec,
    generation: 0,
    instances: Object.fromEntries(spec.instances.map((instance) => [instance.id, instance])),
    modules: Object.fromEntries((spec.modules ?? []).map((module) => [module.id, module])),
    hops: Object.fromEntries(spec.hops.map((hop) => [hop.hop, hop])),
    exits: Object.fromEntries(spec.exits.map((exit) => [exit.exit_id, exit])),
  };
}

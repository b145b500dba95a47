import type { FabricSpec, NodeSpec } from '@orrery/contract';

/** Whether two wire objects are equal, regardless of field order. */
export function sameContent(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) return Array.isArray(b) && sameList(a, b);
  return !Array.isArray(b) && sameFields(a as Fields, b as Fields);
}

type Fields = Readonly<Record<string, unknown>>;

function sameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (!sameContent(a[i], b[i])) return false;
  return true;
}

function sameFields(a: Fields, b: Fields): boolean {
  let more = 0;
  for (const key in b) if (b[key] !== undefined) more++;
  for (const key in a) {
    const value = a[key];
    if (value === undefined) continue;
    more--;
    if (!sameContent(value, b[key])) return false;
  }
  return more === 0;
}

/** Whether two node specs are equivalent, regardless of generation and order. */
export function sameNode(a: NodeSpec, b: NodeSpec): boolean {
  return sameContent(keyedNode(a), keyedNode(b));
}

/** Whether two fabric specs are equivalent, regardless of generation and order of rules. */
export function sameFabric(a: FabricSpec, b: FabricSpec): boolean {
  if (a.rules.length === b.rules.length && a.rules.every((rule, i) => rule === b.rules[i])) return true;
  const those = new Map(a.rules.map((rule) => [rule.id, rule]));
  const others = new Map(b.rules.map((rule) => [rule.id, rule]));
  if (those.size !== others.size) return false;
  for (const [id, rule] of those) if (!sameContent(rule, others.get(id))) return false;
  return true;
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

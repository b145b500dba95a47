import type { FabricSpec, NodeSpec } from '@orrery/contract';
import { sameContent } from '../transition/same-spec.js';
import type { LoweringInput } from './input.js';
import { nodeSpecs } from './nodes.js';
import { steeringRules } from './steering.js';

/** Lowers a placed instance graph to the complete desired state of every server and of the fabric. */
export function lower(input: LoweringInput): { nodes: Record<string, NodeSpec>; fabric: FabricSpec } {
  const before = input.base?.nodes ?? {};
  const nodes: Record<string, NodeSpec> = {};
  for (const [id, spec] of Object.entries(nodeSpecs(input))) nodes[id] = withGeneration(before[id], spec);
  for (const [id, spec] of Object.entries(before)) {
    nodes[id] ??= withGeneration(spec, {
      ...spec,
      instances: [],
      modules: undefined,
      schedulers: undefined,
      hops: [],
      exits: [],
    });
  }
  return { nodes, fabric: withGeneration(input.base?.fabric, { rules: steeringRules(input) }) };
}

function withGeneration<T extends { generation: number }>(before: T | undefined, now: Omit<T, 'generation'>): T {
  const next = { ...now, generation: before?.generation ?? 1 } as T;
  if (before && !sameContent(before, next)) next.generation++;
  return next;
}

import { type FabricSpec, type NodeSpec, nfInstances, type PlannedChain } from '@orrery/contract';
import { partOf } from '../igraph/parts.js';
import { sameContent } from '../transition/same-spec.js';
import type { LoweredChain, LoweringInput } from './input.js';
import { lowerChain } from './lower-chain.js';
import { nodeSpecs } from './nodes.js';
import { steeringRules } from './steering.js';

/** Lowers a placed instance graph to the complete desired state of every server and of the fabric. */
export function lower(input: LoweringInput): { nodes: Record<string, NodeSpec>; fabric: FabricSpec } {
  const before = input.base?.nodes ?? {};
  const chains = input.chains.map((chain) => lowered(input, chain));
  const nodes: Record<string, NodeSpec> = {};
  for (const [id, spec] of Object.entries(nodeSpecs(input, chains))) nodes[id] = withGeneration(before[id], spec);
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
  const ran = new Map(input.base?.fabric.rules.map((rule) => [rule.id, rule]));
  const rules = steeringRules(chains, input.guards).map((rule) =>
    sameContent(ran.get(rule.id), rule) ? ran.get(rule.id)! : rule,
  );
  return { nodes, fabric: withGeneration(input.base?.fabric, { rules }) };
}

function lowered(input: LoweringInput, chain: PlannedChain): LoweredChain {
  const { descriptors, recall } = input;
  const graph = partOf(input.graph, chain.chain_id);
  const layout = input.layouts.get(chain.definition.name)!;
  const owned = nfInstances(graph).flatMap(({ id }) => {
    const those = input.addresses.get(id);
    return those ? [[id, those] as const] : [];
  });
  const { name } = chain.definition;
  const nfs = [...input.switchNfs].filter(([edge]) => edge.startsWith(`${name}.`));
  const from = [recall.nameOf(chain), recall.nameOf(graph), recall.nameOf(layout), owned, ...nfs];
  return recall.of('lowered', from, () =>
    lowerChain({ chain, descriptors, graph, layout, addresses: new Map(owned), switchNfs: new Map(nfs) }),
  );
}

/** What does not change is the very object that it was, so that nothing later has to compare it again. */
function withGeneration<T extends { generation: number }>(before: T | undefined, now: Omit<T, 'generation'>): T {
  const next = { ...now, generation: before?.generation ?? 1 } as T;
  if (!before) return next;
  if (sameContent(before, next)) return before;
  return { ...next, generation: next.generation + 1 };
}

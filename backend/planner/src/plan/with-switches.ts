import type { Plan, PlannedChain } from '@orrery/contract';
import { requireTime } from '../budget.js';
import { indexDescriptors } from '../check/attributes.js';
import { grouped } from '../grouped.js';
import { switchCandidates } from '../offload/candidates.js';
import { fitting, offloadReasons, type Refused, withoutLeast } from '../offload/choose.js';
import { wholePath, withoutHeads } from '../offload/head-of-chain.js';
import { type OnSwitch, onSwitches } from '../offload/on-switches.js';
import { type Draft, Infeasible } from './draft.js';
import { drawPolicyGraph } from './steps/policy-graph.js';

/**
 * Takes NFs at the beginning of the chains that ask for it onto the switches where their packets enter (E2 3.4.1 step 5), and
 * plans the rest of those chains for servers. Next to a switch port these are wherever servers stand. NFs for which tables or
 * abilities are short once everything is placed go back to servers, those that save the least traffic first.
 */
export function withSwitches(checked: Draft, plan: (draft: Draft) => Plan): Plan {
  const { input, recall } = checked;
  if (!input.chains.some(({ offload }) => offload === 'where-possible')) return plan(checked);
  const { candidates, stay } = switchCandidates(input, drawPolicyGraph(checked).pgraph);
  const catalogue = indexDescriptors(input.descriptors);
  const lacksOf = (nf: string) => catalogue.get(nf)?.on_switch?.lacks;
  const first = fitting(checked, candidates);
  let { taken } = first;
  const refused: Refused[] = [...first.refused];
  for (;;) {
    const reasons = offloadReasons(candidates, taken, stay, refused, lacksOf);
    const gone = grouped(taken, ({ chain_id }) => chain_id);
    const chains = input.chains.map((chain) => shortened(chain, gone.get(chain.chain_id), recall));
    const draft = { ...checked, input: { ...input, chains }, onSwitches: onSwitches(taken) };
    try {
      return whole(plan({ ...draft, reasons: [...checked.reasons, ...reasons] }), input.chains, gone);
    } catch (error) {
      if (!(error instanceof Infeasible)) throw error;
      const next = withoutLeast(taken, error.found.conflicts);
      if (!next) throw error;
      requireTime(input.budget);
      taken = next.left;
      refused.push(...next.gone);
    }
  }
}

/** The same object for the same NFs, so that what is known of it is found again. */
function shortened(chain: PlannedChain, taken: readonly OnSwitch[] | undefined, recall: Draft['recall']): PlannedChain {
  if (!taken) return chain;
  const gone = taken.map(({ node_id }) => node_id);
  return recall.of('behind switches', [recall.nameOf(chain), gone], () => ({
    ...chain,
    definition: withoutHeads(chain.definition, new Set(gone)),
  }));
}

/** The plan with the chains as they are drawn, and their paths. */
function whole(plan: Plan, chains: readonly PlannedChain[], gone: ReadonlyMap<string, readonly OnSwitch[]>): Plan {
  const drawn = new Map(chains.map((chain) => [chain.chain_id, chain.definition]));
  const names = new Map<string, string>();
  const classes = plan.classes.map((path) => {
    const taken = gone.get(path.chain_id);
    if (!taken) return path;
    const definition = drawn.get(path.chain_id)!;
    const { edges, nodes } = wholePath(definition, new Set(taken.map(({ node_id }) => node_id)), path);
    const id = `${definition.name}.${edges.join('/')}`;
    names.set(path.id, id);
    return { ...path, id, edges, nodes };
  });
  const renamed = <T extends { readonly subject: string }>(one: T): T =>
    names.has(one.subject) ? { ...one, subject: names.get(one.subject)! } : one;
  return {
    ...plan,
    chains: [...chains],
    classes,
    quality: plan.quality.map(renamed),
    reasons: plan.reasons.map(renamed),
  };
}

/** The plan as it was made for servers: with the chains behind the NFs that switches run. The inverse of `whole`. */
export function behindSwitches(plan: Plan): Plan {
  const { on_switches = [] } = plan;
  if (on_switches.length === 0) return plan;
  const byChain = grouped(on_switches, ({ chain_id }) => chain_id);
  const goneOf = (id: string) => new Set(byChain.get(id)?.map(({ node_id }) => node_id));
  const drawn = new Map(plan.chains.map(({ chain_id, definition }) => [chain_id, definition]));
  const names = new Map<string, string>();
  const classes = plan.classes.map((path) => {
    const { name, edges } = drawn.get(path.chain_id)!;
    const gone = goneOf(path.chain_id);
    const skipped = new Set(edges.filter(({ from }) => gone.has(from)).map(({ id }) => id));
    const left = path.edges.filter((edge) => !skipped.has(edge));
    const id = `${name}.${left.join('/')}`;
    names.set(path.id, id);
    return { ...path, id, edges: left, nodes: path.nodes.filter((node) => !gone.has(node)) };
  });
  return {
    ...plan,
    classes,
    chains: plan.chains.map((chain) => ({
      ...chain,
      definition: withoutHeads(chain.definition, goneOf(chain.chain_id)),
    })),
    quality: plan.quality.map((one) => ({ ...one, subject: names.get(one.subject) ?? one.subject })),
  };
}

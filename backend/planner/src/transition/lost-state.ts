import {
  type Instance,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type PlannedChain,
  type PlannedSplit,
} from '@orrery/contract';
import { grouped } from '../grouped.js';

interface Context {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
}

/**
 * A warning for each NF of which flows come to another instance without their state: where instances leave or join, only an
 * instance that follows exactly one other is given state. An NF or a chain that is itself removed has none.
 * `migrations`: all that lead from what runs to these instances. `splits`: who shares out flows from now on; another that does it
 * hashes them otherwise.
 */
export function lostState(
  base: Plan | null,
  instances: readonly Instance[],
  migrations: Plan['migrations'],
  splits: Plan['splits'],
  { chains, descriptors }: Context,
): Plan['problems'] {
  if (!base) return [];
  const keepState = new Set(
    descriptors.flatMap(({ id, state }) => (state.kind === 'flow' || state.kind === 'aggregate' ? [id] : [])),
  );
  const ran = grouped(
    nfInstances(base.graph).filter(({ nf }) => keepState.has(nf)),
    ({ pgraph_node }) => pgraph_node,
  );
  const given = new Set(migrations.flatMap(({ from, to }) => [from, to]));
  const problems: Plan['problems'] = [];
  for (const [node, now] of grouped(instances, ({ pgraph_node }) => pgraph_node)) {
    const { chain_id, node_id, nf } = now[0]!;
    const before = (ran.get(node) ?? []).filter((it) => it.nf === nf);
    if (before.length === 0) continue;
    const left = idsWithout(before, now, given);
    const joined = idsWithout(now, before, given);
    const said = [
      ...(left.length > 0 ? [`the flow state in ${left.join(', ')} is lost: it is removed without a successor`] : []),
      ...(joined.length > 0 ? [`flows come to ${joined.join(', ')} without the state that they have elsewhere`] : []),
      ...otherHash(
        base.splits.find((it) => it.chain_id === chain_id && it.node_id === node_id),
        splits.find((it) => it.chain_id === chain_id && it.node_id === node_id),
      ),
    ];
    if (said.length === 0) continue;
    const { definition } = chains.find((chain) => chain.chain_id === chain_id)!;
    problems.push({
      chain_id,
      code: 'flow-state-lost',
      severity: 'warning',
      message: said.join('; '),
      pointer: `/nodes/${definition.nodes.findIndex(({ id }) => id === node_id)}`,
      node: node_id,
    });
  }
  return problems;
}

const SHARED_BY = { switch: 'the switch', engine: 'an engine' } as const;

function otherHash(before: PlannedSplit | undefined, now: PlannedSplit | undefined): string[] {
  if (!before || !now) return [];
  if (before.at !== now.at)
    return [
      `${SHARED_BY[now.at]} shares out its flows instead of ${SHARED_BY[before.at]}, by another hash: most of those in progress come to another instance without their state`,
    ];
  if (before.key.join() === now.key.join()) return [];
  return [
    'its flows are told apart by other fields: most of those in progress come to another instance without their state',
  ];
}

function idsWithout(those: readonly Instance[], others: readonly Instance[], given: ReadonlySet<string>): string[] {
  const known = new Set(others.map(({ id }) => id));
  return those.flatMap(({ id }) => (known.has(id) || given.has(id) ? [] : [id]));
}

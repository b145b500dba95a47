import {
  type GraphEdge,
  type Instance,
  type NfDescriptor,
  nfInstances,
  type Plan,
  type PlannedChain,
} from '@orrery/contract';
import { indexDescriptors } from '../check/attributes.js';
import { grouped } from '../grouped.js';
import { askedSplit, keptByEngines, keptBySwitches } from '../igraph/asked-split.js';
import { movedJoints } from './joints.js';

interface Context {
  readonly chains: readonly PlannedChain[];
  readonly descriptors: readonly NfDescriptor[];
  /** Servers that are lost, with the flow state that was there. */
  readonly lost?: ReadonlySet<string>;
}

/**
 * A warning for each NF of which flows come to another instance without their state: where instances leave or join, only an
 * instance that follows exactly one other is given state; switches, engines and keys hash flows differently; and a split that
 * moves forgets which flows it keeps where. An NF or a chain that is itself removed has none. `migrations`: all that lead from
 * what runs to these instances.
 */
export function lostState(
  base: Plan | null,
  graph: Plan['graph'],
  splits: Plan['splits'],
  migrations: Plan['migrations'],
  { chains, descriptors, lost = new Set() }: Context,
): Plan['problems'] {
  if (!base) return [];
  const instances = nfInstances(graph);
  const forgetful = forgetfulSplits(base, movedJoints(base, graph));
  const keepState = new Set(
    descriptors.flatMap(({ id, state }) => (state.kind === 'flow' || state.kind === 'aggregate' ? [id] : [])),
  );
  const ran = grouped(
    nfInstances(base.graph).filter(({ nf }) => keepState.has(nf)),
    ({ pgraph_node }) => pgraph_node,
  );
  const stagedOf = ({ chain_id, node_id }: Instance) =>
    askedSplit(chains.find((it) => it.chain_id === chain_id)!, node_id)?.staged;
  /** Behind splits that know the flows in progress. */
  const isTracked = ({ chain_id, node_id }: Instance) =>
    base.graph.nodes.some(
      (it) => it.kind === 'split' && it.in_front_of !== undefined && it.chain_id === chain_id && it.node_id === node_id,
    );
  /** The switches go on to hash as they do, or take over from engines that hash as they do. */
  const isInSteps = (nf: Instance) => stagedOf(nf)?.held !== undefined || (stagedOf(nf) && isTracked(nf));
  const isKept = keepersOf(base, graph, chains, descriptors);
  const given = new Set(migrations.flatMap(({ from, to }) => [from, to]));
  const problems: Plan['problems'] = [];
  for (const [node, now] of grouped(instances, ({ pgraph_node }) => pgraph_node)) {
    const { chain_id, node_id, nf } = now[0]!;
    const before = (ran.get(node) ?? []).filter((it) => it.nf === nf);
    if (before.length === 0) continue;
    const gone = before.filter(({ server }) => lost.has(server));
    const left = idsWithout(before, now, given).filter((id) => !gone.some((it) => it.id === id));
    const stay = (stagedOf(now[0]!) && isTracked(now[0]!)) || isKept(before, now);
    const joined = stay ? [] : idsWithout(now, before, given);
    const isHashedAnew =
      now.length > 1 &&
      before.length > 1 &&
      // Plans of earlier versions do not say by what.
      base.splits.length > 0 &&
      !isInSteps(now[0]!) &&
      hashOf(base.splits, now[0]!) !== hashOf(splits, now[0]!);
    const said = [
      ...gone.map(({ id, server }) => `the flow state in ${id} was lost with ${server}`),
      ...(left.length > 0 ? [`the flow state in ${left.join(', ')} is lost: it is removed without a successor`] : []),
      ...(joined.length > 0 ? [`flows come to ${joined.join(', ')} without the state that they have elsewhere`] : []),
      ...(isHashedAnew
        ? ['flows in progress come to other instances without their state: another hash shares them out']
        : []),
    ];
    for (const id of forgetful.get(`${chain_id} ${node_id}`) ?? [])
      said.push(`flows that ${id} keeps at their instances follow the ranges again: it moves`);
    const moves = (it: Instance) => now.some(({ id, ordinal }) => ordinal === it.ordinal && id !== it.id);
    if (stagedOf(now[0]!) && isTracked(now[0]!) && before.some(moves))
      said.push('flows in progress do not stay at their instances: one of these moves to another core');
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

/**
 * Whether engines or switches keep the flows in progress of an NF: those in front of it tracked them before, still do, by the
 * same key, and stay where they are.
 */
function keepersOf(
  base: Plan,
  graph: Plan['graph'],
  chains: readonly PlannedChain[],
  descriptors: readonly NfDescriptor[],
): (before: readonly Instance[], now: readonly Instance[]) => boolean {
  const catalogue = indexDescriptors(descriptors);
  const entering = (of: Plan['graph'], instances: readonly Instance[]) => {
    const ids = new Set(instances.map(({ id }) => id));
    return of.edges.filter(({ to, direction }) => ids.has(to) && direction === 'forward');
  };
  const tracks = (among: readonly PlannedChain[], { chain_id, node_id, nf }: Instance) => {
    const chain = among.find((it) => it.chain_id === chain_id);
    const asked = chain && askedSplit(chain, node_id);
    const by = (it: GraphEdge) =>
      it.from === null ? keptBySwitches(asked) : keptByEngines(asked, catalogue.get(nf)!.affinity);
    return (it: GraphEdge) => chain !== undefined && it.key.length > 0 && by(it) !== null;
  };
  const placeOf = ({ nodes }: Plan['graph'], id: string | null) => {
    if (id === null) return 'switch';
    const node = nodes.find((it) => it.id === id);
    return node && node.kind !== 'exit' ? `${node.id} ${node.server}` : null;
  };
  return (before, now) => {
    const [was, is] = [entering(base.graph, before), entering(graph, now)];
    if (!was.every(tracks(base.chains, before[0]!)) || !is.every(tracks(chains, now[0]!))) return false;
    const known = was.map(({ from, key }) => `${placeOf(base.graph, from)} ${key}`);
    return is.every(({ from, key }) => {
      const place = placeOf(graph, from);
      return place !== null && known.includes(`${place} ${key}`);
    });
  };
}

/** Splits that keep flows and move, by the NF whose flows they are. */
function forgetfulSplits({ graph }: Plan, moved: readonly string[]): ReadonlyMap<string, string[]> {
  const splits = graph.nodes.flatMap((node) =>
    node.kind === 'split' && node.tracks && moved.includes(node.id) ? [node] : [],
  );
  const byNf = grouped(splits, ({ chain_id, node_id }) => `${chain_id} ${node_id}`);
  return new Map([...byNf].map(([nf, those]) => [nf, those.map(({ id }) => id)]));
}

/** By what the flows of an NF are shared out; one that follows another NF's split has none itself. */
function hashOf(splits: Plan['splits'], { chain_id, node_id }: Instance): string {
  const found = splits.find((it) => it.chain_id === chain_id && it.node_id === node_id);
  return found ? `${found.at} ${found.key.join()}` : '';
}

function idsWithout(those: readonly Instance[], others: readonly Instance[], given: ReadonlySet<string>): string[] {
  const known = new Set(others.map(({ id }) => id));
  return those.flatMap(({ id }) => (known.has(id) || given.has(id) ? [] : [id]));
}

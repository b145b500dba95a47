import {
  type Deployment,
  type FlowRange,
  type Instance,
  type NfRef,
  type NfSplit,
  nfInstances,
  type Plan,
  type PlannedChain,
  type PlannedSplit,
  type Scaling,
  type SlotRef,
} from '@orrery/contract';
import { equalRanges } from '@orrery/planner';

/** An NF of a plan as far as scaling is concerned. */
export interface RunningNf {
  /** By ordinal. */
  readonly instances: readonly Instance[];
  /** By ordinal; empty: one instance takes all flows. */
  readonly ranges: readonly FlowRange[];
  readonly split: PlannedSplit | null;
  /** Who gives flows to its instances. */
  readonly at: PlannedSplit['at'];
  /** The same by name, place and what is hashed. */
  readonly sharers: string;
  /** Whether flows in progress are known to who splits them, so that they stay when ranges change. */
  readonly tracked: boolean;
  /** It was asked that flows in progress follow the ranges, so that none are tracked. */
  readonly waived: boolean;
  /** What is asked of its split; undefined: nothing. */
  readonly asked: NfSplit | undefined;
  readonly chain: PlannedChain | undefined;
}

/** Null: it does not run. */
export function runningNf(
  plan: Pick<Plan, 'graph' | 'chains' | 'splits'> | null,
  { chain_id, node_id }: NfRef,
): RunningNf | null {
  const instances = nfInstances(plan?.graph)
    .filter((it) => it.chain_id === chain_id && it.node_id === node_id)
    .toSorted((a, b) => a.ordinal - b.ordinal);
  if (!plan || instances.length === 0) return null;
  const split = plan.splits.find((it) => it.chain_id === chain_id && it.node_id === node_id) ?? null;
  const ids = new Set(instances.map(({ id }) => id));
  const entering = plan.graph.edges.filter(({ to, direction }) => ids.has(to) && direction === 'forward');
  const at = entering.some(({ from }) => from === null) ? 'switch' : 'engine';
  const hashed = entering.length > 0 && entering.every(({ key }) => key.length > 0);
  const sharers = new Set(entering.map(({ from, from_server, key }) => JSON.stringify([from, from_server, key])));
  const chain = plan.chains.find((it) => it.chain_id === chain_id);
  const asked = chain?.splits?.find((it) => it.node_id === node_id);
  const waived = asked?.keep_flows === null;
  const bySwitch = asked?.keep_flows != null && !asked.staged;
  const alone = at === 'engine' ? !waived : bySwitch;
  const kept = instances.length === 1 ? alone : split !== null && split.keep_flows !== null;
  const byId = new Map(split?.targets.map(({ instance_id, range }) => [instance_id, range]));
  const ranges = instances.flatMap(({ id }) => byId.get(id) ?? []);
  return {
    instances,
    ranges: instances.length === 1 ? [] : ranges.length > 0 ? ranges : equalRanges(instances.length),
    split,
    at,
    sharers: [...sharers].toSorted().join(),
    tracked: hashed && kept,
    waived,
    asked,
    chain,
  };
}

export function isDeployed(deployment: Deployment | undefined): deployment is Deployment {
  return deployment !== undefined && deployment.state !== 'undeploying';
}

/** Why what a change of numbers of instances builds on is not there any more; null: it is. */
export function whyNotThere(
  deployment: Deployment | undefined,
  { base_operation, steps, step }: Pick<Scaling, 'base_operation' | 'steps' | 'step'>,
): string | null {
  if (!isDeployed(deployment)) return 'The chain is not deployed any more.';
  // Ranges go back wherever they are as they were drained.
  if (base_operation === null || steps[step] === 'restore') return null;
  return deployment.operation_id === base_operation ? null : 'Somebody else deployed the chain anew meanwhile.';
}

/** Why numbers of instances of what belongs to another loop do not change. `owner`: of the chain. */
export function whyNotOfOthers(owner: string): string {
  return `The chain belongs to ${owner}: each of its NFs has one instance.`;
}

/** What has to change the chain before its numbers of instances do, where these slots do not work; null: nothing. */
export function lostBoard(plan: Plan | null, chainId: string, broken: readonly SlotRef[]): string | null {
  const lost = nfInstances(plan?.graph).find(
    ({ chain_id, board: on }) =>
      chain_id === chainId && on && broken.some(({ board, slot }) => board === on.board && slot === on.slot),
  );
  return lost ? `${lost.id} has lost its board, and goes first` : null;
}

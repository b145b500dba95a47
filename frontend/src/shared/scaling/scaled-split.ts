import {
  FLOW_SPACE,
  KeepFlows,
  type NfRef,
  type NfSplit,
  nfInstances,
  type Plan,
  type ScaledFlows,
  type ScalingStep,
  type StagedSplit,
} from '@orrery/contract';

type Running = Pick<Plan, 'chains' | 'splits' | 'graph'>;

/** How an NF gets another number of instances. */
export interface ScaledWay {
  /** The steps that the server takes. */
  readonly steps: readonly ScalingStep[];
  /** With what they begin, so that flows in progress are known before the number changes; null: they are, or need not be. */
  readonly first: NfSplit | null;
  /** In what they end; planned on top of `first`. */
  readonly last: NfSplit;
  /** Engines or switches know all flows in progress after so long. */
  readonly idle_timeout_s: number;
}

interface ScaledWish {
  readonly instances: number;
  readonly flows: ScaledFlows;
  /** Whether a flow needs the instance that has its state. */
  readonly isStateful: boolean;
}

/** As the server does it (decisions 0062 and 0063): flows of a first NF that switches share out are tracked by engines first. */
export function scaledWay(plan: Running, nf: NfRef, { instances, flows, isStateful }: ScaledWish): ScaledWay {
  const { from, asked, bySwitches, isTracked, ranges } = runningOf(plan, nf);
  const { node_id } = nf;
  const free = !isStateful && !asked?.staged;
  const inSteps = asked?.staged !== undefined || (bySwitches && flows === 'keep' && !isTracked && !free);
  const isKnown = isTracked || free || (bySwitches && !inSteps);
  const { idle_timeout_s } = asked?.staged ?? asked?.keep_flows ?? KeepFlows.parse({});
  const held = asked?.staged?.held ?? (ranges.length > 0 ? ranges : [{ lo: 0, hi: FLOW_SPACE }]);
  const staged = inSteps ? { exceptions: [], ...asked?.staged, held: [...held], idle_timeout_s } : undefined;
  const now = { node_id, instances: from, ...(ranges.length > 0 ? { ranges: [...ranges] } : {}) };
  return {
    steps: stepsOf(from, instances, flows, free, isKnown ? null : inSteps ? 'stage' : 'track'),
    first: isKnown ? null : { ...now, ...(staged ? { staged } : {}) },
    last: scaledSplit(node_id, instances, staged),
    idle_timeout_s,
  };
}

/** Of an NF that is split in steps, switches keep the ranges that they have, unless one goes to which they send flows. */
function scaledSplit(node_id: string, instances: number, staged: StagedSplit | undefined): NfSplit {
  if (!staged) return { node_id, instances };
  const isLeft = (staged.held ?? []).length > instances;
  return isLeft ? { node_id, instances, keep_flows: null } : { node_id, instances, staged };
}

function stepsOf(
  from: number,
  to: number,
  flows: ScaledFlows,
  free: boolean,
  track: 'stage' | 'track' | null,
): readonly ScalingStep[] {
  if (free) return ['resize'];
  const before: ScalingStep[] = track ? [track, 'settle'] : [];
  const move: ScalingStep[] = flows === 'migrate' ? ['move'] : [];
  return to > from ? [...before, 'resize', ...move] : [...before, 'drain', ...move, 'empty', 'resize'];
}

function runningOf({ chains, splits, graph }: Running, { chain_id, node_id }: NfRef) {
  const isOf = (it: NfRef) => it.chain_id === chain_id && it.node_id === node_id;
  const own = nfInstances(graph).filter(isOf);
  const ids = new Set(own.map(({ id }) => id));
  const entering = graph.edges.filter(({ to, direction }) => ids.has(to) && direction === 'forward');
  const bySwitches = entering.some(({ from }) => from === null);
  const isHashed = entering.length > 0 && entering.every(({ key }) => key.length > 0);
  const chain = chains.find((it) => it.chain_id === chain_id);
  const asked = chain?.splits?.find((it) => it.node_id === node_id);
  const split = splits.find(isOf);
  const isAloneKept = bySwitches ? asked?.keep_flows != null && !asked.staged : asked?.keep_flows !== null;
  const isKept = own.length === 1 ? isAloneKept : split !== undefined && split.keep_flows !== null;
  const ranges = split?.targets.map(({ range }) => range) ?? [];
  return { from: own.length, asked, bySwitches, isTracked: isHashed && isKept, ranges };
}

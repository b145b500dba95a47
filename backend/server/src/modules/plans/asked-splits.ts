import {
  type DeploymentOptions,
  type FieldError,
  type FlowRange,
  type NfSplit,
  nfInstances,
  type Plan,
  type PlannedChain,
  type PlanRequest,
} from '@orrery/contract';
import { equalRanges, scaledRanges, whyNotInSteps } from '@orrery/planner';

/** Ranges and numbers of instances of the request that a feasible plan cannot have. */
export function unfitSplits({ chains }: PlanRequest, { feasible, graph }: Plan): FieldError[] {
  if (!feasible) return [];
  const nodes = nfInstances(graph);
  return chains.flatMap(({ chain_id, splits = [] }, i) =>
    splits.flatMap(({ node_id, ranges, instances: asked }, j): FieldError[] => {
      const instances = nodes.filter((it) => it.chain_id === chain_id && it.node_id === node_id).length;
      if (asked && asked !== instances) {
        const detail = `is not the ${instances} that it can have as it runs: on a board it is one`;
        return [{ pointer: `/chains/${i}/splits/${j}/instances`, detail, code: 'one-instance' }];
      }
      if (!ranges || ranges.length === instances) return [];
      const detail = `has ${ranges.length} ranges for ${instances} instance${instances === 1 ? '' : 's'}`;
      return [{ pointer: `/chains/${i}/splits/${j}/ranges`, detail, code: 'wrong-number' }];
    }),
  );
}

/** The last word on each NF that the chain has, but for those that leave everything to the default. */
export function splitsOf(all: readonly NfSplit[], chain: PlannedChain): NfSplit[] {
  const byNode = new Map(all.map((split) => [split.node_id, split]));
  return [...byNode.values()].filter(
    ({ node_id, ranges, keep_flows, instances, staged }) =>
      hasNf(chain, node_id) && [ranges, keep_flows, instances, staged].some((it) => it !== undefined),
  );
}

/**
 * What is asked of splits, with the number of instances as it is now where none is given. A new number leaves the rest as it is
 * but for the ranges, of which as little as possible changes hands (E2 3.4.3).
 */
export function scaled(asked: readonly NfSplit[], now: PlannedChain | undefined, base: Plan | null): NfSplit[] {
  return asked.map(({ instances, ...split }) => {
    const was = now?.splits?.find(({ node_id }) => node_id === split.node_id);
    if (instances === undefined) return { ...split, ...(was?.instances ? { instances: was.instances } : {}) };
    const { instances: _count, ranges: _ranges, staged: _staged, ...kept } = was ?? { node_id: split.node_id };
    if (instances === null || instances === 1) return { ...kept, ...split, ...(instances ? { instances } : {}) };
    const ranges = now && !split.ranges ? { ranges: scaledRanges(rangesIn(base, now, split.node_id), instances) } : {};
    return { ...kept, ...split, ...ranges, instances };
  });
}

/** The ranges of the instances that an NF has, by ordinal. */
function rangesIn(base: Plan | null, { chain_id }: PlannedChain, nodeId: string): FlowRange[] {
  const split = base?.splits.find((it) => it.chain_id === chain_id && it.node_id === nodeId);
  const own = nfInstances(base?.graph).filter((it) => it.chain_id === chain_id && it.node_id === nodeId);
  const ranges = new Map(split?.targets.map(({ instance_id, range }) => [instance_id, range]));
  const ordered = own.toSorted((a, b) => a.ordinal - b.ordinal).flatMap(({ id }) => ranges.get(id) ?? []);
  return ordered.length > 0 ? ordered : equalRanges(Math.max(1, own.length));
}

/** Whether the split of the NF is changing in steps, or switches hold exceptions of it. */
export function isInSteps(now: Pick<PlannedChain, 'splits'> | undefined, nodeId: string): boolean {
  return now?.splits?.find(({ node_id }) => node_id === nodeId)?.staged !== undefined;
}

/** Why the switches cannot go on with the ranges that a split in steps holds; null: they have these. */
function flawOfHeld({ node_id, staged }: NfSplit, now: PlannedChain | undefined, base: Plan | null): string | null {
  const held = staged?.held;
  if (!held || !now) return null;
  const was = now.splits?.find((it) => it.node_id === node_id)?.staged?.held;
  const at = base?.splits.find((it) => it.chain_id === now.chain_id && it.node_id === node_id)?.at;
  const has = was ?? (at === 'engine' ? equalRanges(1) : rangesIn(base, now, node_id));
  return textOf(held) === textOf(has) ? null : `is not what the switches have: ${shortened(textOf(has))}`;
}

/** Why the switches cannot get other ranges in the last step of a split; null: none, or engines know the flows in progress. */
function flawOfUnheld(
  { node_id, staged, ranges, instances, keep_flows }: NfSplit,
  now: PlannedChain | undefined,
  base: Plan | null,
): string | null {
  if (!staged || staged.held || keep_flows === null || !now) return null;
  const isTracked = base?.graph.nodes.some(
    (node) =>
      node.kind === 'split' &&
      node.in_front_of !== undefined &&
      node.chain_id === now.chain_id &&
      node.node_id === node_id,
  );
  if (isTracked) return null;
  const has = rangesIn(base, now, node_id);
  const wanted = ranges ?? (instances ? scaledRanges(has, instances) : equalRanges(has.length));
  if (textOf(wanted) === textOf(has)) return null;
  const kept = shortened(textOf(has));
  return `is missing: no engine knows the flows in progress, which would lose their state by other ranges than ${kept}; give these as \`held\` first`;
}

/** `now`: the chain as it runs by the plan `base`. */
export function unknownSplits(
  { splits = [], execution }: DeploymentOptions,
  chain: PlannedChain,
  now: PlannedChain | undefined,
  base: Plan | null,
  pointer: string,
): FieldError[] {
  return splits.flatMap((split, i): FieldError[] => {
    const { node_id, staged, keep_flows } = split;
    const at = `${pointer}/${i}/node_id`;
    if (!hasNf(chain, node_id))
      return [{ pointer: at, detail: `the chain has no NF ${node_id}`, code: 'unknown-node' }];
    const unstaged = staged && whyNotInSteps(chain, node_id, execution);
    if (unstaged) return [{ pointer: `${pointer}/${i}/staged`, detail: unstaged, code: 'not-in-steps' }];
    const unheld = flawOfHeld(split, now, base);
    if (unheld) return [{ pointer: `${pointer}/${i}/staged/held`, detail: unheld, code: 'other-ranges' }];
    const untracked = flawOfUnheld(split, now, base);
    if (untracked) return [{ pointer: `${pointer}/${i}/staged/held`, detail: untracked, code: 'not-tracked' }];
    if (!staged && keep_flows !== null && isInSteps(now, node_id)) {
      const detail = `${node_id} is split in steps: give \`staged\`, or \`keep_flows: null\` where flows in progress may lose their state`;
      return [{ pointer: `${pointer}/${i}/staged`, detail, code: 'in-steps' }];
    }
    const isTwice = splits.findIndex((other) => other.node_id === node_id) < i;
    return isTwice ? [{ pointer: at, detail: `${node_id} is named twice`, code: 'duplicate-id' }] : [];
  });
}

function textOf(ranges: readonly FlowRange[]): string {
  return ranges.map(({ lo, hi }) => `[${lo}, ${hi})`).join(', ');
}

function shortened(text: string): string {
  return text.length > 300 ? `${text.slice(0, 299)}…` : text;
}

function hasNf({ definition }: PlannedChain, nodeId: string): boolean {
  return definition.nodes.some(({ id, kind }) => id === nodeId && kind === 'nf');
}

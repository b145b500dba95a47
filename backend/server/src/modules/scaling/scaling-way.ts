import {
  KeepFlows,
  type NfSplit,
  type ScaleRequest,
  type Scaling,
  type ScalingPreview,
  type ScalingStep,
  type StagedSplit,
} from '@orrery/contract';
import { flawOfSteps, numbersOf, scaledRanges, stagedBy, whyNotInSteps } from '@orrery/planner';
import { conflict, invalid } from '../../platform/problem.js';
import type { NfDescriptors } from '../../ports/descriptor-catalogue.js';
import type { RunningNf } from './running-nf.js';
import { instancesText } from './scalings.js';

/** Entries that a switch spends on flows in progress, of the 2,048 that E2 3.6.2 assumes. */
const SWITCH_FLOWS = 1024;

type Change = Pick<Scaling, 'nf' | 'from' | 'to' | 'before' | 'after'>;
type Asked = Pick<NfSplit, 'staged' | 'keep_flows'> | undefined;

/** Another number of instances, as far as it decides on the steps. */
export interface ScaledWish extends Pick<ScaleRequest, 'instances' | 'flows'> {
  /** Ordinal of the instance whose range is halved first; absent: the widest. */
  readonly split?: number;
  /** Switches are to keep flows, by an entry each. */
  readonly bySwitches?: boolean;
}

/** What the plan does not say. */
interface Circumstances {
  readonly catalogue: Pick<NfDescriptors, 'find'>;
  /** Flows may be in progress that who tracks them does not know: they have not sent a packet since. */
  readonly isUnsettled: boolean;
}

/** How an NF gets another number of instances, or its flows become known. */
export type ScalingWay = Change & Pick<ScalingPreview, 'steps' | 'splits' | 'idle_timeout_s'>;

/** Throws 409, and 422 with the field of the wish. */
export function scalingWay(running: RunningNf, wish: ScaledWish, circumstances: Circumstances): ScalingWay {
  const { chain_id, node_id } = running.instances[0]!;
  const { instances: to, split } = wish;
  const before = [...running.ranges];
  const change: Change = {
    nf: { chain_id, node_id },
    from: running.instances.length,
    to,
    before,
    after: to === 1 ? [] : scaledRanges(before, to, split),
  };
  const steps = stepsOf(running, change, wish, circumstances);
  const splits = splitsOf(running, change, steps);
  return { ...change, steps, splits, idle_timeout_s: idleTimeoutOf({ ...running.asked, ...splits[0] }) };
}

/**
 * What a step asks of the split. `now`: what there is before it; null: nothing runs. `exceptions`: flows that switches are to keep
 * elsewhere than their ranges say.
 */
export function splitOfStep(
  change: Change,
  step: ScalingStep,
  now: { readonly at: RunningNf['at']; readonly asked: Asked } | null,
  exceptions: StagedSplit['exceptions'] = [],
): NfSplit {
  const bySwitches = step === 'track' && now?.at === 'switch' && !now.asked?.keep_flows;
  const staged = stagedBy(change, step, now?.asked, exceptions);
  return {
    node_id: change.nf.node_id,
    ...numbersOf(change, step),
    ...(bySwitches ? { keep_flows: KeepFlows.parse({ capacity: SWITCH_FLOWS }) } : {}),
    ...(staged ? { staged } : {}),
  };
}

/** How long it takes until engines or switches that track flows know all in progress. */
export function idleTimeoutOf(asked: Asked): number {
  return (asked?.staged ?? asked?.keep_flows ?? KeepFlows.parse({})).idle_timeout_s;
}

/** Whether flows of the NF may meet any instance, so that none has to stay. */
export function keepsNothing({ instances }: RunningNf, catalogue: Pick<NfDescriptors, 'find'>): boolean {
  return (catalogue.find(instances[0]!.nf)?.affinity ?? []).length === 0;
}

/** Why the flows of a first NF cannot become known to engines in front of its instances; null: they can. */
export function whyNoEngines({ instances, chain }: RunningNf): string | null {
  const { node_id } = instances[0]!;
  if (!chain) return `${node_id} does not run`;
  if (instances.some(({ driver }) => driver === 'board')) return `${node_id} runs on a board, with one instance`;
  return whyNotInSteps(chain, node_id, chain.execution);
}

/** Of the steps by which flows become known and the number changes: each is planned on top of the one before. */
function splitsOf({ at, asked }: RunningNf, change: Change, steps: readonly ScalingStep[]): NfSplit[] {
  const splits: NfSplit[] = [];
  for (const step of steps)
    if (step === 'track' || step === 'stage' || step === 'resize')
      splits.push(splitOfStep(change, step, { at, asked: { ...asked, ...splits.at(-1) } }));
  return splits;
}

function stepsOf(
  running: RunningNf,
  change: Change,
  { flows, bySwitches }: ScaledWish,
  { catalogue, isUnsettled }: Circumstances,
): ScalingStep[] {
  const { from, to, nf } = change;
  const { tracked, at, waived, asked } = running;
  const name = nf.node_id;
  const isStaged = asked?.staged !== undefined;
  const free = keepsNothing(running, catalogue) && !isStaged;
  const refused = (pointer: string, detail: string, code: string) => invalid([{ pointer, detail, code }]);
  const most = catalogue.find(running.instances[0]!.nf)?.scaling.max_instances ?? to;
  if (to > most)
    throw refused('/instances', `is above ${instancesText(most)}, the most that ${name} allows`, 'above-limit');
  if (bySwitches && (at === 'engine' || isStaged))
    throw conflict(
      isStaged
        ? `${name} is split in steps: engines keep its flows, and no switch does by an entry each.`
        : `An engine shares out the flows of ${name}, no switch: none can keep them.`,
    );
  if (waived && !free && (at === 'engine' || flows === 'keep')) {
    const waiver = `flows of ${name} follow its ranges, as \`keep_flows: null\` of its split asks`;
    // They would follow an engine's new ranges before their state has moved.
    const instead = at === 'engine' ? 'ask for `keep_flows` first' : 'they could only migrate';
    throw refused('/flows', `${waiver}: ${instead}`, 'not-tracked');
  }
  if (isStaged && flows === 'migrate')
    throw refused('/flows', `${name} is split in steps: its flows stay until they end, and none moves`, 'in-steps');
  const isUnknown = at === 'switch' && flows === 'keep' && !tracked && !free && !bySwitches;
  const why = isUnknown ? whyNoEngines(running) : null;
  const inSteps = isStaged || (isUnknown && why === null);
  const mayTrack = tracked || at === 'engine' || bySwitches === true || inSteps;
  const knows = mayTrack || free;
  if (!knows && flows === 'keep')
    throw refused(
      '/flows',
      `switches share out the flows of ${name} and know none of those in progress: these could only migrate. ${why}`,
      'not-tracked',
    );
  const flaw = inSteps ? flawOfSteps(change, asked?.staged) : null;
  if (flaw !== null) throw refused('/instances', flaw, 'in-steps');
  const known = (tracked && !isUnsettled) || free || !mayTrack;
  const track: ScalingStep[] = known ? [] : [inSteps ? 'stage' : 'track', 'settle'];
  if (to === from) {
    if (tracked || track.length === 0)
      throw refused('/instances', `${name} has ${instancesText(from)} already`, 'unchanged');
    return track;
  }
  if (free) return ['resize'];
  const move: ScalingStep[] = flows === 'migrate' ? ['move'] : [];
  return to > from ? [...track, 'resize', ...move] : [...track, 'drain', ...move, 'empty', 'resize'];
}

import type {
  LoadKind,
  LoadPolicy,
  LoadThreshold,
  ReconfigurationPolicy,
  ReconfigurationPolicyRequest,
} from '@orrery/contract';
import { nfKey } from '../../shared/api/chains.js';
import { type Entry, type NumberBounds, numberProblem } from '../../shared/format/number.js';
import { parseSlot, slotValue } from './move-draft.js';

export type Metric = LoadThreshold['metric'];

/** Entries are in these units of the metric. */
export const METRIC_UNITS: Record<Metric, { readonly label: string; readonly suffix: string; readonly scale: number }> =
  {
    bps: { label: 'Throughput', suffix: ' Mbit/s', scale: 1e6 },
    pps: { label: 'Packets', suffix: ' kpkt/s', scale: 1e3 },
    cpu: { label: 'CPU', suffix: ' % of a core', scale: 0.01 },
  };

/** What the form holds. NFs are named by `nfKey`, slots by `slotValue`. */
export interface PolicyDraft {
  readonly title: string;
  readonly enabled: boolean;
  readonly nf: string;
  readonly metric: Metric;
  readonly up: Entry;
  readonly down: Entry;
  readonly for_s: Entry;
  readonly displaces: readonly string[];
  /** Empty: any slot that fits. */
  readonly slot: string;
  readonly load: LoadKind;
  readonly policy: LoadPolicy;
  readonly priority: Entry;
  readonly cooldown_s: Entry;
}

export const NEW_POLICY: PolicyDraft = {
  title: '',
  enabled: true,
  nf: '',
  metric: 'bps',
  up: '',
  down: '',
  for_s: 3,
  displaces: [],
  slot: '',
  load: 'partial',
  policy: 'hold',
  priority: 50,
  cooldown_s: 10,
};

/** Without the digits that a division by the scale leaves behind. */
const inUnit = (value: number, metric: Metric) => Number((value / METRIC_UNITS[metric].scale).toPrecision(12));
const fromUnit = (entry: Entry, metric: Metric) => Number((Number(entry) * METRIC_UNITS[metric].scale).toPrecision(12));

export function draftOfPolicy(policy: ReconfigurationPolicy): PolicyDraft {
  const { title, enabled, nf, threshold, displaces, slot, load, priority, cooldown_s } = policy;
  const { metric, up, down, for_s } = threshold;
  return {
    title,
    enabled,
    nf: nfKey(nf),
    metric,
    up: inUnit(up, metric),
    down: inUnit(down, metric),
    for_s,
    displaces: displaces.map(nfKey),
    slot: slot ? slotValue(slot) : '',
    load,
    policy: policy.policy,
    priority,
    cooldown_s,
  };
}

type NumberName = 'up' | 'down' | 'for_s' | 'priority' | 'cooldown_s';
/** As the contract has them, so that what is wrong is said before it is sent. */
export const BOUNDS: Readonly<Record<NumberName, NumberBounds>> = {
  up: { min: 0.000001 },
  down: { min: 0 },
  for_s: { min: 0.5, max: 600 },
  priority: { min: 0, max: 100, whole: true },
  cooldown_s: { min: 0, max: 3600 },
};

export function policyProblems(draft: PolicyDraft): Readonly<Record<string, string>> {
  const problems: Record<string, string> = {};
  for (const name of Object.keys(BOUNDS) as NumberName[]) {
    const problem = numberProblem(BOUNDS[name], draft[name]);
    if (problem) problems[name] = name === 'up' ? 'A number above 0' : problem;
  }
  if (!problems.up && !problems.down && Number(draft.down) >= Number(draft.up))
    problems.down = 'Must be below the upper threshold';
  if (draft.title.trim() === '') problems.title = 'Give it a name';
  if (draft.nf === '') problems.nf = 'Choose one';
  return problems;
}

function refOf(key: string) {
  const [pipeline_id = '', node_id = ''] = key.split(' ');
  return { pipeline_id, node_id };
}

/** The request of a draft that has no problem. */
export function policyRequest(draft: PolicyDraft): ReconfigurationPolicyRequest {
  const { metric, load, policy, enabled } = draft;
  return {
    title: draft.title.trim(),
    enabled,
    nf: refOf(draft.nf),
    threshold: {
      metric,
      up: fromUnit(draft.up, metric),
      down: fromUnit(draft.down, metric),
      for_s: Number(draft.for_s),
    },
    displaces: draft.displaces.map(refOf),
    slot: parseSlot(draft.slot),
    load,
    policy,
    priority: Number(draft.priority),
    cooldown_s: Number(draft.cooldown_s),
  };
}

/** Where on its bar a load and its thresholds lie, from 0 to 1. */
export function thresholdPlaces(threshold: Pick<LoadThreshold, 'up' | 'down'>, load: number | null) {
  const full = Math.max(threshold.up * 1.25, load ?? 0);
  return {
    up: threshold.up / full,
    down: threshold.down / full,
    load: load === null ? null : load / full,
  };
}

import type { Reconfiguration, ReconfigurationStage, StageRecord } from '@orrery/contract';
import { countText } from '../../shared/format/number.js';

export const STAGE_NAMES: Record<ReconfigurationStage, string> = {
  detection: 'Detection',
  update: 'Update',
  configuration: 'Configuration',
  response: 'Response',
};

/** What each stage does (CoNFV IV-D). */
export const STAGE_WORDS: Record<ReconfigurationStage, string> = {
  detection: 'a load crosses its threshold, or a move is requested',
  update: 'the slot is vacated, and traffic is routed around it',
  configuration: 'the bitstream is loaded and the module is configured',
  response: 'traffic is routed to the new place',
};

interface StageSpan {
  readonly stage: ReconfigurationStage;
  readonly state: StageRecord['state'];
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Stages that have begun; the running one lasts until now. */
export function stageSpans({ stages }: Pick<Reconfiguration, 'stages'>, now: number): StageSpan[] {
  return stages.flatMap(({ stage, state, started_ms, ended_ms }) => {
    if (started_ms === null || state === 'skipped') return [];
    return [{ stage, state, from_ms: started_ms, to_ms: Math.max(started_ms, ended_ms ?? now) }];
  });
}

interface StageSegment extends StageSpan {
  readonly duration_ms: number;
  /** Part of the bar's width. */
  readonly share: number;
}

/** Minimum width, to keep very short stages visible. */
const LEAST_SHARE = 0.03;

/** Stages side by side, with widths proportional to their durations. */
export function stageSegments(reconfiguration: Pick<Reconfiguration, 'stages'>, now: number): StageSegment[] {
  const spans = stageSpans(reconfiguration, now).map((span) => ({ ...span, duration_ms: span.to_ms - span.from_ms }));
  const whole = spans.reduce((sum, { duration_ms }) => sum + duration_ms, 0);
  const raised = spans.map(({ duration_ms }) => Math.max(LEAST_SHARE, whole === 0 ? 1 : duration_ms / whole));
  const sum = raised.reduce((total, share) => total + share, 0);
  return spans.map((span, index) => ({ ...span, share: raised[index]! / sum }));
}

/** Time from the start until now or the end. */
export function reconfigurationMs({ started_ms, ended_ms }: Reconfiguration, now: number): number {
  return Math.max(0, (ended_ms ?? now) - started_ms);
}

const CAUSES: Record<Reconfiguration['cause'], string> = {
  'load-high': 'load above its threshold',
  'load-low': 'load below its threshold',
  manual: 'requested by hand',
  fallback: 'fall-back: the board cannot serve',
  lending: 'its slot is lent in turn',
};
export function causeText(cause: Reconfiguration['cause']): string {
  return CAUSES[cause];
}

/** Reconfigurations as marked periods on a chart. */
export function bandsOf(reconfigurations: readonly Reconfiguration[], now: number) {
  return reconfigurations
    .filter(({ state }) => state !== 'refused')
    .map(({ started_ms, ended_ms }) => ({ from_ms: started_ms, to_ms: ended_ms ?? now }));
}

/** Whether it is over and has loaded nothing into a slot, as a move to software where the slot keeps its module. */
export function loadedNothing({ state, stages }: Pick<Reconfiguration, 'state' | 'stages'>): boolean {
  const loading = stages.find(({ stage }) => stage === 'configuration')?.started_ms ?? null;
  return state !== 'running' && loading === null;
}

/** Frames lost during loads; reported when a load ends, or never if its agent disconnects. */
export function packetsLostText({
  packets_lost,
  state,
  stages,
}: Pick<Reconfiguration, 'packets_lost' | 'state' | 'stages'>) {
  if (packets_lost !== null) return countText(packets_lost);
  if (state === 'running') return 'not known yet';
  return loadedNothing({ state, stages }) ? '–' : 'not known';
}

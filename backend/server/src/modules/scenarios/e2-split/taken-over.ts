import type { Stage } from '../scenario.js';
import { SPLIT_NF } from './chain.js';

export interface TakenOver {
  /** Since the start of the run. */
  readonly at_s: number;
  /** Flows that the switches keep elsewhere than the ranges say. */
  readonly exceptions: number;
}

/** When the switches have taken over the split; null: not within the time. `since`: seconds since the start of the run. */
export async function takenOver(
  stage: Stage,
  chainId: string,
  seconds: number,
  since: () => number,
): Promise<TakenOver | null> {
  const params = { chain_id: chainId, node_id: SPLIT_NF };
  const end_s = since() + seconds;
  while (since() < end_s) {
    const { at, staged, handover } = await stage.api.call('getSplit', { params });
    if (at === 'switch') return { at_s: since(), exceptions: staged?.exceptions.length ?? 0 };
    await stage.wait(1, handover?.why ?? 'the switches are to take over the split');
  }
  return null;
}

/** How the switches came to share out the flows. */
export function compareHandover(stage: Stage, over: TakenOver | null, split_s: number): void {
  stage.figure({
    name: 'Time until the switches had taken over',
    unit: 's',
    published: null,
    here: over === null ? null : over.at_s - split_s,
    note: 'from the request to split, of which one idle time-out to know the flows in progress',
  });
  stage.figure({
    name: 'Flows that stay elsewhere at the hand-over',
    unit: 'flows',
    published: null,
    here: over?.exceptions ?? null,
    note: 'an entry each until they end',
  });
}

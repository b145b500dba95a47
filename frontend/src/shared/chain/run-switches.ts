import type { Operation } from '@orrery/contract';
import { FIRST_RUN, type RunOptions } from './run-options.js';

/** The last change of how a chain runs. */
export interface RunSwitch {
  readonly operation: Pick<Operation, 'id' | 'started_ms' | 'updated_ms' | 'by'>;
  readonly before: RunOptions;
  readonly after: RunOptions;
  /** The version that ran before. */
  readonly version: number;
  /** Nothing about the chain has changed since, so that the change can be undone. */
  readonly isLatest: boolean;
}

type Known = Pick<Operation, 'id' | 'state' | 'started_ms' | 'updated_ms' | 'by' | 'chains' | 'request'>;

/** The last change of how a chain runs among the completed operations, newest first; null: none is known. */
export function lastSwitch(operations: readonly Known[], chainId: string): RunSwitch | null {
  /** How it runs; null: not known, because the operation that began it is no longer listed. */
  let now: RunOptions | null = null;
  let found = null as RunSwitch | null;
  for (const operation of operations.toReversed()) {
    const change = operation.chains.find(({ chain_id }) => chain_id === chainId);
    if (operation.state !== 'COMPLETED' || !change) continue;
    if (found !== null) found = { ...found, isLatest: false };
    const { from_version, to_version } = change;
    if (to_version === null) {
      now = null;
      found = null;
      continue;
    }
    const asked = operation.request.chains.find(({ chain_id }) => chain_id === chainId);
    const before: RunOptions | null = from_version === null ? FIRST_RUN : now;
    now = runAs(before, asked);
    if (!before || !now || from_version === null || isSame(before, now)) continue;
    found = { operation, before, after: now, version: from_version, isLatest: true };
  }
  return found;
}

/** How a chain runs that is asked to run so; null where that cannot be told. */
function runAs(before: RunOptions | null, asked: Partial<RunOptions> | undefined): RunOptions | null {
  const execution = asked?.execution ?? before?.execution;
  const schedule = asked?.schedule ?? before?.schedule;
  return execution && schedule ? { execution, schedule } : null;
}

function isSame(a: RunOptions, b: RunOptions): boolean {
  return a.execution === b.execution && a.schedule === b.schedule;
}

import type { ChainDefinition, SloStatus } from '@orrery/contract';
import { StatusBadge } from '../ui/status-badge.js';
import { causeText } from './class-objective-text.js';
import classes from './slo-state.module.css';

interface SloStateProps {
  /** Undefined: nothing is known of it (yet). */
  readonly slo: SloStatus | undefined;
  /** Names the classes of an objective between two; undefined: not known. */
  readonly definition: ChainDefinition | undefined;
}

/** State of an objective, and why, where its figures do not say: as where no class had to give way to another. */
export function SloState({ slo, definition }: SloStateProps) {
  return (
    <>
      <StatusBadge state={slo?.state ?? 'no-data'} status={slo ? undefined : 'stale'} />
      {slo?.cause && <div className={classes.cause}>{causeText(slo.cause, definition)}</div>}
    </>
  );
}

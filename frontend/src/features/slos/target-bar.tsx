import type { SloStatus } from '@orrery/contract';
import { useCut } from '../../shared/stream/hooks.js';
import { shareOfTarget } from './objective.js';
import classes from './slos.module.css';

/** Right end of the bar, relative to the target. */
const FULL = 1.5;

const LIMITS: ReadonlySet<SloStatus['kind']> = new Set(['latency', 'loss', 'priority']);

/** Measured as a bar, predicted as a tick, the target as a line, all relative to the target. */
export function TargetBar({ slo }: { readonly slo: SloStatus }) {
  const cut = useCut();
  const measured = shareOfTarget(slo, slo.measured);
  const predicted = shareOfTarget(slo, slo.predicted);
  const percent = (share: number) => `${(Math.min(share, FULL) / FULL) * 100}%`;
  const limit = LIMITS.has(slo.kind) ? 'limit' : 'objective';
  const text = measured === null ? 'nothing measured' : `${(measured * 100).toFixed(0)} % of the ${limit}`;
  return (
    <span className={classes.bar} data-state={cut ? 'stale' : slo.state} role="img" aria-label={text} title={text}>
      {measured !== null && <span className={classes.fill} style={{ width: percent(measured) }} />}
      {predicted !== null && <span className={classes.tick} style={{ left: percent(predicted) }} />}
      <span className={classes.target} style={{ left: percent(1) }} />
    </span>
  );
}

import type { SloStatus } from '@orrery/contract';
import { usedShare } from './objective.js';
import classes from './slos.module.css';

/** Right end of the bar, relative to the target. */
const FULL = 1.5;

/** Measured as a bar, predicted as a tick, the target as a line, all relative to the target. */
export function TargetBar({ slo }: { readonly slo: SloStatus }) {
  const used = usedShare(slo);
  const predicted = slo.predicted === null ? null : usedShare({ ...slo, measured: slo.predicted });
  const percent = (share: number) => `${(Math.min(share, FULL) / FULL) * 100}%`;
  const text = used === null ? 'nothing measured' : `${(used * 100).toFixed(0)} % of the target is used`;
  return (
    <span className={classes.bar} data-state={slo.state} role="img" aria-label={text} title={text}>
      {used !== null && <span className={classes.fill} style={{ width: percent(used) }} />}
      {predicted !== null && <span className={classes.tick} style={{ left: percent(predicted) }} />}
      <span className={classes.target} style={{ left: percent(1) }} />
    </span>
  );
}

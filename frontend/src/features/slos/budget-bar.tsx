import type { SloBudget } from '@orrery/contract';
import { useCut } from '../../shared/stream/hooks.js';
import { leftText } from './budget.js';
import classes from './slos.module.css';

/** Below this share of the budget an operator should look. */
const LITTLE = 0.25;

/** What is left of a budget: the bar, and the same in words. */
export function BudgetBar({ budget }: { readonly budget: SloBudget | null }) {
  const cut = useCut();
  if (!budget) return <span className="muted">not counted yet</span>;
  const share = Math.max(0, Math.min(1, budget.left_share));
  const state = cut ? 'stale' : share === 0 ? 'violated' : share < LITTLE ? 'little' : 'met';
  return (
    <span className={classes.text}>
      <span className={classes.bar} data-state={state} aria-hidden>
        <span className={classes.fill} style={{ width: `${100 * share}%` }} />
      </span>
      <span className={classes.note}>{leftText(budget)}</span>
    </span>
  );
}

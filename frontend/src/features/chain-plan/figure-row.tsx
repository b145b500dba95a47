import type { Plan } from '@orrery/contract';
import { IconStarFilled } from '@tabler/icons-react';
import { alike, bestOf, deltaText, type Figure } from './compare.js';
import classes from './plan.module.css';

interface FigureRowProps {
  readonly figure: Figure;
  readonly plans: readonly (Plan | undefined)[];
  /** What each plan was made with. */
  readonly names: readonly string[];
  readonly chosenAt: number;
  readonly chainId: string;
}

/** One figure of every compared plan: the best is marked, the others differ from the chosen one. */
export function FigureRow({ figure, plans, names, chosenAt, chainId }: FigureRowProps) {
  const values = plans.map((plan) => (plan?.feasible ? figure.value(plan, chainId) : null));
  const best = bestOf(figure.better, values);
  const chosen = values[chosenAt] ?? null;
  return (
    <tr>
      <th scope="row">{figure.label}</th>
      {values.map((value, index) => {
        const isBest = value !== null && best !== null && alike(value, best);
        return (
          <td key={names[index]} className="number" data-chosen={index === chosenAt || undefined}>
            {value === null ? (
              <span className="muted">–</span>
            ) : (
              <>
                <span className={isBest ? classes.best : undefined}>
                  {isBest && <IconStarFilled size={10} aria-label="best" />} {figure.text(value)}
                </span>
                {index !== chosenAt && chosen !== null && (
                  <div className={classes.delta}>{deltaText(figure, value, chosen)}</div>
                )}
              </>
            )}
          </td>
        );
      })}
    </tr>
  );
}

import type { Plan } from '@orrery/contract';
import { Link } from 'react-router';
import { ownerOf } from '../../editor-model/problems.js';
import { chainPath, useChainTitle } from '../../shared/api/chains.js';
import { constraintText, remedyText, sentence } from '../../shared/plan/plan-text.js';
import classes from './plan.module.css';

interface PlanProblemsProps {
  readonly plan: Plan;
  /** The chain that is planned. */
  readonly chainId: string;
}

/** Why there is no plan, what to change, and where; or the warnings of a plan. */
export function PlanProblems({ plan, chainId }: PlanProblemsProps) {
  const titleOf = useChainTitle();
  if (plan.problems.length + plan.conflicts.length === 0) return null;
  return (
    <section className={classes.problems} data-feasible={plan.feasible || undefined} aria-labelledby="plan-problems">
      <h2 id="plan-problems">
        {plan.feasible
          ? 'The plan can be deployed, but'
          : plan.conflicts.length > 0
            ? 'No feasible plan'
            : 'The chain cannot be planned'}
      </h2>
      <div role={plan.feasible ? undefined : 'alert'}>
        <ul className={classes.sentences}>
          {plan.conflicts.map((conflict) => (
            <li key={`${conflict.constraint}${conflict.where}${conflict.needed}`}>
              {constraintText(conflict)}. <span className={classes.remedy}>{remedyText(conflict, plan.chains)}</span>
            </li>
          ))}
          {plan.problems.map((problem) => (
            <li key={`${problem.chain_id}${problem.pointer}${problem.message}`}>
              {sentence(problem.message)}{' '}
              <Link to={placeOf(plan, problem)}>
                Show it in {titleOf(problem.chain_id)} <code>{problem.pointer}</code>
              </Link>
            </li>
          ))}
        </ul>
      </div>
      {!plan.feasible && plan.conflicts.length > 0 && (
        <p>
          <Link to={chainPath(chainId)}>Change the chain</Link>
        </p>
      )}
    </section>
  );
}

/** Link to the editor with the subject of the problem selected. */
function placeOf(plan: Plan, problem: Plan['problems'][number]): string {
  const definition = plan.chains.find(({ chain_id }) => chain_id === problem.chain_id)?.definition;
  const { node, edge } = definition ? ownerOf(definition, problem) : problem;
  const selection = node ? `node:${node}` : edge ? `edge:${edge}` : null;
  return chainPath(problem.chain_id) + (selection ? `?select=${encodeURIComponent(selection)}` : '');
}

import type { ImplementationChoice, Plan } from '@orrery/contract';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { call } from '../api/client.js';
import { usePlan } from '../api/queries.js';
import type { CallInput } from '../api/routes.js';
import { FormTrouble } from '../ui/form-trouble.js';
import { LoadingRows } from '../ui/states.js';
import { StatusBadge } from '../ui/status-badge.js';
import { moveReasons } from './move-reasons.js';
import { PlanChanges } from './plan-changes.js';
import classes from './plan-parts.module.css';
import { constraintText, remedyText, sentence } from './plan-text.js';
import { Predictions } from './predictions.js';

/** Choices that are planned one after the other, each on top of the plan before. */
export type MoveChoices = readonly (readonly ImplementationChoice[])[];

/**
 * Plans of a move, using the first feasible alternative or otherwise the last one, up to the first infeasible plan; new plans
 * for each request.
 */
export function useMovePlans(ways: readonly MoveChoices[] | null): UseQueryResult<readonly Plan[]> {
  return useQuery({
    ...KEPT,
    queryKey: ['move-plan', JSON.stringify(ways)],
    enabled: ways !== null,
    queryFn: ({ signal }) => firstFeasible(ways!, signal),
  });
}

export type RequestedPlan = CallInput<'createPlan'>['body'];

/**
 * Plans of requests that are shown before they are deployed, each on top of the one before, up to the first infeasible plan; new
 * plans each time. Null: nothing is requested yet.
 */
export function useRequestedPlans(requests: readonly RequestedPlan[] | null): UseQueryResult<readonly Plan[]> {
  return useQuery({
    ...KEPT,
    queryKey: ['requested-plans', JSON.stringify(requests)],
    enabled: requests !== null,
    queryFn: ({ signal }) => plansOf(requests!, signal),
  });
}

/** What is shown is what is done on consent: it is never replaced automatically. */
export const KEPT = {
  staleTime: 0,
  gcTime: 0,
  retry: false,
  refetchOnWindowFocus: false,
  refetchOnReconnect: false,
} as const;

async function firstFeasible(ways: readonly MoveChoices[], signal: AbortSignal): Promise<readonly Plan[]> {
  let plans: readonly Plan[] = [];
  for (const choices of ways) {
    const requests = choices.map((implementations) => ({ implementations: [...implementations] }));
    plans = await plansOf(requests, signal);
    if (plans.every(({ feasible }) => feasible)) break;
  }
  return plans;
}

async function plansOf(requests: readonly RequestedPlan[], signal: AbortSignal): Promise<readonly Plan[]> {
  const plans: Plan[] = [];
  for (const request of requests) {
    const before = plans.at(-1);
    const body = { ...request, ...(before && { on_top_of: before.id }) };
    plans.push(await call('createPlan', { body }, { signal, idempotencyKey: crypto.randomUUID() }));
    if (!plans.at(-1)!.feasible) break;
  }
  return plans;
}

/** Whether the whole move is feasible and changes something. */
export function canMove({ data, isFetching }: UseQueryResult<readonly Plan[]>): boolean {
  return (
    !isFetching &&
    data !== undefined &&
    data.every(({ feasible }) => feasible) &&
    data.some(({ steps }) => steps.length > 0)
  );
}

interface MovePreviewProps {
  readonly label?: string;
  readonly query: UseQueryResult<readonly Plan[]>;
  /** What to do before planning is possible; null: it is possible. */
  readonly first: string | null;
  /** Headings of the plans, where there are several. */
  readonly headings?: readonly string[];
  /** Shown before the steps of a plan. */
  readonly children?: (plan: Plan) => ReactNode;
}

/** Preview of a move, or of another change that is planned before it is made. */
export function MovePreview({ label = 'Plan of the move', query, first, headings = [], children }: MovePreviewProps) {
  const plans = query.data ?? [];
  return (
    <section className={classes.preview} aria-label={label} aria-live="polite">
      {first !== null ? (
        <p className="muted">{first}</p>
      ) : query.isFetching ? (
        <LoadingRows rows={4} />
      ) : query.error ? (
        <FormTrouble error={query.error} shown={[]} />
      ) : (
        plans.map((plan, i) => (
          <section key={plan.id}>
            {plans.length > 1 && <h2 className={classes.part}>{headings[i]}</h2>}
            <MovePlan plan={plan}>{children?.(plan)}</MovePlan>
          </section>
        ))
      )}
    </section>
  );
}

/** A plan that was made before, as it is shown before a change. */
export function StoredPlan({ id }: { readonly id: string }) {
  const { data, error } = usePlan(id);
  if (error) return <FormTrouble error={error} shown={[]} />;
  return data ? <MovePlan plan={data} /> : <LoadingRows rows={4} />;
}

/** Changes, reasons and predicted objectives of a plan, next to the current predictions; or why it is infeasible. */
function MovePlan({ plan, children }: { readonly plan: Plan; readonly children?: ReactNode }) {
  const { data: base } = usePlan(plan.base_plan);
  return (
    <>
      <p className={classes.verdict} role="status">
        <StatusBadge
          lasting
          state={plan.feasible ? 'ok' : 'failed'}
          label={plan.feasible ? 'feasible' : 'not feasible'}
        />
      </p>
      {plan.conflicts.length + plan.problems.length > 0 && (
        <ul className={classes.conflicts}>
          {plan.conflicts.map((conflict) => (
            <li key={`${conflict.constraint}${conflict.where}${conflict.needed}`}>
              {constraintText(conflict)}. <span className="muted">{remedyText(conflict, plan.chains)}</span>
            </li>
          ))}
          {plan.problems.map((problem) => (
            <li key={`${problem.chain_id}${problem.pointer}${problem.message}`}>{sentence(problem.message)}</li>
          ))}
        </ul>
      )}
      {plan.feasible && (
        <>
          {children}
          <PlanChanges plan={plan} />
          {moveReasons(plan).map((line) => (
            <p key={line} className={classes.because}>
              {line}
            </p>
          ))}
          {plan.slos.length > 0 && (
            <div className={classes.expected}>
              <Predictions slos={plan.slos} plan={plan} before={base?.slos} />
            </div>
          )}
        </>
      )}
    </>
  );
}

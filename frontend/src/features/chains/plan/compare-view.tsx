import { Button, Select } from '@mantine/core';
import type { Plan, PlanOptions } from '@orrery/contract';
import { IconCheck, IconStarFilled } from '@tabler/icons-react';
import { useQueries } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Panel } from '../../../shared/ui/page-header.js';
import type { PlanAddress } from './address.js';
import { alike, bestOf, deltaText, type Figure, figuresFor } from './compare.js';
import { DIMENSION_NAMES, DIMENSIONS, type Dimension } from './options.js';
import classes from './plan.module.css';
import { type Draft, planQuery } from './plan-query.js';

interface CompareProps {
  readonly draft: Draft;
  readonly pipelineId: string;
  readonly address: PlanAddress;
}

/** One plan for each way of a decision, all else as it is chosen, side by side. */
export function CompareView({ draft, pipelineId, address }: CompareProps) {
  const dimension = DIMENSION_NAMES.find((each) => each === address.selected('by')) ?? 'strategy';
  return (
    <Comparison
      key={`${dimension} ${draft.saved_ms}`}
      dimension={dimension}
      draft={draft}
      pipelineId={pipelineId}
      address={address}
    />
  );
}

function Comparison({ dimension, draft, pipelineId, address }: CompareProps & { readonly dimension: Dimension }) {
  const { choices } = DIMENSIONS[dimension];
  // One request after the other: the planner works on one at a time, and the first answers are there at once.
  const [reached, setReached] = useState(0);
  const results = useQueries({
    queries: choices.map(({ value }, index) => ({
      ...planQuery(draft, { ...address.options, [dimension]: value } as PlanOptions),
      enabled: index <= reached,
    })),
  });
  const pending = results.findIndex(({ data, error }) => !data && !error);
  const settled = pending === -1 ? choices.length : pending;
  useEffect(() => setReached(settled), [settled]);
  const chosenAt = choices.findIndex(({ value }) => value === address.options[dimension]);
  const plans = results.map(({ data }) => data);
  // Where no way leads to a plan there is nothing to compare.
  const none = settled === choices.length && plans.every((plan) => !plan?.feasible);
  const figures = none ? [] : figuresFor(dimension);
  return (
    <Panel
      title="Strategies side by side"
      actions={
        <>
          <span role="status" className="muted tabular">
            {settled < choices.length
              ? `Planning with ${choices[settled]!.label}, ${settled} of ${choices.length} done …`
              : `${choices.length} plans of the same draft`}
          </span>
          <Select
            aria-label="Compare by"
            className={classes.by}
            value={dimension}
            data={DIMENSION_NAMES.map((value) => ({ value, label: DIMENSIONS[value].label }))}
            onChange={(value) => address.select('by', value === 'strategy' ? null : value)}
          />
        </>
      }
      flush
    >
      {none && <p className={classes.notePadded}>None of them finds a plan, so that there is nothing to compare.</p>}
      <table className={`table ${classes.compare}`} aria-label={`${DIMENSIONS[dimension].label} compared`}>
        <thead>
          <tr>
            <th>Figure</th>
            {choices.map(({ value, label, note }, index) => (
              <th key={value} className="number" title={note} data-chosen={index === chosenAt || undefined}>
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">Plan</th>
            {results.map(({ data, error, isFetching }, index) => (
              <td key={choices[index]!.value} className="number" data-chosen={index === chosenAt || undefined}>
                <Outcome plan={data} error={error} isFetching={isFetching} />
              </td>
            ))}
          </tr>
          {figures.map((figure) => (
            <FigureRow
              key={figure.id}
              figure={figure}
              plans={plans}
              names={choices.map(({ value }) => value)}
              chosenAt={chosenAt}
              pipelineId={pipelineId}
            />
          ))}
          <tr>
            <th scope="row">
              <span className="sr-only">Choose</span>
            </th>
            {choices.map(({ value, label }, index) => (
              <td key={value} className="number" data-chosen={index === chosenAt || undefined}>
                {index === chosenAt ? (
                  <span className={classes.verdict}>
                    <IconCheck size={13} aria-hidden /> chosen
                  </span>
                ) : (
                  <Button
                    variant="default"
                    size="compact-xs"
                    aria-label={`Use ${label}`}
                    onClick={() => address.setOptions({ ...address.options, [dimension]: value } as PlanOptions)}
                  >
                    Use
                  </Button>
                )}
              </td>
            ))}
          </tr>
        </tbody>
      </table>
    </Panel>
  );
}

interface OutcomeProps {
  readonly plan: Plan | undefined;
  readonly error: Error | null;
  readonly isFetching: boolean;
}

function Outcome({ plan, error, isFetching }: OutcomeProps) {
  if (error)
    return (
      <span className={classes.bad} title={error.message}>
        refused
      </span>
    );
  if (!plan) return <span className="muted">{isFetching ? 'planning …' : 'waits'}</span>;
  return plan.feasible ? 'feasible' : <span className={classes.bad}>not feasible</span>;
}

interface FigureRowProps {
  readonly figure: Figure;
  readonly plans: readonly (Plan | undefined)[];
  readonly names: readonly string[];
  readonly chosenAt: number;
  readonly pipelineId: string;
}

function FigureRow({ figure, plans, names, chosenAt, pipelineId }: FigureRowProps) {
  const values = plans.map((plan) => (plan?.feasible ? figure.value(plan, pipelineId) : null));
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

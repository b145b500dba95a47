import { Button, Select } from '@mantine/core';
import type { Plan, PlanOptions } from '@orrery/contract';
import { IconCheck } from '@tabler/icons-react';
import { useQueries } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { Panel } from '../../shared/page/page-header.js';
import { DIMENSION_NAMES, DIMENSIONS, type Dimension } from '../../shared/plan/plan-choices.js';
import type { PlanAddress } from './address.js';
import { figuresFor } from './compare.js';
import { FigureRow } from './figure-row.js';
import classes from './plan.module.css';
import { type Draft, planQuery, previewQuery } from './plan-query.js';

interface CompareProps {
  readonly draft: Draft;
  readonly chainId: string;
  readonly address: PlanAddress;
}

/** One plan per alternative of a decision, with all other options as chosen, side by side. */
export function CompareView({ draft, chainId, address }: CompareProps) {
  const dimension = DIMENSION_NAMES.find((each) => each === address.selected('by')) ?? 'strategy';
  return (
    <Comparison
      key={`${dimension} ${draft.saved_ms}`}
      dimension={dimension}
      draft={draft}
      chainId={chainId}
      address={address}
    />
  );
}

function Comparison({ dimension, draft, chainId, address }: CompareProps & { readonly dimension: Dimension }) {
  const { choices } = DIMENSIONS[dimension];
  // Sequential requests: the planner handles one at a time, and the first results appear immediately.
  const [reached, setReached] = useState(0);
  const chosen = address.options[dimension];
  const results = useQueries({
    queries: choices.map(({ value }, index) => {
      const options = { ...address.options, [dimension]: value } as PlanOptions;
      // The chosen one is the plan of the page.
      return {
        ...(value === chosen ? planQuery : previewQuery)(draft, { options, deployment: address.deployment }),
        enabled: index <= reached,
      };
    }),
  });
  const pending = results.findIndex(({ data, error }) => !data && !error);
  const settled = pending === -1 ? choices.length : pending;
  useEffect(() => setReached(settled), [settled]);
  const chosenAt = choices.findIndex(({ value }) => value === chosen);
  const plans = results.map(({ data }) => data);
  // If no alternative gives a plan, there is nothing to compare.
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
      {none && <p className={classes.notePadded}>None of them finds a plan, so there is nothing to compare.</p>}
      {/* Not a DataTable: each row is a different quantity with its own best value, so columns cannot be sorted. */}
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
              chainId={chainId}
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

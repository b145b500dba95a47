import type { ChainDefinition, Deployment, SloStatus } from '@orrery/contract';
import { Link } from 'react-router';
import { chainPath } from '../../shared/api/chains.js';
import { ChainState } from '../../shared/chain/chain-state.js';
import { SloState } from '../../shared/chain/slo-state.js';
import { bandText, carriedText, predictionText } from '../../shared/format/prediction.js';
import { quantityOfUnit, quantityText } from '../../shared/format/quantity.js';
import { REAL_BOARD } from '../../shared/plan/emulated-boards.js';
import type { Column } from '../../shared/table/column.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { MeasuredText, RateText } from '../../shared/ui/rate-text.js';
import { burnOf, burnText, complianceText, goalText } from './budget.js';
import { BudgetBar } from './budget-bar.js';
import { ErrorText } from './error-text.js';
import { objectiveText } from './objective.js';
import classes from './slos.module.css';
import { TargetBar } from './target-bar.js';

function figure(name: 'target' | 'measured', title: string): Column<SloStatus> {
  return {
    id: name,
    title,
    number: true,
    value: (slo) => slo[name],
    cell: (slo) => {
      const rate = { quantity: quantityOfUnit(slo.unit), value: slo[name] };
      return name === 'measured' ? <MeasuredText {...rate} stale={slo.state === 'stale'} /> : <RateText {...rate} />;
    },
  };
}

const BURN_WINDOWS = [3600, 60] as const;

const BUDGET: readonly Column<SloStatus>[] = [
  {
    id: 'budget',
    title: 'Budget left',
    hint: 'Of the time for which the objective may be missed within its period',
    value: ({ budget }) => budget?.left_share,
    cell: ({ budget }) => <BudgetBar budget={budget} />,
  },
  {
    id: 'burn',
    title: 'Burn rate',
    hint: 'How fast the budget is used up, over the last hour and over the last minute: at 1 it lasts just as long as its period',
    number: true,
    value: ({ budget }) => burnOf(budget, BURN_WINDOWS[0]),
    cell: ({ budget }) => (
      <LastKnown word="">
        {burnText(burnOf(budget, BURN_WINDOWS[0]))}
        <span className={classes.below}>{burnText(burnOf(budget, BURN_WINDOWS[1]))} over 1 min</span>
      </LastKnown>
    ),
  },
  {
    id: 'compliance',
    title: 'Compliance',
    hint: 'Share of the judged seconds of the period in which the objective was met, and its goal',
    number: true,
    value: ({ budget }) => budget?.compliance,
    cell: ({ budget }) => (
      <span className={classes.text}>
        <LastKnown word="">{complianceText(budget?.compliance ?? null)}</LastKnown>
        {budget && <span className={classes.below}>goal {goalText(budget.goal)}</span>}
      </span>
    ),
  },
];

interface Known {
  readonly titleOf: (id: string) => string;
  readonly definitionOf: (id: string) => ChainDefinition | undefined;
  /** Whether the chain was predicted for a real board and runs on an emulated one. */
  readonly onEmulatedBoard: (id: string) => boolean;
  readonly stateOf: (id: string) => Deployment['state'] | undefined;
}

export function objectiveColumns({
  titleOf,
  definitionOf,
  onEmulatedBoard,
  stateOf,
}: Known): readonly Column<SloStatus>[] {
  return [
    {
      id: 'chain',
      title: 'Chain',
      className: classes.chain,
      // With the mark, so that an exported file says it too.
      value: ({ chain_id, origin }) => `${titleOf(chain_id)}${origin === 'twin' ? ' (emulated)' : ''}`,
      cell: ({ chain_id, origin }) => (
        <>
          {titleOf(chain_id)} <EmulatedMark origin={origin} />
        </>
      ),
      note: ({ chain_id }) => {
        const state = stateOf(chain_id);
        if (state !== 'degraded' && state !== 'failed') return null;
        return (
          <div className={classes.cause}>
            <ChainState chainId={chain_id} state={state} /> <Link to={chainPath(chain_id)}>Open the chain</Link>
          </div>
        );
      },
    },
    {
      id: 'objective',
      title: 'Objective',
      className: classes.objective,
      value: (slo) => objectiveText(slo, definitionOf(slo.chain_id)),
    },
    {
      id: 'state',
      title: 'State',
      value: ({ state }) => state,
      cell: (slo) => <SloState slo={slo} definition={definitionOf(slo.chain_id)} />,
    },
    // What the eye looks for is in view, also beside the details of an objective.
    figure('measured', 'Measured'),
    figure('target', 'Target'),
    ...BUDGET,
    {
      id: 'predicted',
      title: 'Predicted',
      hint: 'Latency: what should be measured, and the range that most windows are expected in, narrower where the model is calibrated. Throughput: what the chain could carry',
      number: true,
      value: ({ predicted }) => predicted,
      cell: (slo) => (
        <span className={classes.text}>
          {predictionText(slo)}
          {slo.band && <span className={classes.below}>{bandText(slo.band)}</span>}
          {onEmulatedBoard(slo.chain_id) && <span className={classes.note}>{REAL_BOARD}</span>}
        </span>
      ),
    },
    {
      id: 'carried',
      title: 'Carried',
      hidden: true,
      hint: 'Of the packets offered to the chain, those that left it or that an NF refused. A throughput objective is met at 95 %, also if less is offered than it asks for',
      value: ({ carried }) => carried,
      cell: (slo) => <LastKnown word="">{carriedText(slo) ?? <span className="muted">–</span>}</LastKnown>,
    },
    { id: 'against-target', title: 'Against target', cell: (slo) => <TargetBar slo={slo} /> },
    {
      id: 'error',
      title: 'Against prediction',
      hidden: true,
      hint: 'Measured more or less than predicted',
      number: true,
      value: ({ error }) => error,
      cell: (slo) => <ErrorText slo={slo} />,
    },
    {
      id: 'window',
      title: 'Window',
      hidden: true,
      number: true,
      value: ({ packets }) => packets,
      cell: ({ window_s, packets }) => (
        <>
          {window_s} s <span className={classes.below}>{quantityText('count', packets)} packets</span>
        </>
      ),
    },
  ];
}

import type { Plan } from '@orrery/contract';
import { useMemo } from 'react';
import { type ChainTitle, useChainTitle } from '../api/chains.js';
import { bandText } from '../format/prediction.js';
import { quantityText } from '../format/quantity.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import { EmptyState } from '../ui/states.js';
import { StatusBadge } from '../ui/status-badge.js';
import { REAL_BOARD, useEmulatedBoards } from './emulated-boards.js';
import classes from './plan-parts.module.css';
import { chainsOnBoards } from './plan-text.js';

type Slo = Plan['slos'][number];

interface PredictionsProps {
  readonly slos: readonly Slo[];
  /** The plan that predicts them. */
  readonly plan: Pick<Plan, 'graph'>;
  /** Prediction of the running plan; absent: no comparison. */
  readonly before?: readonly Slo[];
}

const isSame = (a: Slo, b: Slo) => a.chain_id === b.chain_id && a.slo_id === b.slo_id;

/** A figure in the unit of its objective. */
function figure(id: string, title: string, value: (slo: Slo) => number | null | undefined, hint?: string): Column<Slo> {
  return { id, title, hint, number: true, value, cell: (slo) => quantityText(slo.unit, value(slo)) };
}

/** Whether the chain of the objective runs on an emulated board, which is slower than the real one that is predicted. */
type AsReal = (slo: Slo) => boolean;

function columnsOf(titleOf: ChainTitle, before: readonly Slo[] | undefined, asReal: AsReal): readonly Column<Slo>[] {
  const soFar = (slo: Slo) => before?.find((each) => isSame(each, slo))?.predicted;
  return [
    { id: 'chain', title: 'Chain', className: classes.objectiveChain, value: ({ chain_id }) => titleOf(chain_id) },
    { id: 'objective', title: 'Objective', className: classes.objective, value: ({ slo_id }) => slo_id },
    {
      id: 'prediction',
      title: 'Prediction',
      value: (slo) => (!slo.met ? 'will be missed' : asReal(slo) ? `met ${REAL_BOARD}` : 'will be met'),
      cell: (slo) => <Verdict met={slo.met} asReal={asReal(slo)} />,
    },
    {
      ...figure('target', 'Target', ({ target }) => target),
      cell: ({ kind, unit, target }) => `${kind === 'latency' ? '≤' : '≥'} ${quantityText(unit, target)}`,
    },
    ...(before ? [figure('before', 'So far', soFar)] : []),
    figure('predicted', 'Predicted', ({ predicted }) => predicted),
    {
      id: 'band',
      title: 'Band',
      hint: 'Most windows of 10 s are expected to measure a latency in this range. It is narrower where the model is calibrated',
      number: true,
      value: ({ band }) => band?.high_us,
      cell: ({ band }) => bandText(band) ?? <span className="muted">–</span>,
    },
    figure(
      'attainable',
      'Attainable',
      ({ attainable }) => attainable,
      'What the best placement on this hardware could reach',
    ),
    { id: 'model', title: 'Model', className: classes.model, value: ({ model }) => model },
  ];
}

/** An emulated board misses what the real one misses, but may also miss what that one meets. */
function Verdict({ met, asReal }: { readonly met: boolean; readonly asReal: boolean }) {
  if (!met) return <StatusBadge lasting state="violated" label="will be missed" />;
  if (!asReal) return <StatusBadge lasting state="met" label="will be met" />;
  return (
    <>
      <StatusBadge lasting state="met" status="info" label="met on a real board" />
      <div className="muted">this one is emulated</div>
    </>
  );
}

/** The prediction for each objective, and the model it comes from. */
export function Predictions({ slos, plan, before }: PredictionsProps) {
  const titleOf = useChainTitle();
  const boards = useEmulatedBoards();
  const columns = useMemo(() => {
    const chains = chainsOnBoards(plan, boards);
    return columnsOf(titleOf, before, ({ chain_id }) => chains.has(chain_id));
  }, [titleOf, before, plan, boards]);
  return (
    <DataTable
      label="Predicted objectives"
      cards={860}
      columns={columns}
      rows={slos}
      rowKey={(slo) => `${slo.chain_id} ${slo.slo_id}`}
      empty={<EmptyState title="No objectives to predict">Add one in the chain’s settings.</EmptyState>}
    />
  );
}

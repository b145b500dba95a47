import type { Plan } from '@orrery/contract';
import { useMemo } from 'react';
import { type ChainTitle, useChainTitle } from '../api/chains.js';
import { bandText } from '../format/prediction.js';
import { quantityText } from '../format/quantity.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import { EmptyState } from '../ui/states.js';
import { StatusBadge } from '../ui/status-badge.js';
import classes from './plan-parts.module.css';

type Slo = Plan['slos'][number];

interface PredictionsProps {
  readonly slos: readonly Slo[];
  /** Prediction of the running plan; absent: no comparison. */
  readonly before?: readonly Slo[];
}

const isSame = (a: Slo, b: Slo) => a.chain_id === b.chain_id && a.slo_id === b.slo_id;

/** A figure in the unit of its objective. */
function figure(id: string, title: string, value: (slo: Slo) => number | null | undefined, hint?: string): Column<Slo> {
  return { id, title, hint, number: true, value, cell: (slo) => quantityText(slo.unit, value(slo)) };
}

function columnsOf(titleOf: ChainTitle, before: readonly Slo[] | undefined): readonly Column<Slo>[] {
  const soFar = (slo: Slo) => before?.find((each) => isSame(each, slo))?.predicted;
  return [
    { id: 'chain', title: 'Chain', className: classes.objectiveChain, value: ({ chain_id }) => titleOf(chain_id) },
    { id: 'objective', title: 'Objective', className: classes.objective, value: ({ slo_id }) => slo_id },
    {
      id: 'prediction',
      title: 'Prediction',
      value: ({ met }) => (met ? 'will be met' : 'will be missed'),
      cell: ({ met }) => (
        <StatusBadge lasting state={met ? 'met' : 'violated'} label={met ? 'will be met' : 'will be missed'} />
      ),
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

/** The prediction for each objective, and the model it comes from. */
export function Predictions({ slos, before }: PredictionsProps) {
  const titleOf = useChainTitle();
  const columns = useMemo(() => columnsOf(titleOf, before), [titleOf, before]);
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

import type { ChainDefinition, SloStatus } from '@orrery/contract';
import { quantityOfUnit, quantityText } from '../../shared/format/quantity.js';
import type { Column } from '../../shared/table/column.js';
import { EmulatedMark } from '../../shared/ui/emulated-mark.js';
import { RateText } from '../../shared/ui/rate-text.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { ErrorText } from './error-text.js';
import { objectiveText, predictionError } from './objective.js';
import classes from './slos.module.css';
import { TargetBar } from './target-bar.js';

function figure(name: 'target' | 'predicted' | 'measured', title: string): Column<SloStatus> {
  return {
    id: name,
    title,
    number: true,
    value: (slo) => slo[name],
    cell: (slo) => (
      <RateText
        quantity={quantityOfUnit(slo.unit)}
        value={slo[name]}
        stale={name === 'measured' && slo.state === 'stale'}
      />
    ),
  };
}

interface Known {
  readonly titleOf: (id: string) => string;
  readonly definitionOf: (id: string) => ChainDefinition | undefined;
}

export function objectiveColumns({ titleOf, definitionOf }: Known): readonly Column<SloStatus>[] {
  return [
    { id: 'chain', title: 'Chain', className: classes.chain, value: ({ chain_id }) => titleOf(chain_id) },
    {
      id: 'objective',
      title: 'Objective',
      className: classes.objective,
      value: (slo) => objectiveText(slo, definitionOf(slo.chain_id)),
    },
    { id: 'state', title: 'State', value: ({ state }) => state, cell: ({ state }) => <StatusBadge state={state} /> },
    figure('target', 'Target'),
    figure('predicted', 'Predicted'),
    figure('measured', 'Measured'),
    { id: 'against-target', title: 'Against target', cell: (slo) => <TargetBar slo={slo} /> },
    {
      id: 'error',
      title: 'Error',
      hint: 'Measured against predicted',
      number: true,
      value: predictionError,
      cell: (slo) => <ErrorText slo={slo} />,
    },
    {
      id: 'window',
      title: 'Window',
      number: true,
      value: ({ packets }) => packets,
      cell: ({ window_s, packets }) => (
        <>
          {window_s} s <span className="muted">{quantityText('count', packets)} packets</span>
        </>
      ),
    },
    {
      id: 'origin',
      title: 'Origin',
      value: ({ origin }) => origin,
      cell: ({ origin }) => (origin === 'twin' ? <EmulatedMark /> : 'live'),
    },
  ];
}

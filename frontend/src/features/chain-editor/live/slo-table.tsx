import type { ChainDefinition, ClassSlo, Slo, SloStatus } from '@orrery/contract';
import { causeText, classObjectiveText } from '../../../shared/chain/class-objective-text.js';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { countText } from '../../../shared/format/number.js';
import { carriedText, predictionText } from '../../../shared/format/prediction.js';
import { type Quantity, quantityOfUnit, quantityText } from '../../../shared/format/quantity.js';
import { REAL_BOARD, useOnEmulatedBoard } from '../../../shared/plan/emulated-boards.js';
import { useSloRows } from '../../../shared/stream/slo-rows.js';
import type { Column } from '../../../shared/table/column.js';
import { DataTable } from '../../../shared/table/data-table.js';
import { MeasuredText } from '../../../shared/ui/rate-text.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import classes from './live-panel.module.css';

interface Objective {
  readonly id: string;
  readonly text: string;
  readonly quantity: Quantity;
  /** Null: it has a figure only while it is judged. */
  readonly target: number | null;
  /** How the measurement must be to the target; empty: near it. */
  readonly bound: '≤' | '≥' | '';
  readonly status: SloStatus | undefined;
  /** That names the classes. */
  readonly definition: ChainDefinition;
  /** Predicted for a real board; it runs on an emulated one. */
  readonly isOnEmulatedBoard: boolean;
}

type Declared = Pick<Objective, 'id' | 'text' | 'quantity' | 'target' | 'bound'>;

function ofChain(slo: Slo): Declared {
  const { id } = slo;
  switch (slo.kind) {
    case 'latency':
      return { id, text: `Latency p${slo.percentile}`, quantity: 'us', target: slo.max_us, bound: '≤' };
    case 'throughput':
      return { id, text: 'Throughput', quantity: 'bps', target: slo.min_bps, bound: '≥' };
    case 'loss':
      return { id, text: 'Lost of the offered', quantity: 'share', target: slo.max_share, bound: '≤' };
    case 'availability':
      return { id, text: 'Delivered of the offered', quantity: 'share', target: slo.min_share, bound: '≥' };
  }
}

function betweenClasses(slo: ClassSlo, definition: ChainDefinition, status: SloStatus | undefined): Declared {
  const text = classObjectiveText(definition, slo);
  if (slo.kind !== 'priority') return { id: slo.id, text, quantity: 'count', target: slo.ratio, bound: '' };
  const quantity = quantityOfUnit(status?.unit ?? 'share');
  return { id: slo.id, text, quantity, target: status?.target ?? null, bound: '≤' };
}

/** Objectives of the deployed version, those between its classes last. */
export function objectivesOf(
  definition: ChainDefinition | null,
  statusOf: (id: string) => SloStatus | undefined,
  isOnEmulatedBoard: boolean,
): Objective[] {
  if (!definition) return [];
  const all = [
    ...definition.slos.map(ofChain),
    ...definition.class_slos.map((slo) => betweenClasses(slo, definition, statusOf(slo.id))),
  ];
  return all.map((slo) => ({ ...slo, status: statusOf(slo.id), definition, isOnEmulatedBoard }));
}

const COLUMNS: readonly Column<Objective>[] = [
  {
    id: 'objective',
    title: 'Objective',
    className: classes.words,
    value: ({ text }) => text,
    cell: ({ text, status, definition }) => (
      <>
        {text}
        {status?.cause && <div className={classes.note}>{causeText(status.cause, definition)}</div>}
      </>
    ),
  },
  {
    id: 'state',
    title: 'State',
    value: ({ status }) => status?.state ?? 'no-data',
    cell: ({ status }) => <StatusBadge state={status?.state ?? 'no-data'} status={status ? undefined : 'stale'} />,
  },
  {
    id: 'target',
    title: 'Target',
    number: true,
    value: ({ target }) => target,
    cell: ({ bound, quantity, target }) =>
      target === null ? '–' : `${bound} ${quantityText(quantity, target)}`.trimStart(),
  },
  {
    id: 'predicted',
    title: 'Predicted',
    number: true,
    value: ({ status }) => status?.predicted,
    cell: ({ status, isOnEmulatedBoard }) => (
      <>
        {status ? predictionText(status) : '–'}
        {status && status.predicted !== null && isOnEmulatedBoard && (
          <div className={classes.note} title={`Predicted ${REAL_BOARD}`}>
            on a real board
          </div>
        )}
      </>
    ),
  },
  {
    id: 'measured',
    title: 'Measured',
    number: true,
    value: ({ status }) => status?.measured,
    cell: ({ quantity, status }) => (
      <span
        title={
          status
            ? (carriedText(status) ?? `from ${countText(status.packets)} packets in ${status.window_s} s`)
            : undefined
        }
      >
        <MeasuredText quantity={quantity} value={status?.measured} stale={status?.state === 'stale'} />
      </span>
    ),
  },
];

/** Objectives of the deployed version: target, prediction and measurement side by side. */
export function SloTable() {
  const { chain } = useEditorContext();
  const { rows } = useSloRows();
  const isOnEmulatedBoard = useOnEmulatedBoard()(chain.id);
  const deployed = useDerived((derived) => derived.deployed);
  const statusOf = (id: string) => rows.find(({ chain_id, slo_id }) => chain_id === chain.id && slo_id === id);
  return (
    <div className={classes.slos}>
      <DataTable
        label="Objectives"
        columns={COLUMNS}
        rows={objectivesOf(deployed, statusOf, isOnEmulatedBoard)}
        rowKey={({ id }) => id}
        dataOf={({ id }) => ({ 'data-slo': id })}
        empty={<EmptyState title="No objectives">Add one in the chain’s settings.</EmptyState>}
      />
    </div>
  );
}

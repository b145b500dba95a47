import type { Slo, SloStatus } from '@orrery/contract';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { carriedText, predictionText } from '../../../shared/format/prediction.js';
import { type Quantity, quantityText } from '../../../shared/format/quantity.js';
import { REAL_BOARD, useOnEmulatedBoard } from '../../../shared/plan/emulated-boards.js';
import { useSloRows } from '../../../shared/stream/slo-rows.js';
import type { Column } from '../../../shared/table/column.js';
import { DataTable } from '../../../shared/table/data-table.js';
import { MeasuredText } from '../../../shared/ui/rate-text.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import classes from './live-panel.module.css';

interface Objective {
  readonly slo: Slo;
  readonly status: SloStatus | undefined;
  /** Predicted for a real board; it runs on an emulated one. */
  readonly isOnEmulatedBoard: boolean;
}

const quantityOf = ({ kind }: Slo): Quantity => (kind === 'latency' ? 'us' : 'bps');
const targetOf = (slo: Slo) => (slo.kind === 'latency' ? slo.max_us : slo.min_bps);

const COLUMNS: readonly Column<Objective>[] = [
  {
    id: 'objective',
    title: 'Objective',
    value: ({ slo }) => (slo.kind === 'latency' ? `Latency p${slo.percentile}` : 'Throughput'),
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
    value: ({ slo }) => targetOf(slo),
    cell: ({ slo }) => `${slo.kind === 'latency' ? '≤' : '≥'} ${quantityText(quantityOf(slo), targetOf(slo))}`,
  },
  {
    id: 'predicted',
    title: 'Predicted',
    number: true,
    value: ({ status }) => status?.predicted,
    cell: ({ status, isOnEmulatedBoard }) => (
      <>
        {status ? predictionText(status) : '–'}
        {status && isOnEmulatedBoard && (
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
    cell: ({ slo, status }) => (
      <span
        title={status ? (carriedText(status) ?? `from ${status.packets} packets in ${status.window_s} s`) : undefined}
      >
        <MeasuredText quantity={quantityOf(slo)} value={status?.measured} stale={status?.state === 'stale'} />
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
  const objectives = (deployed?.slos ?? []).map((slo) => ({
    slo,
    isOnEmulatedBoard,
    status: rows.find(({ chain_id, slo_id }) => chain_id === chain.id && slo_id === slo.id),
  }));
  return (
    <div className={classes.slos}>
      <DataTable
        label="Objectives"
        columns={COLUMNS}
        rows={objectives}
        rowKey={({ slo }) => slo.id}
        dataOf={({ slo }) => ({ 'data-slo': slo.id })}
        empty={<EmptyState title="No objectives">Add one in the chain’s settings.</EmptyState>}
      />
    </div>
  );
}

import { Modal } from '@mantine/core';
import type { PlacementAdvice, PlacementDrift } from '@orrery/contract';
import { type ChainTitle, useChainTitle } from '../../shared/api/chains.js';
import { countText } from '../../shared/format/number.js';
import { quantityText } from '../../shared/format/quantity.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useFocusReturn } from '../../shared/ui/focus-return.js';

interface DriftDialogProps {
  readonly advice: Pick<PlacementAdvice, 'drift' | 'drift_omitted'>;
  readonly onClose: () => void;
}

/** How NFs run beside how they were planned, those that differ most first. */
export function DriftDialog({ advice: { drift, drift_omitted }, onClose }: DriftDialogProps) {
  useFocusReturn();
  const titleOf = useChainTitle();
  return (
    <Modal opened onClose={onClose} size={820} centered title="What drifted">
      <DataTable
        label="NFs beside their plan"
        cards={620}
        columns={columnsOf(titleOf)}
        rows={drift}
        rowKey={({ chain_id, node_id }) => `${chain_id} ${node_id}`}
        empty={<p>No NF was measured yet.</p>}
      />
      {drift_omitted > 0 && <p className="muted">{countText(drift_omitted)} more NFs differ less.</p>}
    </Modal>
  );
}

function columnsOf(titleOf: ChainTitle): Column<PlacementDrift>[] {
  return [
    { id: 'chain', title: 'Chain', value: ({ chain_id }) => titleOf(chain_id) },
    { id: 'nf', title: 'NF', value: ({ node_id }) => node_id },
    rate('planned_bps', 'Planned rate'),
    rate('measured_bps', 'Measured rate'),
    difference('rate_error', 'Difference of the rate'),
    cycles('planned_cycles', 'Planned cycles per bit'),
    cycles('measured_cycles', 'Measured cycles per bit'),
    difference('cost_error', 'Difference of the cost'),
  ];
}

function rate(id: 'planned_bps' | 'measured_bps', title: string): Column<PlacementDrift> {
  return { id, title, number: true, value: (row) => row[id], cell: (row) => quantityText('bps', row[id]) };
}

function cycles(id: 'planned_cycles' | 'measured_cycles', title: string): Column<PlacementDrift> {
  return { id, title, number: true, value: (row) => row[id], cell: (row) => countText(row[id]) };
}

function difference(id: 'rate_error' | 'cost_error', title: string): Column<PlacementDrift> {
  return { id, title, number: true, value: (row) => row[id], cell: (row) => differenceText(row[id]) };
}

function differenceText(error: number | null): string {
  if (error === null) return '–';
  const percent = Math.round(100 * Math.abs(error));
  const sign = error < 0 ? '−' : '+';
  return `${percent === 0 ? '' : sign}${countText(percent)} %`;
}

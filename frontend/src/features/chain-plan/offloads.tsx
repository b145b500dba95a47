import type { Plan } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import classes from './placement.module.css';

type Offload = Plan['offloads'][number];

const COLUMNS: readonly Column<Offload>[] = [
  { id: 'instance', title: 'Instance', value: ({ instance_id }) => instance_id },
  { id: 'switch', title: 'Switch', value: (offload) => offload.switch },
  { id: 'entries', title: 'Table entries', number: true, value: ({ entries }) => entries },
  {
    id: 'frees',
    title: 'Frees',
    number: true,
    value: ({ frees_core_share }) => frees_core_share,
    cell: ({ frees_core_share }) => `${quantityText('share', frees_core_share)} of a core`,
  },
  quantityColumn({ id: 'saves', title: 'Saves on links', quantity: 'bps', value: ({ saves_bps }) => saves_bps }),
];

export function Offloads({ plan }: { readonly plan: Plan }) {
  if (plan.offloads.length === 0) return null;
  return (
    <Panel title="Could run on the switch" actions={<span className={classes.label}>proposal</span>} flush>
      <p className={classes.note}>No fabric runs NFs yet: a deployment leaves these on their servers.</p>
      <DataTable
        label="Instances that could run on the switch"
        columns={COLUMNS}
        rows={plan.offloads}
        rowKey={(offload) => `${offload.instance_id} ${offload.switch}`}
      />
    </Panel>
  );
}

import type { Plan } from '@orrery/contract';
import { Link } from 'react-router';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import classes from './placement.module.css';

type TableUse = Plan['tables'][number];

const share = ({ entries, available }: TableUse) => (available > 0 ? entries / available : null);

const COLUMNS: readonly Column<TableUse>[] = [
  {
    id: 'switch',
    title: 'Switch',
    value: (use) => use.switch,
    cell: (use) => <Link to={`/switches?switch=${encodeURIComponent(use.switch)}`}>{use.switch}</Link>,
  },
  { id: 'entries', title: 'Entries', number: true, value: ({ entries }) => entries },
  {
    id: 'most',
    title: 'During the change',
    hint: 'Most entries at any moment while the plan is applied',
    number: true,
    value: ({ most_entries }) => most_entries,
  },
  { id: 'size', title: 'Table size', number: true, value: ({ available }) => available },
  { id: 'used', title: 'Used', number: true, value: share, cell: (use) => quantityText('share', share(use)) },
];

/** Table entries of each switch once the plan is applied, exactly as they will be installed. */
export function SwitchTables({ tables }: Pick<Plan, 'tables'>) {
  if (tables.length === 0) return null;
  return (
    <Panel title="Switch tables" flush>
      <p className={classes.note}>All chains together, forwarding between hosts included.</p>
      <DataTable label="Entries in switch tables" columns={COLUMNS} rows={tables} rowKey={(use) => use.switch} />
    </Panel>
  );
}

import type { ParallelForm } from '@orrery/contract';
import { Panel } from '../page/page-header.js';
import { choiceLabel } from '../plan/plan-choices.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import { quantityColumn } from '../table/quantity-column.js';
import classes from './parallel.module.css';

type Tried = Pick<ParallelForm, 'strategy' | 'text' | 'latency_us' | 'copies'> & { readonly because: string };

const COLUMNS: readonly Column<Tried>[] = [
  { id: 'strategy', title: 'Strategy', value: ({ strategy }) => choiceLabel('parallelization', strategy) },
  { id: 'form', title: 'Form', className: classes.words, value: ({ text }) => text },
  quantityColumn({ id: 'latency', title: 'Latency', quantity: 'us', value: ({ latency_us }) => latency_us }),
  { id: 'copies', title: 'Copies', number: true, value: ({ copies }) => copies },
  { id: 'because', title: 'Verdict', className: classes.words, value: ({ because }) => because },
];

/** Results of other strategies. */
export function RejectedForms({ form }: { readonly form: ParallelForm }) {
  if (form.rejected.length === 0) return null;
  return (
    <Panel title="Other strategies">
      <DataTable
        label="Rejected strategies"
        columns={COLUMNS}
        rows={[{ ...form, because: 'chosen' }, ...form.rejected]}
        rowKey={({ strategy }) => strategy}
        dataOf={({ strategy }) => ({ 'data-selected': strategy === form.strategy || undefined })}
      />
    </Panel>
  );
}

import type { ParallelForm } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { Dependencies } from '../../shared/parallel/dependencies.js';
import { Provisioning } from '../../shared/parallel/provisioning.js';
import { RejectedForms } from '../../shared/parallel/rejected-forms.js';
import { isParallel } from '../../shared/parallel/why-sequential.js';
import { wayText } from '../../shared/plan/plan-text.js';
import { gainOf } from '../../shared/plan/predicted-latency.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import classes from './parallelism.module.css';
import { shownPlan } from './shown-plan.js';
import type { KnownChain } from './use-chains.js';

/** The lines of NFs of the chain: for the chosen one its dependencies, what else was tried, and where it would be placed. */
export function LinePanels({ chain }: { readonly chain: KnownChain }) {
  const [chosen, choose] = useUrlParam('line');
  const forms = shownPlan(chain)?.forms ?? [];
  const form = forms.find(({ id }) => id === chosen) ?? forms[0];
  if (!form) return null;
  return (
    <>
      <Panel title={forms.length === 1 ? 'Parallel form' : 'Lines of NFs'} flush>
        <DataTable
          label="Lines of NFs"
          columns={COLUMNS}
          rows={forms}
          rowKey={({ id }) => id}
          {...(forms.length > 1 && { selectedKey: form.id, onSelect: ({ id }: ParallelForm) => choose(id) })}
        />
      </Panel>
      <Dependencies key={form.id} form={form} />
      <RejectedForms form={form} />
      {form.provisioning != null && <Provisioning provisioning={form.provisioning} />}
    </>
  );
}

const COLUMNS: readonly Column<ParallelForm>[] = [
  { id: 'line', title: 'NFs', className: classes.words, value: ({ nodes }) => wayText(nodes) },
  { id: 'form', title: 'Form', className: classes.words, value: ({ text }) => text },
  {
    id: 'path',
    title: 'Critical path',
    className: classes.words,
    value: ({ critical_path }) => wayText(critical_path),
    cell: ({ critical_path, critical_path_us }) => (
      <>
        {wayText(critical_path)} <span className="muted">{quantityText('us', critical_path_us)}</span>
      </>
    ),
  },
  quantityColumn({
    id: 'sequential',
    title: 'Processing in sequence',
    hint: 'In the NFs alone, without queues and the way between servers',
    quantity: 'us',
    value: ({ sequential_us }) => sequential_us,
  }),
  quantityColumn({
    id: 'parallel',
    title: 'Processing in this form',
    hint: 'With copies and merges',
    quantity: 'us',
    value: ({ latency_us }) => latency_us,
  }),
  {
    id: 'saves',
    title: 'Saves',
    number: true,
    value: (form) => (isParallel(form) ? gainOf(form.sequential_us, form.latency_us) : null),
    cell: (form) => (isParallel(form) ? quantityText('share', gainOf(form.sequential_us, form.latency_us)) : '–'),
  },
  { id: 'mirrors', title: 'Mirrors', number: true, value: ({ mirrors }) => mirrors },
  { id: 'merges', title: 'Merges', number: true, value: ({ merges }) => merges },
  { id: 'copies', title: 'Copies', number: true, value: ({ copies }) => copies },
];

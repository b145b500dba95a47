import type { ParallelForm } from '@orrery/contract';
import { quantityText } from '../format/quantity.js';
import { Panel } from '../page/page-header.js';
import { constraintText } from '../plan/plan-text.js';
import type { Column } from '../table/column.js';
import { DataTable } from '../table/data-table.js';
import { quantityColumn } from '../table/quantity-column.js';
import classes from './parallel.module.css';

type Provisioned = NonNullable<ParallelForm['provisioning']>;

const COUNT_COLUMNS: readonly Column<Provisioned['counts'][number]>[] = [
  { id: 'nf', title: 'NF', value: ({ node }) => node },
  { id: 'server', title: 'Server', value: ({ server }) => server },
  { id: 'instances', title: 'Instances', number: true, value: ({ instances }) => instances },
];

const MERGE_COLUMNS: readonly Column<Provisioned['merges'][number]>[] = [
  { id: 'step', title: 'Step', className: classes.words, value: ({ step }) => step },
  { id: 'place', title: 'Mirror and merge', value: ({ chosen }) => chosen ?? 'every option fills a link' },
  quantityColumn({
    id: 'bytes',
    title: 'Bytes on links per packet',
    quantity: 'bytes',
    value: ({ link_bytes }) => link_bytes,
  }),
  {
    id: 'passes',
    title: 'Switch passes',
    number: true,
    value: ({ switch_traversals }) => Number(switch_traversals.toPrecision(3)),
  },
  {
    id: 'rejected',
    title: 'Rejected',
    className: classes.words,
    value: ({ rejected }) => rejected.map((each) => `${each.title}: ${each.because}`).join('; ') || '–',
  },
];

/** The placement of the form's instances on empty servers, and where its copies would be merged. */
export function Provisioning({ provisioning }: { readonly provisioning: Provisioned }) {
  const { counts, conflicts, compared, merges, cross_traffic_bps } = provisioning;
  return (
    <Panel title="On empty servers" actions={<span className={classes.label}>proposal</span>} flush>
      {conflicts.length > 0 ? (
        <ul className={classes.sentences}>
          {conflicts.map((conflict) => (
            <li key={`${conflict.constraint}${conflict.where}`}>{constraintText(conflict)}.</li>
          ))}
        </ul>
      ) : (
        <DataTable
          label="Instances of the parallel form"
          columns={COUNT_COLUMNS}
          rows={counts}
          rowKey={({ node, server }) => `${node} ${server}`}
        />
      )}
      {compared.length > 0 && (
        <p className={classes.notePadded}>
          {quantityText('bps', cross_traffic_bps)} between servers.{' '}
          {compared
            .map(
              (each) =>
                `${each.strategy}${each.chosen ? ' (chosen)' : ''}: ${each.cross_traffic_bps === null ? 'no place' : quantityText('bps', each.cross_traffic_bps)}`,
            )
            .join(', ')}
          .
        </p>
      )}
      {merges.length > 0 && (
        <DataTable label="Mirrors and merges" columns={MERGE_COLUMNS} rows={merges} rowKey={({ step }) => step} />
      )}
    </Panel>
  );
}

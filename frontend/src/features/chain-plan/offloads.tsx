import type { Plan, SwitchInstance } from '@orrery/contract';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import classes from './placement.module.css';
import { ReasonList } from './reasons-view.js';

type Offload = Plan['offloads'][number];

const SAVES = quantityColumn<Pick<Offload, 'saves_bps'>>({
  id: 'saves',
  title: 'Saves on links, at most',
  quantity: 'bps',
  value: ({ saves_bps }) => saves_bps,
});

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
  SAVES,
];

const RUNNING: readonly Column<SwitchInstance>[] = [
  { id: 'nf', title: 'NF', value: ({ node_id }) => node_id },
  { id: 'switch', title: 'Runs on', value: (instance) => instance.switch },
  { id: 'entries', title: 'Table entries', number: true, value: ({ entries }) => entries },
  {
    id: 'frees',
    title: 'Frees',
    number: true,
    value: ({ frees_core_share }) => frees_core_share,
    cell: ({ frees_core_share }) => `${quantityText('share', frees_core_share)} of a core`,
  },
  SAVES,
];

/** What switches run in the plan, with why other NFs do not, and what they could run as well. */
export function Offloads({ plan }: { readonly plan: Plan }) {
  const { on_switches: running = [], offloads } = plan;
  const asked = plan.chains.filter(({ offload }) => offload === 'where-possible');
  const names = new Set(asked.map(({ definition }) => definition.name));
  const reasons = plan.reasons.filter(
    ({ part, subject }) => part === 'offload' && names.has(subject.slice(0, subject.indexOf('.'))),
  );
  return (
    <>
      {reasons.length > 0 && (
        <Panel title="On switches" flush>
          {running.length > 0 && (
            <DataTable label="NFs that switches run" columns={RUNNING} rows={running} rowKey={({ id }) => id} />
          )}
          <div className={classes.note}>
            <ReasonList reasons={reasons} />
          </div>
        </Panel>
      )}
      {offloads.length > 0 && (
        <Panel title="Could run on the switch" actions={<span className={classes.label}>proposal</span>} flush>
          <p className={classes.note}>
            Those at the beginning of a chain do where it is deployed with “Switches run NFs: where possible”.
          </p>
          <DataTable
            label="Instances that could run on the switch"
            columns={COLUMNS}
            rows={offloads}
            rowKey={(offload) => `${offload.instance_id} ${offload.switch}`}
          />
        </Panel>
      )}
    </>
  );
}

import type { ClassForecast, Plan } from '@orrery/contract';
import { useChainTitle } from '../../shared/api/chains.js';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { edgesOfClass } from '../../shared/plan/plan-text.js';
import { Predictions } from '../../shared/plan/predictions.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { quantityColumn } from '../../shared/table/quantity-column.js';
import { EmptyState } from '../../shared/ui/states.js';
import { ClassObjectives } from './class-objectives.js';
import { ownFirst } from './own-first.js';
import classes from './plan.module.css';

interface ObjectivesProps {
  readonly plan: Plan;
  readonly chainId: string;
}

/** The prediction for each objective, with its model, also for those between classes, and for each traffic class. */
export function Objectives({ plan, chainId }: ObjectivesProps) {
  const schedule = plan.schedules.find(({ chain_id }) => chain_id === chainId);
  return (
    <div className={classes.groups}>
      <Panel title="Objectives, predicted">
        <Predictions slos={ownFirst(plan.slos, chainId)} plan={plan} />
      </Panel>
      {schedule && schedule.objectives.length > 0 && <ClassObjectives plan={plan} schedule={schedule} />}
      <Panel title="Traffic classes, predicted">
        <TrafficClasses plan={plan} chainId={chainId} />
      </Panel>
    </div>
  );
}

function TrafficClasses({ plan, chainId }: ObjectivesProps) {
  const titleOf = useChainTitle();
  const path: Column<ClassForecast> = {
    id: 'path',
    title: 'Path',
    className: classes.words,
    value: ({ nodes }) => nodes.join(' → '),
    cell: (each) => (
      <>
        <PathChips nodes={each.nodes} />
        <div className="muted">
          {titleOf(each.chain_id)} <code>{edgesOfClass(each.id)}</code>
        </div>
      </>
    ),
  };
  return (
    <DataTable
      label="Traffic classes"
      columns={[path, ...FORECAST_COLUMNS]}
      rows={ownFirst(plan.classes, chainId)}
      rowKey={({ id }) => id}
      empty={<EmptyState title="No traffic class to predict" />}
    />
  );
}

const FORECAST_COLUMNS: readonly Column<ClassForecast>[] = [
  quantityColumn({ id: 'rate', title: 'Rate', quantity: 'bps', value: ({ rate_bps }) => rate_bps }),
  quantityColumn({ id: 'mean', title: 'Mean', quantity: 'us', value: ({ mean_us }) => mean_us }),
  quantityColumn({ id: 'p99', title: 'p99', quantity: 'us', value: ({ p99_us }) => p99_us }),
  quantityColumn({
    id: 'least',
    title: 'Lower bound',
    hint: 'Latency without queues and hops: no placement on this hardware is faster',
    quantity: 'us',
    value: ({ least_us }) => least_us,
  }),
  quantityColumn({ id: 'capacity', title: 'Capacity', quantity: 'bps', value: ({ throughput_bps }) => throughput_bps }),
  { id: 'bottleneck', title: 'Bottleneck', value: ({ bottleneck }) => bottleneck },
  {
    id: 'way',
    title: 'Path of a flow',
    className: classes.words,
    value: ({ way }) => way?.latency_us,
    cell: (each) => <Way forecast={each} />,
  },
];

/** NFs in the order in which packets pass them. */
export function PathChips({ nodes }: { readonly nodes: readonly string[] }) {
  if (nodes.length === 0) return <span className="muted">no NF</span>;
  return (
    <ol className={classes.path}>
      {nodes.map((node) => (
        <li key={node}>{node}</li>
      ))}
    </ol>
  );
}

function Way({ forecast: { way } }: { readonly forecast: ClassForecast }) {
  if (!way) return <span className="muted">none found</span>;
  const reached = way.latency_us <= way.bound_us * 1.000001;
  return (
    <>
      <span className={classes.wayLine}>
        {quantityText('us', way.latency_us)}
        <span className="muted">{reached ? 'the shortest' : `bound ${quantityText('us', way.bound_us)}`}</span>
      </span>
      <code className={classes.wayInstances}>{way.instances.join(' → ')}</code>
    </>
  );
}

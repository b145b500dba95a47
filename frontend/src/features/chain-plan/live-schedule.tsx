import type { Deployment, Infrastructure, Plan } from '@orrery/contract';
import { samplePrefix } from '@orrery/contract/sample-keys';
import { IconArrowsSplit2, IconGauge, IconPlayerPlay, IconRotate, IconScale } from '@tabler/icons-react';
import { useMemo } from 'react';
import { useDeployments, usePlan } from '../../shared/api/queries.js';
import { RUN_WORDS, runOptionsOf } from '../../shared/chain/run-options.js';
import { SwitchRun } from '../../shared/chain/switch-run.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { classText } from '../../shared/plan/plan-text.js';
import { pointsText } from '../../shared/plan/predicted-latency.js';
import { useSample, useStale } from '../../shared/stream/hooks.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { LiveRate } from '../../shared/ui/rate-text.js';
import { EmptyState } from '../../shared/ui/states.js';
import { type CoreTree, type CoreTreeRow, coreTreeKey, coreTrees } from './core-trees.js';
import tree from './schedule.module.css';

interface LiveScheduleProps {
  readonly chainId: string;
  readonly title: string;
  readonly infrastructure: Infrastructure | null;
}

/** How the cores of a running chain share their time now, beside what its schedule plans; and the change to the other way. */
export function LiveSchedule({ chainId, title, infrastructure }: LiveScheduleProps) {
  const { data: deployments } = useDeployments();
  const deployment = deployments?.find(({ chain_id }) => chain_id === chainId);
  const { data: plan } = usePlan(deployment?.plan_id);
  if (!deployment || !plan) return null;
  return <Running {...{ deployment, plan, title, infrastructure }} />;
}

interface RunningProps extends Pick<LiveScheduleProps, 'title' | 'infrastructure'> {
  readonly deployment: Deployment;
  /** The plan that the chain runs by. */
  readonly plan: Plan;
}

function Running({ deployment, plan, title, infrastructure }: RunningProps) {
  const { chain_id: chainId } = deployment;
  const { schedule } = runOptionsOf(plan, chainId);
  const isPlanned = schedule !== 'round-robin';
  const trees = useMemo(
    () => (isPlanned ? coreTrees(plan, chainId, infrastructure) : []),
    [isPlanned, plan, chainId, infrastructure],
  );
  useSeededSamples(
    trees.flatMap(({ server, core, rows }) =>
      rows.map(({ id }) => samplePrefix('scheduler', `${server} ${core} ${id}`)),
    ),
  );
  return (
    <Panel
      title={`As it runs: ${RUN_WORDS.schedule[schedule]?.runs}`}
      actions={<SwitchRun deployment={deployment} plan={plan} title={title} dimension="schedule" />}
      flush
    >
      {trees.length === 0 ? (
        <EmptyState title={isPlanned ? 'No core has a scheduler tree' : 'One task for each instance'}>
          {isPlanned
            ? 'No task of the chain is on a core of a server.'
            : 'The cores serve the instances of the chain one after the other, without shares.'}
        </EmptyState>
      ) : (
        trees.map((each) => (
          <Core
            key={`${each.server} ${each.core}`}
            of={each}
            plan={plan}
            emulated={infrastructure?.servers.find(({ id }) => id === each.server)?.origin === 'twin'}
          />
        ))
      )}
    </Panel>
  );
}

const ICONS: Record<CoreTreeRow['kind'], typeof IconScale> = {
  'round-robin': IconRotate,
  priority: IconArrowsSplit2,
  'weighted-fair': IconScale,
  'rate-limit': IconGauge,
  task: IconPlayerPlay,
};

interface CoreProps {
  readonly of: CoreTree;
  readonly plan: Plan;
  readonly emulated: boolean;
}

function Core({ of, plan, emulated }: CoreProps) {
  const place = `${of.server}, core ${of.core}`;
  const tasks = of.rows.filter(({ kind }) => kind === 'task');
  const labels = tasks.map(({ label, id }) =>
    tasks.filter((other) => other.label === label).length > 1 ? `${label} (${id})` : label,
  );
  return (
    <section aria-label={`Running scheduler of ${place}`}>
      <h3 className={tree.core}>{place}</h3>
      <DataTable
        label={`Tasks and policies of ${place}`}
        columns={columnsOf(of, plan)}
        rows={of.rows}
        rowKey={({ id }) => id}
      />
      <div className={tree.chart}>
        <TimeSeriesChart
          title={`CPU of the tasks of ${place}`}
          quantity="share"
          emulated={emulated}
          height={90}
          series={tasks.map((row, i) => ({ key: coreTreeKey(of, row, 'cpu'), label: labels[i]! }))}
        />
      </div>
    </section>
  );
}

/** In the order of the tree, so that no column sorts. */
function columnsOf(of: CoreTree, plan: Plan): readonly Column<CoreTreeRow>[] {
  const live = (metric: 'cpu' | 'pps' | 'bps' | 'polling', quantity: 'share' | 'pps' | 'bps') => ({
    number: true,
    cell: (row: CoreTreeRow) => <LiveRate sampleKey={coreTreeKey(of, row, metric)} quantity={quantity} />,
  });
  return [
    {
      id: 'node',
      title: 'Task or policy',
      className: tree.node,
      cell: (row) => <NodeName row={row} classes={row.classes.map((id) => classText(plan, id))} />,
    },
    {
      id: 'planned',
      title: 'CPU planned',
      hint: 'Share of the core that the schedule expects',
      number: true,
      cell: ({ planned }) => quantityText('share', planned),
    },
    { id: 'cpu', title: 'CPU', hint: 'Share of the core, measured', ...live('cpu', 'share') },
    {
      id: 'error',
      title: 'Error',
      hint: 'Measured less planned, in points of the core',
      number: true,
      cell: (row) => <ShareError sampleKey={coreTreeKey(of, row, 'cpu')} planned={row.planned} />,
    },
    { id: 'polling', title: 'Polling', hint: 'Share of the core spent on empty queues', ...live('polling', 'share') },
    { id: 'pps', title: 'Packets', ...live('pps', 'pps') },
    { id: 'bps', title: 'Bits', ...live('bps', 'bps') },
  ];
}

interface NodeNameProps {
  readonly row: CoreTreeRow;
  readonly classes: readonly string[];
}

function NodeName({ row: { kind, label, depth, share, level, isForeign }, classes }: NodeNameProps) {
  const Icon = ICONS[kind];
  return (
    <span className={tree.name} style={{ paddingLeft: depth * 18 }} data-foreign={isForeign || undefined}>
      <Icon size={14} stroke={1.6} aria-hidden />
      <span>
        {label}
        {isForeign && kind === 'task' && <span className="muted">, another chain</span>}
      </span>
      {level !== null && <span className={tree.badge}>level {level}</span>}
      {share !== null && <span className={tree.badge}>{quantityText('share', share)} by weight</span>}
      {classes.length > 0 && <span className={`${tree.classes} muted`}>{classes.join('; ')}</span>}
    </span>
  );
}

function ShareError({ sampleKey, planned }: { readonly sampleKey: string; readonly planned: number }) {
  const sample = useSample(sampleKey);
  const stale = useStale(sample?.received_ms);
  if (!sample || stale) return <span className="muted">–</span>;
  return pointsText(sample.value - planned);
}

import { type Instance, type MergeNode, type MirrorNode, nfInstances, type Plan } from '@orrery/contract';
import { type SampleMetric, sampleKey, samplePrefix } from '@orrery/contract/sample-keys';
import { useInfrastructure, useNfInstances } from '../../shared/api/queries.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { spotText } from '../../shared/format/form.js';
import { quantityText } from '../../shared/format/quantity.js';
import { Panel } from '../../shared/page/page-header.js';
import { jointsOf } from '../../shared/parallel/joints.js';
import { amount, coresText } from '../../shared/plan/plan-text.js';
import { useSeededSamples } from '../../shared/stream/seed.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { liveColumn } from '../../shared/table/live-column.js';
import { EmptyState } from '../../shared/ui/states.js';
import { cyclesPerPacket } from './joint-cost.js';
import classes from './parallelism.module.css';
import { shownPlan } from './shown-plan.js';
import type { KnownChain } from './use-chains.js';

type Joint = MirrorNode | MergeNode;

/** What copies and merges cost: the figures of each mirror and merge, and of the NFs beside them. */
export function MergeCost({ chain }: { readonly chain: KnownChain }) {
  const { row, plan } = chain;
  const { data: infrastructure } = useInfrastructure();
  const { data: known } = useNfInstances();
  const shown = shownPlan(chain);
  const joints = shown ? jointsOf(shown.plan, row.id) : [];
  const runs = shown?.runs ?? false;
  const instances = instancesOf(plan, row.id);
  useSeededSamples([
    ...(runs ? joints.map(({ id }) => samplePrefix('module', id)) : []),
    ...instances.map(({ id }) => samplePrefix('instance', id)),
  ]);
  if (joints.length === 0 && instances.length === 0) return null;
  const cyclesOf = (joint: Joint) => cyclesPerPacket(joint, infrastructure, row.definition.traffic_class.packet_bytes);
  const cycles = joints.map(cyclesOf);
  const all = cycles.reduce<number>((sum, each) => sum + (each ?? 0), 0);
  const isEmulated = known?.some(({ chain_id, origin }) => chain_id === row.id && origin === 'twin') ?? false;
  const merges = joints.filter(({ kind }) => kind === 'merge');
  return (
    <>
      <Panel
        title="Mirrors and merges"
        actions={
          joints.length > 0 && (
            <span className="muted tabular">
              {cycles.every((each) => each === null) ? '' : `${amount(all, 'cycles')} for each packet and `}
              {coresText(joints.reduce((sum, { core_share }) => sum + core_share, 0))} cores predicted
            </span>
          )
        }
        flush
      >
        <DataTable
          label="Mirrors and merges"
          columns={jointColumns(cyclesOf, runs)}
          rows={joints}
          rowKey={({ id }) => id}
          empty={
            <EmptyState title="No mirror and no merge">
              {row.execution ? 'The chain runs in sequence: no packet is copied.' : 'Nothing is copied.'}
            </EmptyState>
          }
        />
        {joints.length > 0 && runs && (
          <p className={classes.note}>
            A mirror sends out each packet and its copies. Copies that a switch makes for other servers are not counted.
          </p>
        )}
        {joints.length > 0 && !runs && (
          <p className={classes.note}>
            <span className={classes.label}>predicted</span> They do not run: live figures begin when the chain runs in
            parallel.
          </p>
        )}
      </Panel>
      {runs && joints.length > 0 && (
        <div className={classes.charts}>
          <Panel>
            <TimeSeriesChart
              title="Copies in flight"
              quantity="count"
              emulated={isEmulated}
              height={120}
              series={merges.map(({ id }) => ({ key: sampleKey('module', id, 'waiting'), label: id }))}
              note="Copies that wait in a merge for the others of their packet."
            />
          </Panel>
          <Panel>
            <TimeSeriesChart
              title="CPU of mirrors and merges"
              quantity="share"
              emulated={isEmulated}
              height={120}
              series={joints.map(({ id }) => ({ key: sampleKey('module', id, 'cpu'), label: id }))}
              note="Share of one core."
            />
          </Panel>
        </div>
      )}
      {instances.length > 0 && (
        <Panel title="NF instances" flush>
          <DataTable label="NF instances" columns={INSTANCE_COLUMNS} rows={instances} rowKey={({ id }) => id} />
        </Panel>
      )}
    </>
  );
}

function instancesOf(plan: Plan | undefined, chainId: string): Instance[] {
  return nfInstances(plan?.graph).filter(({ chain_id }) => chain_id === chainId);
}

const placeOf = ({ server, core }: Joint) => `${server}, core ${core}`;

function jointColumns(cyclesOf: (joint: Joint) => number | null, live: boolean): readonly Column<Joint>[] {
  const key =
    (metric: SampleMetric<'module'>) =>
    ({ id }: Joint) =>
      sampleKey('module', id, metric);
  return [
    { id: 'joint', title: 'Mirror or merge', value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
    {
      id: 'place',
      title: 'Place',
      className: classes.place,
      value: placeOf,
      cell: (joint) => (
        <>
          {placeOf(joint)}
          {joint.kind === 'mirror' && joint.hop !== null && (
            <div className="muted">the switch copies for other servers</div>
          )}
        </>
      ),
    },
    ...(live
      ? [
          liveColumn({
            id: 'in',
            title: 'In',
            quantity: 'pps',
            sampleKey: key('pps'),
            hint: 'Packets into a mirror, copies into a merge',
          }),
          liveColumn({
            id: 'out',
            title: 'Out',
            quantity: 'pps',
            sampleKey: key('out_pps'),
            hint: 'The packet and its copies out of a mirror, packets out of a merge',
          }),
          liveColumn({
            id: 'waiting',
            title: 'In flight',
            quantity: 'count',
            sampleKey: key('waiting'),
            hint: 'Copies that wait for the others of their packet',
          }),
          liveColumn({
            id: 'lost',
            title: 'Timed out',
            quantity: 'pps',
            sampleKey: key('lost_pps'),
            hint: 'Packets given up because a copy did not come in time',
          }),
          liveColumn({ id: 'drops', title: 'Drops', quantity: 'pps', sampleKey: key('drops_pps') }),
          liveColumn({
            id: 'cpu',
            title: 'CPU',
            quantity: 'share',
            sampleKey: key('cpu'),
            hint: 'Share of one core, measured',
          }),
        ]
      : []),
    {
      id: 'predicted',
      title: 'CPU predicted',
      number: true,
      value: ({ core_share }) => core_share,
      cell: ({ core_share }) => quantityText('share', core_share),
    },
    {
      id: 'cycles',
      title: 'Cycles',
      hint: 'For each packet, predicted',
      number: true,
      value: cyclesOf,
      cell: (joint) => {
        const cycles = cyclesOf(joint);
        return cycles === null ? '–' : amount(cycles, '');
      },
    },
  ];
}

const instanceKey =
  (metric: SampleMetric<'instance'>) =>
  ({ id }: Instance) =>
    sampleKey('instance', id, metric);

const INSTANCE_COLUMNS: readonly Column<Instance>[] = [
  { id: 'instance', title: 'Instance', value: ({ id }) => id, cell: ({ id }) => <code>{id}</code> },
  {
    id: 'place',
    title: 'Place',
    className: classes.place,
    value: (instance) => `${instance.server}, ${spotText({ ...instance, slot: instance.board ?? null })}`,
  },
  liveColumn({ id: 'rate', title: 'Rate', quantity: 'pps', sampleKey: instanceKey('pps') }),
  liveColumn({ id: 'drops', title: 'Drops', quantity: 'pps', sampleKey: instanceKey('drops_pps') }),
  liveColumn({ id: 'p50', title: 'Latency p50', quantity: 'us', sampleKey: instanceKey('latency_p50_us') }),
  liveColumn({
    id: 'cpu',
    title: 'CPU',
    quantity: 'share',
    sampleKey: instanceKey('cpu'),
    hint: 'Share of one core, measured',
  }),
  {
    id: 'predicted',
    title: 'CPU predicted',
    number: true,
    value: ({ core_share }) => core_share,
    cell: ({ core_share }) => quantityText('share', core_share),
  },
];

import { Button } from '@mantine/core';
import { generationOf, lineageOf, type Plan, type PlannedSplit } from '@orrery/contract';
import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';
import { lazy, Suspense, useState } from 'react';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../../shared/api/chains.js';
import { useCounters, useDeployments, useNfInstances } from '../../../shared/api/queries.js';
import { useMay } from '../../../shared/api/session.js';
import { InstanceTrouble } from '../../../shared/chain/instance-trouble.js';
import { SHOWN_WORDS } from '../../../shared/chain/nf-state.js';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { measuresLatency, runsOnText } from '../../../shared/format/form.js';
import { countText } from '../../../shared/format/number.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { RangeBar } from '../../../shared/plan/range-bar.js';
import { splitsOf } from '../../../shared/plan/splits.js';
import { ScalingPanel } from '../../../shared/scaling/scaling-panel.js';
import { SplitPanel } from '../../../shared/splits/split-panel.js';
import { DetailSection, Facts } from '../../../shared/ui/detail-panel.js';
import { LiveRate } from '../../../shared/ui/rate-text.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { type Chip, rateKey } from '../model.js';
import { InstanceFigures } from './instance-figures.js';
import { InstanceLog } from './instance-log.js';
import { InstanceShell } from './instance-shell.js';
import { originFact } from './origin-fact.js';

/** Drivers whose instances are programs of their own. */
const WRITE_LOGS: readonly string[] = ['container', 'process'];

const MoveFlowsDialog = lazy(() => import('./move-flows-dialog.js'));
const SplitDialog = lazy(() => import('../../../shared/splits/split-dialog.js'));

/** In a slot of a board and on a switch there is no core whose use could be measured. */
const usesCore = ({ slot, instance: { driver } }: Chip) =>
  slot === undefined && driver !== 'board' && driver !== 'switch';

/** What the number at the end of its name says of an instance that has moved. */
function nameText(id: string): string {
  const moves = generationOf(id) - 1;
  return `it was ${lineageOf(id)} before it moved${moves === 1 ? '' : `, ${moves} times so far`}: the number at the end grows by one each time`;
}

interface InstanceDetailProps {
  readonly chip: Chip;
  /** Those by which chains run. */
  readonly plans: readonly Plan[];
}

export function InstanceDetail({ chip, plans }: InstanceDetailProps) {
  const { instance } = chip;
  const { data: deployments } = useDeployments();
  const deployment = deployments?.find(({ chain_id }) => chain_id === instance.chain_id);
  // A plan also holds the chains that it left as they are: during a change the chain's own plan tells, and only that.
  const holding = plans.filter(({ graph }) => graph.nodes.some(({ id }) => id === chip.id));
  const running = holding.find(({ id }) => id === deployment?.plan_id) ?? holding[0];
  const splits = running ? splitsOf(running, chip.id) : [];
  const own = running?.splits?.find(({ targets }) => targets.some(({ instance_id }) => instance_id === chip.id));
  const titleOf = useChainTitle();
  const emulated = instance.origin === 'twin';
  const key = (metric: SampleMetric<'instance'>) => sampleKey('instance', chip.id, metric);
  return (
    <>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={chip.state} label={SHOWN_WORDS[chip.state]} />],
          ...(instance.detail ? [['Detail', <InstanceTrouble key="detail" instance={instance} />] as const] : []),
          [
            'Chain',
            <Link key="chain" to={chainPath(instance.chain_id)}>
              {titleOf(instance.chain_id)}
            </Link>,
          ],
          [
            'Function',
            <Link key="nf" to={`/catalogue?nf=${instance.nf}`}>
              {instance.nf}
            </Link>,
          ],
          ['Runs on', runsOnText(instance)],
          ...(chip.slot
            ? ([
                [
                  'Board',
                  <Link key="board" to="/accelerators">
                    {chip.slot.board}, with its load
                  </Link>,
                ],
              ] as const)
            : instance.driver === 'switch'
              ? []
              : ([['Queue', <LiveRate key="queue" sampleKey={key('queue')} quantity="count" inText />]] as const)),
          ...(generationOf(chip.id) > 1 ? [['Name', nameText(chip.id)] as const] : []),
          originFact(instance.origin),
        ]}
      />
      <TimeSeriesChart
        title="Packets"
        quantity="pps"
        emulated={emulated}
        height={110}
        series={
          chip.slot
            ? [
                { key: rateKey(chip), label: 'in' },
                { key: rateKey(chip).replace(/pps$/, 'lost_pps'), label: 'lost' },
              ]
            : [
                { key: key('pps'), label: 'in' },
                { key: key('drops_pps'), label: 'dropped' },
              ]
        }
      />
      {measuresLatency(instance.driver) && (
        <TimeSeriesChart
          title="Latency in the NF"
          silence="No packets"
          quantity="us"
          emulated={emulated}
          height={110}
          series={[
            { key: key('latency_p99_us'), label: 'p99' },
            { key: key('latency_p50_us'), label: 'p50' },
          ]}
        />
      )}
      {usesCore(chip) && (
        <TimeSeriesChart
          title="CPU"
          quantity="share"
          emulated={emulated}
          height={90}
          series={[{ key: key('cpu'), label: 'of one core' }]}
        />
      )}
      {running && own && (
        <DetailSection title={`Flows of ${own.node_id} by instance, by the hash of ${own.key.join(', ')}`}>
          <SplitPanel split={own} plan={running} />
        </DetailSection>
      )}
      {running && usesCore(chip) && (
        <DetailSection title={`Instances of ${instance.node_id}`}>
          <ScalingPanel nf={{ chain_id: instance.chain_id, node_id: instance.node_id }} plan={running} />
        </DetailSection>
      )}
      {splits.map(({ id, key: fields, parts }) => (
        <DetailSection key={id} title={`Flows on ${id}, by the hash of ${fields.join(', ')}`}>
          <RangeBar
            label={`Targets of ${id}`}
            parts={parts}
            rateOf={({ to }) => <LiveRate sampleKey={sampleKey('instance', to, 'pps')} quantity="pps" />}
          />
        </DetailSection>
      ))}
      <MoveFlows chip={chip} owned={running && own ? { plan: running, split: own } : null} />
      <InstanceFigures id={chip.id} />
      {WRITE_LOGS.includes(instance.driver) && <InstanceLog key={chip.id} id={chip.id} />}
      {instance.driver !== 'switch' && <InstanceShell key={`shell ${chip.id}`} instance={instance} />}
      <Counters chip={chip} />
    </>
  );
}

interface MoveFlowsProps {
  readonly chip: Chip;
  /** What splits the flows of its NF, and the plan in force; null: nothing. */
  readonly owned: { readonly plan: Plan; readonly split: PlannedSplit } | null;
}

/** The way to move flows to another instance of the NF; nothing where there is none. */
function MoveFlows({ chip: { instance }, owned }: MoveFlowsProps) {
  const { data } = useNfInstances();
  const { data: deployments } = useDeployments();
  const mayOperate = useMay('operator');
  const [open, setOpen] = useState<'move' | 'ranges' | null>(null);
  const close = () => setOpen(null);
  const deployment = deployments?.find(({ chain_id }) => chain_id === instance.chain_id);
  const isChanging = deployment?.state === 'deploying' || deployment?.state === 'undeploying';
  const canChange = owned !== null && deployment !== undefined && !isChanging;
  const targets = (data ?? []).filter(
    ({ id, nf, chain_id }) => id !== instance.id && nf === instance.nf && chain_id === instance.chain_id,
  );
  if (!mayOperate || targets.length === 0) return null;
  return (
    <DetailSection title="Flows">
      <Button variant="default" onClick={() => setOpen('move')}>
        Move flows…
      </Button>
      <Suspense fallback={null}>
        {open === 'move' && (
          <MoveFlowsDialog
            from={instance}
            targets={targets}
            split={owned?.split ?? null}
            onChangeRanges={canChange ? () => setOpen('ranges') : null}
            onClose={close}
          />
        )}
        {open === 'ranges' && owned && deployment && (
          <SplitDialog
            title={`Ranges of ${owned.split.node_id}`}
            split={owned.split}
            version={deployment.version}
            plan={owned.plan}
            asked={null}
            onClose={close}
          />
        )}
      </Suspense>
    </DetailSection>
  );
}

/** Packets since the instance started, and why some were dropped. */
function Counters({ chip }: { readonly chip: Chip }) {
  const { data } = useCounters(chip.instance.chain_id);
  const counters = data?.find(({ instance_id }) => instance_id === chip.id);
  if (!counters) return null;
  const drops = Object.entries(counters.drops).filter(([, count]) => count > 0);
  return (
    <DetailSection title="Since it started">
      <Facts
        items={[
          ['Packets in', countText(counters.packets_in)],
          ['Packets out', countText(counters.packets_out)],
          ['Bytes in', quantityText('bytes', counters.bytes_in)],
          ...drops.map(([reason, count]) => [`Dropped: ${reason}`, countText(count)] as const),
          ...(drops.length === 0 ? [['Dropped', 'none'] as const] : []),
        ]}
      />
    </DetailSection>
  );
}

import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';
import { Link } from 'react-router';
import { chainPath, useChainTitle } from '../../../shared/api/chains.js';
import { useCounters } from '../../../shared/api/queries.js';
import { SHOWN_WORDS } from '../../../shared/chain/nf-state.js';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { measuresLatency, runsOnText } from '../../../shared/format/form.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { DetailSection, Facts } from '../../../shared/ui/detail-panel.js';
import { LiveRate } from '../../../shared/ui/rate-text.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { type Chip, rateKey } from '../model.js';
import { originFact } from './origin-fact.js';

export function InstanceDetail({ chip }: { readonly chip: Chip }) {
  const { instance } = chip;
  const titleOf = useChainTitle();
  const emulated = instance.origin === 'twin';
  const key = (metric: SampleMetric<'instance'>) => sampleKey('instance', chip.id, metric);
  return (
    <>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={chip.state} label={SHOWN_WORDS[chip.state]} />],
          ...(instance.detail ? [['Detail', instance.detail] as const] : []),
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
            : ([['Queue', <LiveRate key="queue" sampleKey={key('queue')} quantity="count" />]] as const)),
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
      <TimeSeriesChart
        title="CPU"
        quantity="share"
        emulated={emulated}
        height={90}
        series={[{ key: key('cpu'), label: 'of one core' }]}
      />
      <Counters chip={chip} />
    </>
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
          ['Packets in', counters.packets_in.toLocaleString()],
          ['Packets out', counters.packets_out.toLocaleString()],
          ['Bytes in', quantityText('bytes', counters.bytes_in)],
          ...drops.map(([reason, count]) => [`Dropped: ${reason}`, count.toLocaleString()] as const),
          ...(drops.length === 0 ? [['Dropped', 'none'] as const] : []),
        ]}
      />
    </DetailSection>
  );
}

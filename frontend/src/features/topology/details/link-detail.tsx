import { sampleKey } from '@orrery/contract/sample-keys';
import { Link } from 'react-router';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { countText } from '../../../shared/format/number.js';
import { quantityText } from '../../../shared/format/quantity.js';
import { useLink, useStale } from '../../../shared/stream/hooks.js';
import { Facts } from '../../../shared/ui/detail-panel.js';
import { RateText } from '../../../shared/ui/rate-text.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import type { SceneLink } from '../model.js';
import { originFact } from './origin-fact.js';

export function LinkDetail({ link }: { readonly link: SceneLink }) {
  const now = useLink(link.id);
  const stale = useStale(now?.received_ms);
  const emulated = link.origin === 'twin';
  return (
    <>
      <Facts
        items={[
          ['State', <StatusBadge key="state" state={now?.up === false ? 'down' : 'up'} />],
          [`${link.a} to ${link.b}`, <RateText key="ab" quantity="bps" value={now?.a_to_b_bps} stale={stale} />],
          [`${link.b} to ${link.a}`, <RateText key="ba" quantity="bps" value={now?.b_to_a_bps} stale={stale} />],
          ['Utilization', <RateText key="u" quantity="share" value={now?.utilization} stale={stale} />],
          ['Drops', now ? countText(now.drops) : '–'],
          ['Bandwidth', quantityText('bps', link.bandwidth_bps)],
          ['Delay', quantityText('us', link.delay_us)],
          ...(link.jitter_us > 0 ? [['Jitter', `± ${quantityText('us', link.jitter_us)}`] as const] : []),
          ...(link.loss > 0 ? [['Loss', quantityText('share', link.loss)] as const] : []),
          originFact(link.origin),
        ]}
      />
      <TimeSeriesChart
        title="Rate"
        quantity="bps"
        emulated={emulated}
        height={160}
        series={[
          { key: sampleKey('link', link.id, 'a_to_b_bps'), label: `${link.a} to ${link.b}` },
          { key: sampleKey('link', link.id, 'b_to_a_bps'), label: `${link.b} to ${link.a}` },
        ]}
      />
      {emulated && (
        <p className="muted">
          Take it down or bring it back up in the <Link to="/twin">twin lab</Link>.
        </p>
      )}
    </>
  );
}

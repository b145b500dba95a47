import { SegmentedControl, Skeleton } from '@mantine/core';
import type { SloHistory } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { call } from '../../shared/api/client.js';
import type { AlignedData } from '../../shared/charts/chart-data.js';
import { ChartFrame } from '../../shared/charts/chart-frame.js';
import { useParts } from '../../shared/charts/chart-parts.js';
import { useMarkedEvents } from '../../shared/charts/event-marks.js';
import type { Quantity } from '../../shared/format/quantity.js';
import { DetailSection } from '../../shared/ui/detail-panel.js';
import { ErrorState } from '../../shared/ui/states.js';
import { columnOf, isKnown, RANGES } from './history.js';

const Plot = lazy(() => import('../../shared/charts/plot.js'));

const REFRESH_MS = 10_000;
const HEIGHT = 120;

function useSloHistory(chain_id: string, slo_id: string, seconds: number) {
  return useQuery({
    queryKey: ['slo-history', chain_id, slo_id, seconds],
    queryFn: ({ signal }) => {
      // By the server's clock: this browser's may be wrong.
      const query = { span: seconds };
      return call('getSloHistory', { params: { chain_id, slo_id }, query }, { signal });
    },
    refetchInterval: REFRESH_MS,
  });
}

interface HistoryChartsProps {
  readonly chainId: string;
  readonly sloId: string;
}

/** What was left of the budget, and how fast it was used up. */
export function HistoryCharts({ chainId, sloId }: HistoryChartsProps) {
  const [seconds, setSeconds] = useState<string>(RANGES[0].value);
  const { data, error, refetch } = useSloHistory(chainId, sloId, Number(seconds));
  return (
    <DetailSection title="Budget over time">
      <SegmentedControl aria-label="Range" size="xs" value={seconds} onChange={setSeconds} data={[...RANGES]} />
      {error && !data ? (
        <ErrorState error={error} retry={() => refetch()} title="No history" />
      ) : !data ? (
        <Skeleton height={2 * HEIGHT} />
      ) : !isKnown(data) ? (
        <p className="muted">Nothing was judged in this time.</p>
      ) : (
        <Charts chainId={chainId} history={data} seconds={Number(seconds)} />
      )}
    </DetailSection>
  );
}

interface ChartsProps {
  readonly chainId: string;
  readonly history: SloHistory;
  readonly seconds: number;
}

function Charts({ chainId, history, seconds }: ChartsProps) {
  const end_s = history.to_ms / 1000;
  const range = { from_s: end_s - seconds, to_s: end_s };
  const parts = useParts([sampleKey('chain', chainId, 'pps')]);
  const marked = useMarkedEvents(seconds, parts, range.from_s);
  const figure = (title: string, quantity: Quantity, data: AlignedData, threshold: number) => (
    <ChartFrame
      title={title}
      quantity={quantity}
      series={[{ key: title, label: title }]}
      data={data}
      height={HEIGHT}
      marked={marked}
    >
      <Suspense fallback={<Skeleton height={HEIGHT} />}>
        <Plot
          title={title}
          events={marked.events}
          series={[{ label: title }]}
          data={data}
          ahead_ms={0}
          quantity={quantity}
          height={HEIGHT}
          windowS={seconds}
          threshold={threshold}
          range={range}
          onCursor={() => undefined}
        />
      </Suspense>
    </ChartFrame>
  );
  return (
    <>
      {figure(
        'Budget left',
        'share',
        columnOf(history, ({ left_share }) => left_share),
        0,
      )}
      {figure(
        'Burn rate',
        'count',
        columnOf(history, ({ burn }) => burn),
        1,
      )}
    </>
  );
}

import { SegmentedControl, Skeleton } from '@mantine/core';
import type { SloHistory, SloStatus } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { call } from '../../shared/api/client.js';
import { type AlignedData, valueAt } from '../../shared/charts/chart-data.js';
import { ChartFrame } from '../../shared/charts/chart-frame.js';
import { ChartLegend } from '../../shared/charts/chart-legend.js';
import { useParts } from '../../shared/charts/chart-parts.js';
import { type MarkedEvents, useMarkedEvents } from '../../shared/charts/event-marks.js';
import type { TimeRange } from '../../shared/charts/time-range.js';
import { type Quantity, quantityOfUnit } from '../../shared/format/quantity.js';
import { dateTimeText } from '../../shared/format/time.js';
import { DetailSection } from '../../shared/ui/detail-panel.js';
import { ErrorState } from '../../shared/ui/states.js';
import { windowText } from './budget.js';
import { columnsOf, isKnown, RANGES } from './history.js';

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
  readonly slo: Pick<SloStatus, 'chain_id' | 'slo_id' | 'unit' | 'target'>;
}

/** What was measured, what was left of the budget, and how fast it was used up. */
export function HistoryCharts({ slo }: HistoryChartsProps) {
  const [seconds, setSeconds] = useState<string>(RANGES[0].value);
  const { data, error, refetch } = useSloHistory(slo.chain_id, slo.slo_id, Number(seconds));
  return (
    <DetailSection title="Over time">
      <SegmentedControl aria-label="Range" size="xs" value={seconds} onChange={setSeconds} data={[...RANGES]} />
      {error && !data ? (
        <ErrorState error={error} retry={() => refetch()} title="No history" />
      ) : !data ? (
        <Skeleton height={3 * HEIGHT} />
      ) : !isKnown(data) ? (
        <p className="muted">Nothing was judged in this time.</p>
      ) : (
        <Charts slo={slo} history={data} seconds={Number(seconds)} />
      )}
    </DetailSection>
  );
}

interface ChartsProps extends HistoryChartsProps {
  readonly history: SloHistory;
  readonly seconds: number;
}

function Charts({ slo, history, seconds }: ChartsProps) {
  const end_s = history.to_ms / 1000;
  const range = { from_s: end_s - seconds, to_s: end_s };
  const parts = useParts([sampleKey('chain', slo.chain_id, 'pps')]);
  const marked = useMarkedEvents(seconds, parts, range.from_s);
  const common = { marked, range };
  return (
    <>
      <HistoryChart
        {...common}
        title="Measured"
        quantity={quantityOfUnit(slo.unit)}
        labels={['mean', 'worst']}
        data={columnsOf(
          history,
          ({ mean }) => mean,
          ({ worst }) => worst,
        )}
        threshold={slo.target}
        note={`Mean and worst of each ${windowText(history.step_s)}. The dashed red line is the target.`}
      />
      <HistoryChart
        {...common}
        title="Budget left"
        quantity="share"
        labels={['Budget left']}
        data={columnsOf(history, ({ left_share }) => left_share)}
        threshold={0}
      />
      <HistoryChart
        {...common}
        title="Burn rate"
        quantity="count"
        labels={['Burn rate']}
        data={columnsOf(history, ({ burn }) => burn)}
        threshold={1}
      />
    </>
  );
}

interface HistoryChartProps {
  readonly title: string;
  readonly quantity: Quantity;
  /** Of each series. */
  readonly labels: readonly string[];
  readonly data: AlignedData;
  readonly threshold: number;
  readonly marked: MarkedEvents;
  readonly range: TimeRange;
  readonly note?: string;
}

function HistoryChart(props: HistoryChartProps) {
  const { title, quantity, labels, data, threshold, marked, range, note } = props;
  const [cursor, setCursor] = useState<number | null>(null);
  const series = labels.map((label) => ({ key: label, label }));
  const [times] = data;
  const at = Math.min(cursor ?? times.length, times.length - 1);
  return (
    <ChartFrame
      title={title}
      quantity={quantity}
      series={series}
      data={data}
      height={HEIGHT}
      marked={marked}
      time={cursor === null ? '' : dateTimeText(times[at]! * 1000)}
      legend={
        labels.length > 1 && (
          <ChartLegend
            series={series}
            quantity={quantity}
            values={series.map((_, index) => valueAt(data, index, at))}
            levels={[]}
          />
        )
      }
      note={note}
    >
      <Suspense fallback={<Skeleton height={HEIGHT} />}>
        <Plot
          title={title}
          events={marked.events}
          series={series}
          data={data}
          ahead_ms={0}
          quantity={quantity}
          height={HEIGHT}
          windowS={range.to_s - range.from_s}
          threshold={threshold}
          range={range}
          onCursor={setCursor}
        />
      </Suspense>
    </ChartFrame>
  );
}

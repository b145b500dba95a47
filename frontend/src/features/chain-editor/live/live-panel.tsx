import { type SampleMetric, sampleKey } from '@orrery/contract/sample-keys';
import { useDerived, useEditorContext } from '../../../shared/chain-draft/context.js';
import { TimeSeriesChart } from '../../../shared/charts/time-series-chart.js';
import { useSample } from '../../../shared/stream/hooks.js';
import { EmptyState } from '../../../shared/ui/states.js';
import classes from './live-panel.module.css';
import { SloTable } from './slo-table.js';

const WINDOW_S = 300;
const PLOT_PX = 128;
/** An objective further above the measured latency would flatten the curve. */
const SHOW_LIMIT_WITHIN = 8;

/** Live figures of the deployed chain: rate and latency on one time axis, next to its objectives. */
export default function LivePanel() {
  const { chain } = useEditorContext();
  const { placed, deployed } = useDerived((derived) => derived);
  const p99 = useSample(sampleKey('chain', chain.id, 'latency_p99_us'))?.value ?? 0;
  if (chain.deployed_version === null) {
    return (
      <EmptyState title="The chain is not deployed">
        Its rate, latency and objectives are shown here once it is.
      </EmptyState>
    );
  }
  const key = (metric: SampleMetric<'chain'>) => sampleKey('chain', chain.id, metric);
  const emulated = [...placed.values()].flat().some((instance) => instance.origin === 'twin');
  const limits = (deployed?.slos ?? []).flatMap((slo) => (slo.kind === 'latency' ? [slo.max_us] : []));
  const limit = Math.min(...limits);
  return (
    <div className={classes.panel}>
      <div className={classes.chart}>
        <TimeSeriesChart
          title="Rate"
          quantity="pps"
          series={[{ key: key('pps'), label: 'Packets that leave the chain' }]}
          windowS={WINDOW_S}
          height={PLOT_PX}
          emulated={emulated}
        />
      </div>
      <div className={classes.chart}>
        <TimeSeriesChart
          title="Latency"
          silence="No packets"
          quantity="us"
          series={[
            { key: key('latency_p50_us'), label: 'p50' },
            { key: key('latency_p99_us'), label: 'p99' },
          ]}
          windowS={WINDOW_S}
          height={PLOT_PX}
          threshold={limit <= p99 * SHOW_LIMIT_WITHIN ? limit : undefined}
          emulated={emulated}
        />
      </div>
      <SloTable />
    </div>
  );
}

import { sampleKey } from '@orrery/contract/sample-keys';
import { useChainTitle } from '../../shared/api/chains.js';
import { useDeployments, useNfInstances } from '../../shared/api/queries.js';
import { TimeSeriesChart } from '../../shared/charts/time-series-chart.js';
import { Panel } from '../../shared/page/page-header.js';

/** More lines than this are indistinguishable in one chart. */
const CHART_CHAINS = 6;

export function Throughput() {
  const { data } = useDeployments();
  const instances = useNfInstances();
  const titleOf = useChainTitle();
  if (!data || data.length === 0) return null;
  const shown = data.slice(0, CHART_CHAINS);
  return (
    <Panel>
      <TimeSeriesChart
        title="Throughput of the chains"
        quantity="bps"
        windowS={300}
        height={160}
        emulated={instances.data?.some(({ origin }) => origin === 'twin')}
        series={shown.map(({ chain_id: id }) => ({ key: sampleKey('chain', id, 'bps'), label: titleOf(id) }))}
        note={data.length > shown.length ? `The first ${shown.length} of ${data.length} chains.` : undefined}
      />
    </Panel>
  );
}

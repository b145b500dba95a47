import type { NfInstance } from '@orrery/contract';
import { instancesPrefix, sampleKey } from '@orrery/contract/sample-keys';
import { useNfInstances } from '../../shared/api/queries.js';
import { useWantSamples } from '../../shared/stream/hooks.js';
import type { Column } from '../../shared/table/column.js';
import { DataTable } from '../../shared/table/data-table.js';
import { liveColumn } from '../../shared/table/live-column.js';
import { DetailSection } from '../../shared/ui/detail-panel.js';
import { EmptyState } from '../../shared/ui/states.js';

const key = (metric: 'latency_p50_us' | 'latency_p99_us' | 'full_pps') => (row: NfInstance) =>
  sampleKey('instance', row.id, metric);

const COLUMNS: readonly Column<NfInstance>[] = [
  { id: 'nf', title: 'NF', value: ({ id }) => id },
  liveColumn({ id: 'p50', title: 'p50', quantity: 'us', sampleKey: key('latency_p50_us') }),
  liveColumn({ id: 'p99', title: 'p99', quantity: 'us', sampleKey: key('latency_p99_us') }),
  liveColumn({ id: 'full', title: 'No room', quantity: 'pps', sampleKey: key('full_pps') }),
];

/** Where packets of the chain spend their time, and where they find no room. */
export function ChainHops({ chainId, chainName }: { readonly chainId: string; readonly chainName: string }) {
  const query = useNfInstances();
  useWantSamples([instancesPrefix(chainName)]);
  const rows = (query.data ?? []).filter(({ chain_id }) => chain_id === chainId);
  return (
    <DetailSection title="NFs of the chain">
      <DataTable
        label="NFs of the chain"
        query={query}
        cards={300}
        columns={COLUMNS}
        rows={rows}
        rowKey={({ id }) => id}
        empty={<EmptyState title="No NF of the chain runs" />}
      />
    </DetailSection>
  );
}

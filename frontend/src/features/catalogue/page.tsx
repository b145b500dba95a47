import { IconBooks } from '@tabler/icons-react';
import { useNfDescriptors } from '../../shared/api/queries.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { DetailPanel, WithDetail } from '../../shared/ui/detail-panel.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { COLUMNS } from './columns.js';
import { DescriptorDetail } from './descriptor-detail.js';

export function Component() {
  const query = useNfDescriptors();
  const settings = useTableAddress();
  const [selectedId, select] = useUrlParam('nf');
  const all = query.data ?? [];
  const selected = all.find(({ id }) => id === selectedId);
  return (
    <WithDetail
      detail={
        selected && (
          <DetailPanel
            key={selected.id}
            label={`Network function ${selected.title}`}
            title={selected.title}
            onClose={() => select(null)}
          >
            <DescriptorDetail descriptor={selected} />
          </DetailPanel>
        )
      }
    >
      <PageHeader description="Network functions for chains: what they read and change in a packet, and what a packet costs." />
      <PageBody>
        <Panel>
          <DataTable
            label="Network functions"
            query={query}
            settings={settings}
            cards={800}
            columns={COLUMNS}
            rows={all}
            rowKey={({ id }) => id}
            selectedKey={selectedId}
            onSelect={({ id }) => select(id)}
            empty={
              <EmptyState icon={IconBooks} title="The catalogue is empty">
                A network function is a folder with a descriptor; the server reads them when it starts.
              </EmptyState>
            }
          />
        </Panel>
      </PageBody>
    </WithDetail>
  );
}

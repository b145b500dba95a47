import { Button } from '@mantine/core';
import type { CataloguedNf } from '@orrery/contract';
import { IconBooks, IconPlus } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useNfDescriptors } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { DetailPanel, WithDetail } from '../../shared/ui/detail-panel.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { COLUMNS } from './columns.js';
import { DescriptorActions } from './descriptor-actions.js';
import { DescriptorDetail } from './descriptor-detail.js';
import { LearnActions } from './learn-actions.js';

const DescriptorDialog = lazy(() => import('./descriptor-dialog.js'));

export function Component() {
  const query = useNfDescriptors();
  const settings = useTableAddress();
  const [selectedId, select] = useUrlParam('nf');
  const may = useMay('admin');
  /** The NF that is edited; `new`: one that is added. */
  const [edited, setEdited] = useState<CataloguedNf | 'new' | null>(null);
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
            {may && selected.written && (
              <DescriptorActions
                descriptor={selected}
                onEdit={() => setEdited(selected)}
                onDeleted={() => select(null)}
              />
            )}
            {may && <LearnActions descriptor={selected} />}
            <DescriptorDetail descriptor={selected} />
          </DetailPanel>
        )
      }
    >
      <PageHeader
        description="Network functions for chains: what they read and change in a packet, and what a packet costs."
        actions={
          may && (
            <Button leftSection={<IconPlus size={14} />} onClick={() => setEdited('new')}>
              New NF…
            </Button>
          )
        }
      />
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
        {edited && (
          <Suspense fallback={null}>
            <DescriptorDialog
              edited={edited === 'new' ? null : edited}
              onClose={() => setEdited(null)}
              onSaved={(id) => {
                setEdited(null);
                select(id);
              }}
            />
          </Suspense>
        )}
      </PageBody>
    </WithDetail>
  );
}

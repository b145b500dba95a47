import { Select } from '@mantine/core';
import { IconListCheck } from '@tabler/icons-react';
import { useMemo } from 'react';
import { Link } from 'react-router';
import { deletedChain, useChainTitle } from '../../shared/api/chains.js';
import { useOperation, useOperations } from '../../shared/api/queries.js';
import { chainsOf, operationTitle } from '../../shared/format/operation.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { useNow } from '../../shared/stream/clock.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { DetailPanel, WithDetail } from '../../shared/ui/detail-panel.js';
import { EmptyState, ErrorState, LoadingRows } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { operationColumns } from './columns.js';
import { OperationDetail } from './operation-detail.js';

const STATES = [
  'PROCESSING',
  'COMPLETED',
  'PARTIALLY_COMPLETED',
  'FAILED_TEMP',
  'FAILED',
  'ROLLING_BACK',
  'ROLLED_BACK',
] as const;

/** The selected operation; it may be older than those in the list. */
function Selected({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useOperation(id);
  const titleOf = useChainTitle(deletedChain, query.data && chainsOf([query.data]));
  return (
    <DetailPanel
      label={`Operation ${id}`}
      title={query.data ? operationTitle(query.data, titleOf) : id}
      onClose={onClose}
    >
      {query.data ? (
        <OperationDetail operation={query.data} titleOf={titleOf} />
      ) : query.error ? (
        <ErrorState error={query.error} retry={() => void query.refetch()} />
      ) : (
        <LoadingRows />
      )}
    </DetailPanel>
  );
}

export function Component() {
  const query = useOperations();
  const titleOf = useChainTitle(deletedChain, query.data && chainsOf(query.data.items));
  const now = useNow();
  const [state, setState] = useUrlParam('state');
  const [selectedId, select] = useUrlParam('op');
  const settings = useTableAddress();
  const columns = useMemo(() => operationColumns(titleOf, now), [titleOf, now]);
  const items = (query.data?.items ?? []).filter((operation) => state === '' || operation.state === state);
  return (
    <WithDetail detail={selectedId && <Selected key={selectedId} id={selectedId} onClose={() => select(null)} />}>
      <PageHeader description="Deployments, reconfigurations and infrastructure changes, step by step.">
        <Select
          aria-label="State"
          placeholder="All states"
          clearable
          data={STATES.map((value) => ({ value, label: value.toLowerCase().replaceAll('_', ' ') }))}
          value={state || null}
          onChange={setState}
        />
      </PageHeader>
      <PageBody>
        <Panel>
          <DataTable
            label="Operations"
            query={query}
            settings={settings}
            cards={620}
            columns={columns}
            rows={items}
            rowKey={({ id }) => id}
            selectedKey={selectedId}
            onSelect={({ id }) => select(id)}
            empty={
              <EmptyState
                icon={IconListCheck}
                title={state ? 'No operation is in this state' : 'Nothing was deployed yet'}
              >
                {!state && (
                  <>
                    Deploy a <Link to="/chains">chain</Link>; its steps appear here.
                  </>
                )}
              </EmptyState>
            }
          />
        </Panel>
      </PageBody>
    </WithDetail>
  );
}

import { Select } from '@mantine/core';
import type { Operation } from '@orrery/contract';
import { IconListCheck } from '@tabler/icons-react';
import { Link } from 'react-router';
import { deletedChain, useChainTitle } from '../../shared/api/chains.js';
import { useOperation, useOperations } from '../../shared/api/queries.js';
import { durationText } from '../../shared/format/time.js';
import { useNow } from '../../shared/stream/clock.js';
import { DetailPanel, WithDetail } from '../../shared/ui/detail-panel.js';
import { PageBody, PageHeader, Panel } from '../../shared/ui/page-header.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState, ErrorState, LoadingRows, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { OperationDetail } from './operation-detail.js';
import classes from './operations.module.css';
import { durationMs, progressOf } from './progress.js';

const STATES = [
  'PROCESSING',
  'COMPLETED',
  'PARTIALLY_COMPLETED',
  'FAILED_TEMP',
  'FAILED',
  'ROLLING_BACK',
  'ROLLED_BACK',
] as const;

const KINDS: Record<Operation['kind'], string> = {
  deploy: 'Deploy',
  undeploy: 'Take down',
  infrastructure: 'Change infrastructure',
  reconfigure: 'Reconfigure',
};

export function operationTitle(operation: Operation, titleOf: (id: string) => string): string {
  return `${KINDS[operation.kind]} ${operation.kind === 'infrastructure' ? operation.subject : titleOf(operation.subject)}`;
}

function ProgressBar({ operation }: { readonly operation: Operation }) {
  const { done, total, failed, share } = progressOf(operation);
  return (
    <span className={classes.progress}>
      <span className={classes.track} data-failed={failed > 0 || undefined}>
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span className="muted tabular">
        {done} of {total}
      </span>
    </span>
  );
}

/** The selected operation; it may be older than what the list holds. */
function Selected({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const query = useOperation(id);
  const titleOf = useChainTitle(deletedChain);
  return (
    <DetailPanel
      label={`Operation ${id}`}
      title={query.data ? operationTitle(query.data, titleOf) : id}
      onClose={onClose}
    >
      {query.data ? (
        <OperationDetail operation={query.data} />
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
  const titleOf = useChainTitle(deletedChain);
  const now = useNow();
  const [state, setState] = useUrlParam('state');
  const [selectedId, select] = useUrlParam('op');
  const items = (query.data?.items ?? []).filter((operation) => state === '' || operation.state === state);
  return (
    <WithDetail detail={selectedId && <Selected key={selectedId} id={selectedId} onClose={() => select(null)} />}>
      <PageHeader
        title="Operations"
        description="Work that outlives its request: deployments and changes of the infrastructure, step by step."
      >
        <Select
          aria-label="State"
          placeholder="Every state"
          clearable
          data={STATES.map((value) => ({ value, label: value.toLowerCase().replaceAll('_', ' ') }))}
          value={state || null}
          onChange={setState}
        />
      </PageHeader>
      <PageBody>
        <Panel flush>
          <QueryBoundary query={query}>
            {items.length === 0 ? (
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
            ) : (
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">Operation</th>
                    <th scope="col">State</th>
                    <th scope="col">Steps</th>
                    <th scope="col" className="number">
                      Duration
                    </th>
                    <th scope="col" className="number" title="From the start until a packet crossed the whole chain">
                      First packet
                    </th>
                    <th scope="col">Started</th>
                    <th scope="col">By</th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((operation) => (
                    <tr key={operation.id} data-clickable="true" data-selected={operation.id === selectedId}>
                      <td>
                        <button type="button" className="row-link" onClick={() => select(operation.id)}>
                          {operationTitle(operation, titleOf)}
                        </button>
                        {operation.error && <div className={classes.error}>{operation.error.detail}</div>}
                      </td>
                      <td>
                        <StatusBadge state={operation.state} />
                      </td>
                      <td>
                        <ProgressBar operation={operation} />
                      </td>
                      <td className="number">{durationText(durationMs(operation, now))}</td>
                      <td className="number">
                        {operation.first_packet_ms === null ? (
                          <span className="muted">–</span>
                        ) : (
                          durationText(operation.first_packet_ms - operation.started_ms)
                        )}
                      </td>
                      <td>
                        <RelativeTime t_ms={operation.started_ms} />
                      </td>
                      <td>{operation.by}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </QueryBoundary>
        </Panel>
      </PageBody>
    </WithDetail>
  );
}

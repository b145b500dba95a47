import { Button } from '@mantine/core';
import { IconRouteSquare } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useInfrastructure, useServicePools, useServiceRequestCounts } from '../../shared/api/queries.js';
import { useNeeds } from '../../shared/api/session.js';
import { countText } from '../../shared/format/number.js';
import { PageBody, PageHeader, Panel } from '../../shared/page/page-header.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { WithDetail } from '../../shared/ui/detail-panel.js';
import { LastKnown } from '../../shared/ui/last-known.js';
import { Reason } from '../../shared/ui/reason.js';
import { EmptyState } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { REQUEST_COLUMNS } from './columns.js';
import { DismissRequests } from './dismiss-requests.js';
import { Pools } from './pools.js';
import { RequestDetail } from './request-detail.js';
import { NO_REQUESTS, useServiceRequest, useServiceRequests } from './requests-query.js';
import classes from './service-requests.module.css';

const BulkDialog = lazy(() => import('./bulk-dialog.js'));
const PoolDialog = lazy(() => import('./pool-dialog.js'));
const RequestDialog = lazy(() => import('./request-dialog.js'));

export function Component() {
  const settings = useTableAddress();
  const [wantsAll, setWantsAll] = useState(false);
  const needsAll = wantsAll || settings.filter !== '' || settings.sort !== null;
  const query = useServiceRequests(needsAll);
  const isAll = needsAll && !query.isPlaceholderData;
  const counts = useServiceRequestCounts();
  const pools = useServicePools();
  const infrastructure = useInfrastructure();
  const [selectedId, select] = useUrlParam('request');
  const [open, setOpen] = useState<'request' | 'bulk' | 'pool' | null>(null);
  const [mayRequest, mayDesign] = [useNeeds('operator'), useNeeds('designer')];
  const { items: requests, newest, total } = query.data ?? NO_REQUESTS;
  const [first] = pools.data ?? [];
  const filteredPool = pools.data?.find(({ id }) => id === settings.filter)?.id;
  const listed = requests.find(({ id }) => id === selectedId);
  const unlisted = useServiceRequest(selectedId !== '' && query.data && !listed ? selectedId : null);
  const selected = listed ?? unlisted.data;
  const { active, late, broken } = counts.data ?? { active: 0, late: 0, broken: 0 };
  const close = () => setOpen(null);
  const isUnknown = !pools.data && (pools.error ? 'The pools could not be read' : 'The pools are being read');
  const noPool = first ? null : isUnknown || 'There is no pool yet';
  return (
    <WithDetail
      detail={
        selected && (
          <RequestDetail
            key={selected.id}
            request={selected}
            pool={pools.data?.find(({ id }) => id === selected.pool)}
            onClose={() => select(null)}
          />
        )
      }
    >
      <PageHeader
        description={
          requests.length === 0 || !counts.data ? (
            'Ways through shared instances within a latency: chosen, enforced and measured.'
          ) : (
            <LastKnown word=" Stale.">
              {`${countText(active)} active`}
              {late > 0 && `, ${countText(late)} late: slower than their bounds`}
              {broken > 0 ? `, ${countText(broken)} broken: no other way is left.` : '.'}
            </LastKnown>
          )
        }
        actions={
          <>
            <DismissRequests pool={filteredPool} isFiltered={settings.filter !== ''} />
            <Reason of={mayDesign}>
              <Button variant="default" disabled={mayDesign !== null} onClick={() => setOpen('pool')}>
                New pool
              </Button>
            </Reason>
            <Reason of={mayRequest ?? noPool}>
              <Button variant="default" disabled={(mayRequest ?? noPool) !== null} onClick={() => setOpen('bulk')}>
                In bulk
              </Button>
            </Reason>
            <Reason of={mayRequest ?? noPool}>
              <Button disabled={(mayRequest ?? noPool) !== null} onClick={() => setOpen('request')}>
                New request
              </Button>
            </Reason>
          </>
        }
      />
      <PageBody>
        <Panel>
          <DataTable
            label="Service requests"
            query={query}
            settings={settings}
            cards={620}
            columns={REQUEST_COLUMNS}
            rows={requests}
            rowKey={({ id }) => id}
            selectedKey={selectedId}
            onSelect={({ id }) => select(id)}
            footer={
              total > requests.length && (
                <div className={classes.more}>
                  <span className="muted">
                    {`The newest ${countText(newest)} of ${countText(total)}`}
                    {requests.length > newest && `, after ${countText(requests.length - newest)} older in trouble`}
                    {isAll ? ', which are as many as can be shown.' : '.'}
                  </span>
                  {!isAll && (
                    <Button variant="default" size="compact-xs" loading={wantsAll} onClick={() => setWantsAll(true)}>
                      Read all
                    </Button>
                  )}
                </div>
              )
            }
            empty={
              <EmptyState icon={IconRouteSquare} title="No service requests">
                {first || isUnknown
                  ? 'Request a way through functions of a pool.'
                  : 'Deploy a pool of NFs first, which requests share.'}
              </EmptyState>
            }
          />
        </Panel>
        <Pools />
      </PageBody>
      <Suspense>
        {open === 'bulk' && first && <BulkDialog pool={first} onClose={close} />}
        {open === 'pool' && <PoolDialog hosts={infrastructure.data?.hosts.map(({ id }) => id) ?? []} onClose={close} />}
        {open === 'request' && first && (
          <RequestDialog
            pool={first}
            onClose={close}
            onSent={({ id }) => {
              close();
              select(id);
            }}
          />
        )}
      </Suspense>
    </WithDetail>
  );
}

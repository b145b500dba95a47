import { IconPlugConnected } from '@tabler/icons-react';
import { useCapabilities } from '../../shared/api/queries.js';
import { PageBody, PageHeader, Panel } from '../../shared/ui/page-header.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './capabilities.module.css';

export function Component() {
  const query = useCapabilities();
  // Missing parts first: they are what one comes here for.
  const items = [...(query.data ?? [])].sort(
    (a, b) => Number(a.available) - Number(b.available) || a.title.localeCompare(b.title),
  );
  const missing = items.filter(({ available }) => !available);
  return (
    <>
      <PageHeader
        title="Capabilities"
        description={
          query.data
            ? `${items.length - missing.length} of ${items.length} are available; of the ${missing.length} missing ones ${missing.filter(({ fallback }) => fallback).length} are replaced.`
            : 'What this installation can do, probed when it started, and what stands in for a missing part.'
        }
      />
      <PageBody>
        <Panel flush>
          <QueryBoundary query={query}>
            {items.length === 0 ? (
              <EmptyState icon={IconPlugConnected} title="Nothing was probed yet">
                The list fills when the server has looked at this machine.
              </EmptyState>
            ) : (
              <table className="table">
                <thead>
                  <tr>
                    <th scope="col">Capability</th>
                    <th scope="col">State</th>
                    <th scope="col">Where</th>
                    <th scope="col">Found</th>
                    <th scope="col">Replaced by</th>
                  </tr>
                </thead>
                <tbody>
                  {items.map(({ id, title, where, available, detail, fallback }) => (
                    <tr key={`${where}/${id}`}>
                      <td className={classes.title}>{title}</td>
                      <td>
                        {available ? (
                          <StatusBadge state="available" status="healthy" />
                        ) : fallback ? (
                          <StatusBadge state="replaced" status="degraded" />
                        ) : (
                          <StatusBadge state="missing" status="failed" />
                        )}
                      </td>
                      <td className={classes.where}>{where}</td>
                      <td className={classes.detail}>{detail}</td>
                      <td className={classes.detail}>
                        {fallback ?? <span className="muted">{available ? '' : 'nothing'}</span>}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </QueryBoundary>
        </Panel>
      </PageBody>
    </>
  );
}

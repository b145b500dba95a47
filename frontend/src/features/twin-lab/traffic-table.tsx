import { Button } from '@mantine/core';
import { IconPlayerStop, IconSend } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { useTraffic } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Panel } from '../../shared/ui/page-header.js';
import { RateText } from '../../shared/ui/rate-text.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { isRunning, lossShare, trafficRoute, trafficSettings } from './traffic-text.js';
import classes from './twin-lab.module.css';

export function TrafficTable() {
  const query = useTraffic();
  const queries = useQueryClient();
  const mayOperate = useMay('operator');
  const stop = useMutation({
    mutationFn: (id: string) => call('stopTraffic', { params: { id } }),
    onError: (error) => notifyError('The traffic was not stopped', error),
    onSettled: () => queries.invalidateQueries({ queryKey: ['twin'] }),
  });
  const items = [...(query.data ?? [])].sort(
    (a, b) => Number(isRunning(b)) - Number(isRunning(a)) || b.started_ms - a.started_ms,
  );
  return (
    <Panel title="Traffic" flush>
      <QueryBoundary query={query} rows={3}>
        {items.length === 0 ? (
          <EmptyState icon={IconSend} title="No traffic">
            Start some; the counters of the chains move with it.
          </EmptyState>
        ) : (
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Traffic</th>
                <th scope="col">State</th>
                <th scope="col" className="number">
                  Sent
                </th>
                <th scope="col" className="number">
                  Lost
                </th>
                <th scope="col" className="number">
                  Rate
                </th>
                <th scope="col" className="number">
                  p50
                </th>
                <th scope="col" className="number">
                  p99
                </th>
                <th scope="col">
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => {
                const loss = lossShare(item);
                const name = `${item.request.kind}, ${trafficRoute(item)}`;
                return (
                  <tr key={item.id}>
                    <td className={classes.traffic}>
                      <strong>{item.request.kind}</strong> {trafficRoute(item)}
                      <span className={classes.small}>{trafficSettings(item)}</span>
                      <span className={classes.small}>
                        started <RelativeTime t_ms={item.started_ms} />
                      </span>
                      {item.detail && (
                        <span className={classes.small} data-failed={item.state === 'failed' || undefined}>
                          {item.detail}
                        </span>
                      )}
                    </td>
                    <td>
                      <StatusBadge state={item.state} />
                    </td>
                    <td className="number" title={item.sent.toLocaleString()}>
                      <RateText quantity="count" value={item.sent} />
                    </td>
                    <td className="number">
                      {loss === null ? <span className="muted">–</span> : <RateText quantity="share" value={loss} />}
                    </td>
                    <td className="number">
                      <RateText quantity="bps" value={item.bits_per_second} />
                    </td>
                    <td className="number">
                      <RateText quantity="us" value={item.latency_us?.p50} />
                    </td>
                    <td className="number">
                      <RateText quantity="us" value={item.latency_us?.p99} />
                    </td>
                    <td>
                      {isRunning(item) && (
                        <Button
                          variant="default"
                          size="compact-xs"
                          leftSection={<IconPlayerStop size={12} />}
                          aria-label={`Stop ${name}`}
                          disabled={!mayOperate}
                          loading={stop.isPending && stop.variables === item.id}
                          onClick={() => stop.mutate(item.id)}
                        >
                          Stop
                        </Button>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </QueryBoundary>
    </Panel>
  );
}

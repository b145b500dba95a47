import { ActionIcon } from '@mantine/core';
import { IconPlayerStop, IconSend } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { usePcaps, useTraffic } from '../../shared/api/queries.js';
import { useMay } from '../../shared/api/session.js';
import { notifyError } from '../../shared/ui/notify.js';
import { Panel } from '../../shared/ui/page-header.js';
import { RateText } from '../../shared/ui/rate-text.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { isRunning, lossShare, trafficOutcome, trafficRate, trafficRoute, trafficSettings } from './traffic-text.js';
import classes from './twin-lab.module.css';

export function TrafficTable() {
  const query = useTraffic();
  const { data: pcaps } = usePcaps();
  const nameOf = (id: string) => pcaps?.find((pcap) => pcap.id === id)?.name ?? id;
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
          <table className={`table ${classes.cards}`}>
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
                    <td className={`${classes.traffic} ${classes.cardHead}`}>
                      <strong>{item.request.kind}</strong> {trafficRoute(item)}
                      <span className={classes.small}>{trafficSettings(item, nameOf)}</span>
                      <span className={classes.small}>
                        started <RelativeTime t_ms={item.started_ms} />
                      </span>
                      {item.detail && (
                        <span className={classes.small} data-failed={item.state === 'failed' || undefined}>
                          {item.detail}
                        </span>
                      )}
                    </td>
                    <td data-label="State">
                      <StatusBadge {...trafficOutcome(item)} />
                    </td>
                    <td className="number" data-label="Sent" title={item.sent.toLocaleString()}>
                      <RateText quantity="count" value={item.sent} />
                    </td>
                    <td className="number" data-label="Lost">
                      {loss === null ? <span className="muted">–</span> : <RateText quantity="share" value={loss} />}
                    </td>
                    <td className="number" data-label="Rate">
                      <RateText quantity="bps" value={trafficRate(item)} />
                    </td>
                    <td className="number" data-label="p50">
                      <RateText quantity="us" value={item.latency_us?.p50} />
                    </td>
                    <td className="number" data-label="p99">
                      <RateText quantity="us" value={item.latency_us?.p99} />
                    </td>
                    <td className={classes.cardAction}>
                      {isRunning(item) && (
                        <ActionIcon
                          variant="default"
                          aria-label={`Stop ${name}`}
                          title="Stop"
                          disabled={!mayOperate}
                          loading={stop.isPending && stop.variables === item.id}
                          onClick={() => stop.mutate(item.id)}
                        >
                          <IconPlayerStop size={14} aria-hidden />
                        </ActionIcon>
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

import { IconActivityHeartbeat } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { call } from '../../shared/api/client.js';
import { useSubjectTitle } from '../../shared/api/subject-title.js';
import { PageLink, Panel } from '../../shared/page/page-header.js';
import { compareEventIds } from '../../shared/stream/event-id.js';
import { useLiveEvents } from '../../shared/stream/hooks.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './overview.module.css';

const SHOWN = 10;

export function RecentEvents() {
  const query = useQuery({
    queryKey: ['events', 'recent'],
    queryFn: ({ signal }) => call('listEvents', { query: { limit: SHOWN, order: 'newest-first' } }, { signal }),
  });
  const titleOf = useSubjectTitle();
  const streamed = useLiveEvents();
  const all = new Map([...(query.data?.items ?? []), ...streamed.slice(-SHOWN)].map((event) => [event.id, event]));
  const events = [...all.values()].sort((a, b) => compareEventIds(b.id, a.id)).slice(0, SHOWN);
  return (
    <Panel title="Recent events" actions={<PageLink to="/events">All events</PageLink>}>
      <QueryBoundary query={query} rows={5}>
        {events.length === 0 ? (
          <EmptyState icon={IconActivityHeartbeat} title="Nothing has happened yet" />
        ) : (
          <ol className={classes.events}>
            {events.map((event) => (
              <li key={event.id}>
                <StatusBadge state={event.severity} compact />
                <Link to={`/events?event=${event.id}`}>
                  {titleOf(event.subject)}: {event.message}
                </Link>
                <RelativeTime t_ms={event.t_ms} />
              </li>
            ))}
          </ol>
        )}
      </QueryBoundary>
    </Panel>
  );
}

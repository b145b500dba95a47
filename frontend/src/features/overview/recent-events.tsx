import type { Event } from '@orrery/contract';
import { IconActivityHeartbeat } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { call } from '../../shared/api/client.js';
import { eventText } from '../../shared/format/event-text.js';
import { PageLink, Panel } from '../../shared/page/page-header.js';
import { compareEventIds } from '../../shared/stream/event-id.js';
import { useLiveEvents } from '../../shared/stream/hooks.js';
import { RelativeTime } from '../../shared/ui/relative-time.js';
import { EmptyState, QueryBoundary } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { SubjectLink } from '../../shared/ui/subject-link.js';
import classes from './overview.module.css';

const SHOWN = 10;
/** Enough to find as many that are shown. */
const READ = 60;

/** What a control loop decided is on its page; what came of it has an event of its own. */
const isNews = ({ type }: Event) => type !== 'loop.decided';

export function RecentEvents() {
  const query = useQuery({
    queryKey: ['events', 'recent'],
    queryFn: ({ signal }) => call('listEvents', { query: { limit: READ, order: 'newest-first' } }, { signal }),
  });
  const streamed = useLiveEvents();
  const all = new Map(
    [...(query.data?.items ?? []), ...streamed.slice(-READ)].filter(isNews).map((event) => [event.id, event]),
  );
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
                <span>
                  <span className={classes.about}>
                    <SubjectLink subject={event.subject} />:
                  </span>{' '}
                  <Link className={classes.message} to={`/events?event=${event.id}`}>
                    {eventText(event)}
                  </Link>
                </span>
                <RelativeTime t_ms={event.t_ms} />
              </li>
            ))}
          </ol>
        )}
      </QueryBoundary>
    </Panel>
  );
}

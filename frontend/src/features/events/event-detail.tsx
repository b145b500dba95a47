import { ActionIcon, CopyButton, Tooltip } from '@mantine/core';
import { EVENTS, type Event } from '@orrery/contract';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { call } from '../../shared/api/client.js';
import { endingIn, eventText } from '../../shared/format/event-text.js';
import { dateTimeText } from '../../shared/format/time.js';
import { pointBefore } from '../../shared/stream/event-id.js';
import { DetailPanel, DetailSection, Facts } from '../../shared/ui/detail-panel.js';
import { JsonView } from '../../shared/ui/json-view.js';
import { LogTail } from '../../shared/ui/log-tail.js';
import { EmptyState, ErrorState, LoadingRows } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import { SubjectLink } from '../../shared/ui/subject-link.js';
import classes from './events.module.css';

interface EventDetailProps {
  readonly id: string;
  /** Absent if the URL names an event that the table has not loaded. */
  readonly loaded: Event | undefined;
  readonly onClose: () => void;
}

export function EventDetail({ id, loaded, onClose }: EventDetailProps) {
  const query = useQuery({
    queryKey: ['event', id],
    enabled: !loaded && /^\d+-\d+$/.test(id),
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const input = { query: { after: pointBefore(id), limit: 1 } };
      const { items } = await call('listEvents', input, { signal });
      return items[0]?.id === id ? items[0] : null;
    },
  });
  const event = loaded ?? query.data;
  const ending = event ? endingIn(event) : null;
  return (
    <DetailPanel title={event ? EVENTS[event.type].title : 'Event'} label={`Event ${id}`} onClose={onClose}>
      {event ? (
        <>
          <p className={classes.text}>{eventText(event)}</p>
          {ending?.log && <LogTail text={ending.log} />}
          <Facts
            items={[
              ['Type', <code key="type">{event.type}</code>],
              ['Severity', <StatusBadge key="severity" state={event.severity} />],
              ['Time', dateTimeText(event.t_ms)],
              ['Subject', <SubjectLink key="subject" subject={event.subject} />],
              ...(event.type === 'loop.decided'
                ? [['About', <SubjectLink key="about" subject={event.data.about} />] as const]
                : []),
              ['By', event.actor],
              ['Project', event.project],
              [
                'Id',
                <span key="id" className={classes.id}>
                  <code>{event.id}</code>
                  <CopyButton value={event.id}>
                    {({ copied, copy }) => (
                      <Tooltip label={copied ? 'Copied' : 'Copy the id'}>
                        <ActionIcon size="sm" aria-label="Copy the id" onClick={copy}>
                          {copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
                        </ActionIcon>
                      </Tooltip>
                    )}
                  </CopyButton>
                </span>,
              ],
            ]}
          />
          <DetailSection title="Data">
            <JsonView value={event.data} label="Data of the event" />
          </DetailSection>
        </>
      ) : query.error ? (
        <ErrorState error={query.error} retry={() => void query.refetch()} />
      ) : query.isLoading ? (
        <LoadingRows />
      ) : (
        <EmptyState title="This event is no longer in the log" />
      )}
    </DetailPanel>
  );
}

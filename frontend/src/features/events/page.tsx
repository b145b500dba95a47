import { Button, Select, TextInput } from '@mantine/core';
import { EVENTS, EventType, Severity } from '@orrery/contract';
import { IconPlayerPause, IconPlayerPlay, IconSearch } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { useSubjectTitle } from '../../shared/api/subject-title.js';
import { PageHeader } from '../../shared/page/page-header.js';
import { compareEventIds } from '../../shared/stream/event-id.js';
import { useStreamStatus } from '../../shared/stream/hooks.js';
import { useCommands } from '../../shared/ui/commands.js';
import { WithDetail } from '../../shared/ui/detail-panel.js';
import { QueryBoundary } from '../../shared/ui/states.js';
import { useUrlParam } from '../../shared/ui/url-state.js';
import { EventDetail } from './event-detail.js';
import { EventTable } from './event-table.js';
import classes from './events.module.css';
import { type FeedFilter, matchesText, useEventFeed } from './feed.js';

const TYPES = [...EventType.options].sort();

export function Component() {
  const [typeParam, setType] = useUrlParam('type');
  const [severityParam, setSeverity] = useUrlParam('severity');
  const type = EventType.safeParse(typeParam).data ?? '';
  const severity = Severity.safeParse(severityParam).data ?? '';
  const [text, setText] = useUrlParam('q');
  const [selectedId, select] = useUrlParam('event');
  const filter = useMemo((): FeedFilter => ({ type, severity }), [type, severity]);
  const { query, events } = useEventFeed(filter);
  const chains = useMemo(
    () => events.flatMap(({ type, subject }) => (EVENTS[type].about === 'chain' ? [subject] : [])),
    [events],
  );
  const titleOf = useSubjectTitle(chains);
  const connected = useStreamStatus(({ state }) => state === 'connected');
  const [paused, setPaused] = useState(false);
  const [scrolled, setScrolled] = useState(false);
  const [wasHeld, setWasHeld] = useState(false);
  const [heldAt, setHeldAt] = useState<string | null>(null);

  // While the reader is not at the top, rows must not move.
  const held = paused || scrolled;
  const newest = events[0]?.id ?? null;
  if (held !== wasHeld) {
    setWasHeld(held);
    setHeldAt(held ? newest : null);
  }

  const found = useMemo(
    () => events.filter((event) => matchesText(event, titleOf(event.subject), text)),
    [events, text, titleOf],
  );
  const shown = useMemo(
    () => (heldAt === null ? found : found.filter(({ id }) => compareEventIds(id, heldAt) <= 0)),
    [found, heldAt],
  );
  const waiting = found.length - shown.length;
  const filtered = type !== '' || severity !== '' || text !== '';

  useCommands([
    {
      id: 'events.pause',
      title: paused ? 'Resume events' : 'Pause events',
      group: 'Events',
      keys: 'p',
      run: () => setPaused(!paused),
    },
  ]);

  return (
    <WithDetail
      detail={
        selectedId && (
          <EventDetail
            key={selectedId}
            id={selectedId}
            loaded={events.find(({ id }) => id === selectedId)}
            onClose={() => select(null)}
          />
        )
      }
    >
      <PageHeader
        description="Everything that happened, in order. After a lost connection the list resumes without gaps."
        actions={
          <Button
            variant="default"
            leftSection={paused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
            aria-pressed={paused}
            onClick={() => setPaused(!paused)}
          >
            {paused ? 'Resume' : 'Pause'}
          </Button>
        }
      >
        <TextInput
          className={classes.search}
          aria-label="Search subject and message"
          placeholder="Subject or message"
          leftSection={<IconSearch size={14} />}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <Select
          aria-label="Type"
          placeholder="Every type"
          clearable
          searchable
          data={TYPES}
          value={type || null}
          onChange={setType}
        />
        <Select
          aria-label="Severity"
          placeholder="Every severity"
          clearable
          data={Severity.options}
          value={severity || null}
          onChange={setSeverity}
        />
        <span className={`${classes.count} muted tabular`} role="status">
          {paused ? 'paused' : connected ? '' : 'not live'}
        </span>
      </PageHeader>
      <QueryBoundary query={query} rows={10}>
        <EventTable
          events={shown}
          waiting={waiting}
          filtered={filtered}
          searching={text !== ''}
          hasOlder={query.hasNextPage}
          loadingOlder={query.isFetchingNextPage}
          onOlder={() => void query.fetchNextPage()}
          onScrolled={setScrolled}
          onShowNewest={() => setPaused(false)}
          selectedId={selectedId}
          onSelect={select}
          titleOf={titleOf}
        />
      </QueryBoundary>
    </WithDetail>
  );
}

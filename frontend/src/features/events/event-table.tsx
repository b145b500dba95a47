import { Button } from '@mantine/core';
import type { Event } from '@orrery/contract';
import { IconActivityHeartbeat, IconArrowUp } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useEffect, useRef } from 'react';
import { clockTextMs, dateTimeText } from '../../shared/format/time.js';
import { EmptyState } from '../../shared/ui/states.js';
import { StatusBadge } from '../../shared/ui/status-badge.js';
import classes from './events.module.css';

const ROW_PX = 32;

interface EventTableProps {
  /** Newest first. */
  readonly events: readonly Event[];
  /** Newer ones that are held back. */
  readonly waiting: number;
  readonly filtered: boolean;
  readonly searching: boolean;
  readonly hasOlder: boolean;
  readonly loadingOlder: boolean;
  readonly onOlder: () => void;
  readonly onScrolled: (scrolled: boolean) => void;
  readonly onShowNewest: () => void;
  readonly selectedId: string;
  readonly onSelect: (id: string) => void;
  /** Title of a subject that has one, else its id. */
  readonly titleOf: (subject: string) => string;
}

/** Arrow keys walk over the rows. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
  if (step === 0) return;
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('.row-link')];
  const next = buttons[buttons.indexOf(document.activeElement as HTMLElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

export function EventTable(props: EventTableProps) {
  const { events, waiting, filtered, searching, hasOlder, loadingOlder, onOlder, onScrolled, onShowNewest } = props;
  const box = useRef<HTMLDivElement>(null);
  const rows = useVirtualizer({
    count: events.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW_PX,
    overscan: 12,
    getItemKey: (index) => events[index]!.id,
  });
  const items = rows.getVirtualItems();
  const first = items[0];
  const last = items.at(-1);

  // Older ones are read before the reader reaches the end; with a search the reader decides.
  const nearEnd = last !== undefined && last.index > events.length - 30;
  useEffect(() => {
    if (nearEnd && hasOlder && !loadingOlder && !searching) onOlder();
  }, [nearEnd, hasOlder, loadingOlder, searching, onOlder]);

  return (
    <div className={classes.frame}>
      {waiting > 0 && (
        <Button
          className={classes.waiting}
          size="compact-sm"
          leftSection={<IconArrowUp size={14} />}
          onClick={() => {
            onShowNewest();
            box.current?.scrollTo({ top: 0 });
          }}
        >
          {waiting.toLocaleString()} new
        </Button>
      )}
      <div
        ref={box}
        className={classes.scroll}
        onScroll={(event) => onScrolled(event.currentTarget.scrollTop > ROW_PX / 2)}
      >
        <table className={`table ${classes.table}`} aria-rowcount={events.length + 1} aria-label="Events, newest first">
          <colgroup>
            <col className={classes.time} />
            <col className={classes.severity} />
            <col className={classes.type} />
            <col className={classes.subject} />
            <col />
            <col className={classes.actor} />
          </colgroup>
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col" className={classes.severity}>
                Severity
              </th>
              <th scope="col" className={classes.type}>
                Type
              </th>
              <th scope="col" className={classes.subject}>
                Subject
              </th>
              <th scope="col">Message</th>
              <th scope="col" className={classes.actor}>
                By
              </th>
            </tr>
          </thead>
          <tbody onKeyDown={walk}>
            {first && first.start > 0 && <tr style={{ height: first.start }} />}
            {items.map(({ index, key }) => {
              const event = events[index]!;
              return (
                <tr
                  key={key}
                  aria-rowindex={index + 2}
                  data-clickable="true"
                  data-severity={event.severity}
                  data-selected={event.id === props.selectedId}
                >
                  <td title={dateTimeText(event.t_ms)}>{clockTextMs(event.t_ms)}</td>
                  <td className={classes.severity}>
                    <StatusBadge state={event.severity} />
                  </td>
                  <td className={classes.type}>
                    <code>{event.type}</code>
                  </td>
                  <td className={classes.subject} title={event.subject}>
                    {props.titleOf(event.subject)}
                  </td>
                  <td title={event.message}>
                    <button type="button" className="row-link" onClick={() => props.onSelect(event.id)}>
                      {event.message}
                    </button>
                  </td>
                  <td className={classes.actor}>{event.actor}</td>
                </tr>
              );
            })}
            {last && <tr style={{ height: rows.getTotalSize() - last.end }} />}
          </tbody>
        </table>
        {events.length === 0 && (
          <EmptyState
            icon={IconActivityHeartbeat}
            title={filtered ? 'No event matches the filters' : 'Nothing has happened yet'}
          >
            {filtered
              ? 'Events that match appear here as they happen.'
              : 'Deploy a chain or start traffic in the twin lab.'}
          </EmptyState>
        )}
        {(hasOlder || loadingOlder) && searching && (
          <div className={classes.older}>
            <span className="muted">The search covers what is loaded.</span>
            <Button variant="default" loading={loadingOlder} onClick={onOlder}>
              Load older events
            </Button>
          </div>
        )}
      </div>
    </div>
  );
}

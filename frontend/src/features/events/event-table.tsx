import { Button } from '@mantine/core';
import type { Event } from '@orrery/contract';
import { IconActivityHeartbeat, IconArrowUp } from '@tabler/icons-react';
import { useCallback, useMemo, useRef } from 'react';
import { countText } from '../../shared/format/number.js';
import { DataTable } from '../../shared/table/data-table.js';
import { useTableAddress } from '../../shared/table/table-settings.js';
import { EmptyState } from '../../shared/ui/states.js';
import { eventColumns } from './columns.js';
import classes from './events.module.css';

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

export function EventTable(props: EventTableProps) {
  const { events, waiting, filtered, searching, hasOlder, loadingOlder, onOlder, onShowNewest, titleOf } = props;
  const box = useRef<HTMLDivElement>(null);
  const columns = useMemo(() => eventColumns(titleOf), [titleOf]);
  const settings = { ...useTableAddress(), filter: '', setFilter: null };
  // Older ones are loaded before the reader reaches the end; during a search only on request.
  const readsOn = hasOlder && !loadingOlder && !searching;
  const onNearEnd = useCallback(() => {
    if (readsOn) onOlder();
  }, [readsOn, onOlder]);
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
          {countText(waiting)} new
        </Button>
      )}
      <DataTable
        label="Events"
        className={classes.table}
        fill
        box={box}
        settings={settings}
        columns={columns}
        rows={events}
        rowKey={({ id }) => id}
        selectedKey={props.selectedId}
        onSelect={({ id }) => props.onSelect(id)}
        dataOf={({ severity }) => ({ 'data-severity': severity })}
        onNearEnd={onNearEnd}
        onScrolled={props.onScrolled}
        empty={
          <EmptyState
            icon={IconActivityHeartbeat}
            title={filtered ? 'No event matches the filters' : 'Nothing has happened yet'}
          >
            {filtered
              ? 'Events that match appear here as they happen.'
              : 'Deploy a chain or start an application in the twin lab.'}
          </EmptyState>
        }
        footer={
          (hasOlder || loadingOlder) &&
          searching && (
            <div className={classes.older}>
              <span className="muted">Only loaded events are searched.</span>
              <Button variant="default" loading={loadingOlder} onClick={onOlder}>
                Load older events
              </Button>
            </div>
          )
        }
      />
    </div>
  );
}

import { Button } from '@mantine/core';
import type { P4Entries, P4Program, P4Reading } from '@orrery/contract';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { useState } from 'react';
import { countText } from '../../../shared/format/number.js';
import type { Column } from '../../../shared/table/column.js';
import { DataTable } from '../../../shared/table/data-table.js';
import { measuredColumn } from '../../../shared/table/quantity-column.js';
import { notifyError } from '../../../shared/ui/notify.js';
import { EmptyState } from '../../../shared/ui/states.js';
import { StatusBadge } from '../../../shared/ui/status-badge.js';
import { isOfTable, keyOf, listText, type P4Table, type Row, rowsOf, useChangeEntries } from './entries.js';
import { EntryDialog } from './entry-dialog.js';
import classes from './p4.module.css';
import { unsetGroup } from './unset-group.js';

interface TableViewProps {
  readonly switchId: string;
  readonly program: P4Program;
  readonly table: P4Table;
  readonly kept: P4Entries | undefined;
  readonly reading: P4Reading | undefined;
  readonly query: UseQueryResult<P4Entries>;
  /** Why nothing can be changed; null: it can. */
  readonly refusal: string | null;
}

const STATES = {
  installed: { text: 'installed', status: 'healthy' },
  waits: { text: 'not installed', status: 'working' },
  foreign: { text: 'of another controller', status: 'idle' },
} as const;

/** One table of a program: its keys, actions, entries with their counters, and its default action. */
export function TableView({ switchId, program, table, kept, reading, query, refusal }: TableViewProps) {
  const [dialog, setDialog] = useState<'entries' | 'default' | null>(null);
  const { content } = program;
  const change = useChangeEntries(switchId);
  const onError = (error: unknown) => notifyError(`Table ${table.name} is unchanged`, error);
  const remove = (row: Row) =>
    change.mutate(
      (before) => ({ ...before, entries: before.entries.filter((entry) => keyOf(content, entry) !== row.key) }),
      { onError },
    );
  const isOfIt = (one: { readonly table: string }) => isOfTable(content, table, one);
  const rows = rowsOf(content, table, kept, reading);
  const isFixed = table.constant || table.profile;
  const fallback = reading?.default_actions.find(isOfIt);
  const unset = fallback ? unsetGroup(fallback, program, kept, reading) : null;
  const isOwnDefault = kept?.default_actions.some(isOfIt) ?? false;
  const columns: readonly Column<Row>[] = [
    {
      id: 'match',
      title: 'Match',
      className: classes.code,
      value: ({ entry }) => listText(entry.match) || 'every packet',
    },
    { id: 'priority', title: 'Priority', number: true, value: ({ entry }) => entry.priority ?? null },
    {
      id: 'action',
      title: 'Action',
      className: classes.code,
      value: ({ entry }) => `${entry.action.split('.').at(-1)}(${listText(entry.params)})`,
      cell: ({ entry }) => {
        const group = unsetGroup(entry, program, kept, reading);
        return (
          <>
            {entry.action.split('.').at(-1)}({listText(entry.params)})
            {group !== null && <p className={classes.warning}>group {group} is not set: its packets are dropped</p>}
          </>
        );
      },
    },
    measuredColumn({ id: 'packets', title: 'Packets', quantity: 'count', value: ({ packets }) => packets }),
    measuredColumn({ id: 'bytes', title: 'Bytes', quantity: 'bytes', value: ({ bytes }) => bytes }),
    {
      id: 'state',
      title: 'State',
      value: ({ state }) => STATES[state].text,
      cell: ({ state }) => <StatusBadge state={STATES[state].text} status={STATES[state].status} lasting />,
    },
    {
      id: 'actions',
      title: 'Actions',
      untitled: true,
      cell: (row) =>
        row.state !== 'foreign' && (
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<IconTrash size={12} />}
            disabled={refusal !== null}
            title={refusal ?? undefined}
            aria-label={`Remove the entry ${listText(row.entry.match) || 'for every packet'}`}
            onClick={() => remove(row)}
          >
            Remove
          </Button>
        ),
    },
  ];
  return (
    <section className={classes.table} aria-label={`Table ${table.name}`}>
      <div className={classes.head}>
        <div>
          <h3 className={classes.title}>{table.name}</h3>
          <span className="muted">
            {table.fields.map(({ name, match, bits }) => `${name}: ${match}, ${bits} bits`).join('; ') || 'no key'}
            {table.size > 0 && ` · room for ${countText(table.size)} entries`}
            {' · default '}
            <span className={classes.code}>
              {fallback ? `${fallback.action.split('.').at(-1)}(${listText(fallback.params)})` : 'of the program'}
            </span>
            {table.constant && ' · entries of the program'}
            {table.profile && ' · filled by a P4Runtime client'}
          </span>
          {unset !== null && (
            <p className={classes.warning}>Group {unset} is not set: packets that no entry takes are dropped</p>
          )}
        </div>
        <div className={classes.file}>
          {!table.constant_default && (
            <Button
              size="compact-xs"
              variant="default"
              disabled={refusal !== null}
              onClick={() => setDialog('default')}
            >
              Default action…
            </Button>
          )}
          {isOwnDefault && (
            <Button
              size="compact-xs"
              variant="default"
              disabled={refusal !== null}
              onClick={() =>
                change.mutate(
                  (before) => ({
                    ...before,
                    default_actions: before.default_actions.filter((one) => !isOfIt(one)),
                  }),
                  { onError },
                )
              }
            >
              Default of the program
            </Button>
          )}
          {!isFixed && (
            <Button
              size="compact-xs"
              leftSection={<IconPlus size={12} />}
              disabled={refusal !== null}
              title={refusal ?? undefined}
              aria-label={`Add entry to ${table.name}`}
              onClick={() => setDialog('entries')}
            >
              Add entry
            </Button>
          )}
        </div>
      </div>
      {!isFixed && (
        <DataTable
          label={`Entries of ${table.name}`}
          query={query}
          cards={620}
          columns={columns}
          rows={rows}
          rowKey={({ key }) => key}
          empty={<EmptyState title="No entry yet">Every packet takes the default action.</EmptyState>}
        />
      )}
      {dialog && (
        <EntryDialog switchId={switchId} content={content} table={table} of={dialog} onClose={() => setDialog(null)} />
      )}
    </section>
  );
}

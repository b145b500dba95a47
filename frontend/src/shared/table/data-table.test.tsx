import { MantineProvider } from '@mantine/core';
import { render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import * as csv from '../files/csv.js';
import { EmptyState } from '../ui/states.js';
import type { Column } from './column.js';
import { DataTable } from './data-table.js';
import type { DataTableProps } from './props.js';
import { useLocalSettings } from './table-settings.js';

interface Server {
  readonly id: string;
  readonly cores: number;
  readonly load: number | null;
}

const SERVERS: readonly Server[] = [
  { id: 'server-10', cores: 8, load: 0.5 },
  { id: 'server-2', cores: 16, load: null },
  { id: 'server-1', cores: 4, load: 0.9 },
];

const COLUMNS: readonly Column<Server>[] = [
  { id: 'id', title: 'Server', value: ({ id }) => id },
  { id: 'cores', title: 'Cores', value: ({ cores }) => cores, number: true },
  { id: 'load', title: 'Load', value: ({ load }) => load, number: true },
  { id: 'actions', title: 'Actions', untitled: true, cell: ({ id }) => <button type="button">Stop {id}</button> },
];

type Options = Partial<DataTableProps<Server>> & { readonly tools?: boolean };

function Table({ tools, ...options }: Options) {
  const settings = useLocalSettings();
  return (
    <DataTable
      label="Servers"
      columns={COLUMNS}
      rows={SERVERS}
      rowKey={({ id }) => id}
      settings={tools ? settings : undefined}
      {...options}
    />
  );
}

const show = (options: Options = {}) => {
  const table = (changed: Options) => (
    <MantineProvider env="test">
      <Table {...options} {...changed} />
    </MantineProvider>
  );
  const { rerender } = render(table({}));
  return { change: (changed: Options) => rerender(table(changed)) };
};
const rows = () => screen.getAllByRole('row').slice(1);
const order = () => rows().map((row) => within(row).getAllByRole('cell')[0]?.textContent);
const head = (name: string) => screen.getByRole('columnheader', { name });

beforeEach(() => localStorage.clear());
afterEach(() => vi.restoreAllMocks());

test('separates the thousands of numbers', () => {
  show({ rows: [{ id: 'server-1', cores: 12_288, load: null }] });
  expect(within(rows()[0]!).getAllByRole('cell')[1]!.textContent).toBe('12,288');
});

test('is a table with a caption, and says by which column it is sorted', async () => {
  const user = userEvent.setup();
  show();
  expect(screen.getByRole('table', { name: 'Servers' })).toBeDefined();
  expect(head('Cores').getAttribute('aria-sort')).toBe('none');
  expect(head('Actions').hasAttribute('aria-sort')).toBe(false);
  await user.click(screen.getByRole('button', { name: 'Cores' }));
  expect(head('Cores').getAttribute('aria-sort')).toBe('ascending');
  expect(order()).toEqual(['server-1', 'server-10', 'server-2']);
  await user.click(screen.getByRole('button', { name: 'Cores' }));
  expect(head('Cores').getAttribute('aria-sort')).toBe('descending');
  expect(order()).toEqual(['server-2', 'server-10', 'server-1']);
  await user.click(screen.getByRole('button', { name: 'Cores' }));
  expect(order()).toEqual(['server-10', 'server-2', 'server-1']);
});

test('sorts numbers inside names as numbers, and rows without a value last in either direction', async () => {
  const user = userEvent.setup();
  show();
  await user.click(screen.getByRole('button', { name: 'Server' }));
  expect(order()).toEqual(['server-1', 'server-2', 'server-10']);
  await user.click(screen.getByRole('button', { name: 'Load' }));
  expect(order()).toEqual(['server-10', 'server-1', 'server-2']);
  await user.click(screen.getByRole('button', { name: 'Load' }));
  expect(order()).toEqual(['server-1', 'server-10', 'server-2']);
});

test('keeps rows in their places while the pointer is on them, and follows the sort again afterwards', async () => {
  const user = userEvent.setup();
  const { change } = show();
  await user.click(screen.getByRole('button', { name: 'Cores' }));
  await user.hover(rows()[0]!);
  const grown = SERVERS.map((server) => (server.id === 'server-1' ? { ...server, cores: 99 } : server));
  change({ rows: [...grown, { id: 'server-0', cores: 1, load: 0 }] });
  expect(order()).toEqual(['server-1', 'server-10', 'server-2', 'server-0']);
  await user.unhover(rows()[0]!);
  expect(order()).toEqual(['server-0', 'server-10', 'server-2', 'server-1']);
});

test('walks over rows by keyboard with one stop of the Tab key, and chooses one with Enter', async () => {
  const user = userEvent.setup();
  const onSelect = vi.fn();
  show({ onSelect, columns: COLUMNS.slice(0, 1) });
  const focused = () => document.activeElement?.textContent;
  await user.tab();
  await user.tab();
  expect(focused()).toBe('server-10');
  await user.keyboard('{ArrowDown}');
  expect(focused()).toBe('server-2');
  await user.keyboard('{End}');
  expect(focused()).toBe('server-1');
  await user.keyboard('{ArrowDown}{Enter}');
  expect(onSelect).toHaveBeenCalledExactlyOnceWith(SERVERS[2]);
  await user.keyboard('{Home}{ArrowUp}');
  expect(focused()).toBe('server-10');
  await user.tab();
  expect(document.activeElement).toBe(document.body);
  await user.tab({ shift: true });
  expect(focused()).toBe('server-10');
});

test('filters by what any column says, and says when nothing matches', async () => {
  const user = userEvent.setup();
  show({ tools: true });
  const filter = screen.getByRole('searchbox', { name: 'Filter Servers' });
  await user.type(filter, 'SERVER-1');
  expect(order()).toEqual(['server-10', 'server-1']);
  expect(screen.getByRole('status').textContent).toBe('2 of 3');
  await user.type(filter, 'x');
  expect(screen.getByText('Nothing matches “SERVER-1x”')).toBeDefined();
});

test('remembers which columns were chosen', async () => {
  const user = userEvent.setup();
  show({ tools: true });
  await user.click(screen.getByRole('button', { name: 'Columns of Servers' }));
  await user.click(await screen.findByRole('menuitemcheckbox', { name: 'Load' }));
  expect(screen.queryByRole('columnheader', { name: 'Load' })).toBeNull();
  expect(JSON.parse(localStorage.getItem('orrery.table.Servers') ?? '')).toEqual({ load: false });
});

test('hands out what is shown, in that order, as CSV', async () => {
  const user = userEvent.setup();
  const download = vi.spyOn(csv, 'download').mockImplementation(() => {});
  show({ tools: true });
  await user.click(screen.getByRole('button', { name: 'Cores' }));
  await user.click(screen.getByRole('button', { name: 'Download Servers as CSV' }));
  expect(download).toHaveBeenCalledExactlyOnceWith(
    'servers.csv',
    'Server,Cores,Load\r\nserver-1,4,0.9\r\nserver-10,8,0.5\r\nserver-2,16,',
    'text/csv',
  );
});

test('shows that it loads, that loading failed, and what stands for no rows', async () => {
  const user = userEvent.setup();
  const refetch = vi.fn();
  const pending = { data: undefined, isPending: true, error: null, refetch };
  const { change } = show({ query: pending, rows: [] });
  expect(screen.getByRole('status', { name: 'Loading' })).toBeDefined();
  change({ query: { ...pending, isPending: false, error: new Error('gone') }, rows: [] });
  await user.click(screen.getByRole('button', { name: 'Try again' }));
  expect(refetch).toHaveBeenCalledOnce();
  change({ query: { ...pending, data: [] }, rows: [], empty: <EmptyState title="No servers" /> });
  expect(screen.getByText('No servers')).toBeDefined();
});

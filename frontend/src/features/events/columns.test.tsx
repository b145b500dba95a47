import { MantineProvider } from '@mantine/core';
import type { Event } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it, vi } from 'vitest';
import { useSubjectTitle } from '../../shared/api/subject-title.js';
import { DataTable } from '../../shared/table/data-table.js';
import { eventColumns } from './columns.js';

const LISTS: Record<string, readonly unknown[]> = {
  listChains: [{ id: 'ch-1', draft: { title: 'Web guard', name: 'web' } }],
  listNfInstances: [{ id: 'web.ids.0' }],
};
vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => ({ items: [], servers: [{ id: 'server-1' }] })),
  callFull: vi.fn(async (name: string) => ({ data: { items: LISTS[name] ?? [], total: 0 }, next: null })),
}));

const event = (id: string, subject: string) =>
  ({ id, subject, type: 'deployment.degraded', severity: 'error', t_ms: 1, message: 'told', actor: 'server' }) as Event;
const EVENTS = [event('3-0', 'ch-1 p99'), event('2-0', 'web.ids.0'), event('1-0', 'server-1'), event('0-1', 'gone')];

function Rows() {
  return <DataTable label="Events" columns={eventColumns(useSubjectTitle())} rows={EVENTS} rowKey={({ id }) => id} />;
}

it('the row of an event names its subject and links its page', async () => {
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <MemoryRouter>
          <Rows />
        </MemoryRouter>
      </QueryClientProvider>
    </MantineProvider>,
  );
  const linkOf = async (name: string) => (await screen.findByRole('link', { name })).getAttribute('href');
  expect(await linkOf('Web guard p99')).toBe('/chains/ch-1');
  expect(await linkOf('web.ids.0')).toBe('/topology?nf=web.ids.0');
  expect(await linkOf('server-1')).toBe('/topology?node=server-1');
  const gone = screen.getAllByRole('row').at(-1)!;
  expect(within(gone).getByText('gone')).toBeTruthy();
  expect(within(gone).queryByRole('link')).toBeNull();
});

import { MantineProvider } from '@mantine/core';
import type { MeasuredRequest, ServicePool } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { describe, expect, it, vi } from 'vitest';
import { Component } from './page.js';

const ACTIVE: MeasuredRequest = {
  id: 'sr-1',
  pool: 'pool',
  from: ['client-1'],
  match: [{ attribute: 'port.dst', op: 'is', value: 80 }],
  functions: ['firewall'],
  latency_us: 400,
  throughput_bps: 2e6,
  state: 'active',
  way: {
    number: 3,
    stages: [
      { instance: 'firewall-2', nf: 'firewall', place: 'server-1', transit_us: 8, processing_us: 90, measured: true },
    ],
    latency_us: 98,
  },
  why: null,
  shortages: [],
  nearest_us: null,
  rejected: [
    {
      instance: 'firewall-1',
      nf: 'firewall',
      constraint: { constraint: 'throughput', needed: 2e6, available: 1e6, unit: 'bps', where: 'firewall-1' },
    },
    ...[98, 98.004, 401].map((needed, i) => ({
      instance: `firewall-${i + 3}`,
      nf: 'firewall',
      constraint: { constraint: 'latency' as const, needed, available: i < 2 ? 98 : 400, unit: 'us', where: 'x' },
    })),
  ],
  operation_id: 'op-1',
  by: 'admin',
  created_ms: 1,
  updated_ms: 1,
  measured: { latency_us: 123, bps: 1.5e6 },
};
const REFUSED: MeasuredRequest = {
  ...ACTIVE,
  id: 'sr-2',
  state: 'refused',
  way: null,
  why: 'The fastest way takes 98 µs, and the bound is 10 µs.',
  nearest_us: 98,
  rejected: [],
  measured: { latency_us: null, bps: null },
};
const POOL: ServicePool = {
  id: 'pool',
  definition: {
    name: 'pool',
    title: 'Shared NFs',
    hosts: ['client-1'],
    nfs: [{ nf: 'firewall', config: {}, count: 1, rate_bps: 1e7 }],
    packet_bytes: 800,
    deploys: true,
  },
  chain_id: 'ch-1',
  state: 'ready',
  detail: null,
  instances: [
    {
      id: 'firewall-2',
      nf: 'firewall',
      on: 'software',
      slot: null,
      way: 1,
      rate_bps: 1e7,
      place: 'server-1',
      usable: true,
      latency_us: 90,
      measured: false,
      booked_bps: 2e6,
      measured_bps: null,
    },
  ],
  requests: 1,
  ways: 1,
  created_ms: 1,
};

const NAMED = 'Service request client-1 (port.dst 80) → firewall';

const lists: Record<string, readonly unknown[] | null> = {};
/** Requests beyond the newest. */
const unlisted: MeasuredRequest[] = [];
/** Requests beyond those that a list can hold. */
let beyond = 0;
const calls: AbortSignal[] = [];
type Asked = { readonly state?: string; readonly limit: number };
type Options = { readonly signal?: AbortSignal };
vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  callFull: vi.fn(async (name: string) => {
    if (lists[name] === null) throw new Error('the store is away');
    const more = name === 'listServiceRequests' ? unlisted : [];
    const items = [...(lists[name] ?? []), ...more];
    return { data: { items, total: items.length + beyond }, next: null };
  }),
  call: vi.fn(async (name: string, input: { query?: Asked; params?: { id: string } }, options?: Options) => {
    const all = (lists.listServiceRequests ?? []) as readonly MeasuredRequest[];
    if (name === 'getServiceRequest') return [...all, ...unlisted].find(({ id }) => id === input.params!.id);
    if (name === 'listServiceRequests') {
      const { state, limit } = input.query!;
      if (state === undefined) return { items: all.slice(0, limit), total: all.length + unlisted.length + beyond };
      const those = [...all, ...unlisted].filter((it) => it.state === state);
      return { items: those.slice(0, limit), total: those.length };
    }
    if (name === 'getBulkProgress') return { id: 'b', requests: 2, decided: 1, accepted: 1 };
    if (name !== 'createServiceRequests') return { hosts: [] };
    calls.push(options!.signal!);
    return new Promise(() => undefined);
  }),
}));
const { call } = await import('../../shared/api/client.js');
vi.mock('../../shared/api/session.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/session.js')>()),
  useNeeds: () => null,
}));
vi.mock('../../shared/page/page-header.js', async (original) => ({
  ...(await original<typeof import('../../shared/page/page-header.js')>()),
  PageHeader: ({ description, actions }: { description: string; actions: React.ReactNode }) => (
    <>
      <p>{description}</p>
      {actions}
    </>
  ),
}));

function show(at = '/service-requests') {
  const router = createMemoryRouter([{ path: '/service-requests', Component }], { initialEntries: [at] });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return userEvent.setup();
}

describe('Service requests', () => {
  it('asks for a pool first, and then for requests', async () => {
    lists.listServiceRequests = [];
    lists.listServicePools = [];
    show();
    expect(await screen.findByText('Deploy a pool of NFs first, which requests share.')).toBeTruthy();
    expect(screen.getByRole('button', { name: 'New request' }).hasAttribute('disabled')).toBe(true);
    expect(screen.getByRole('button', { name: 'New pool' }).hasAttribute('disabled')).toBe(false);
  });

  it('shows the way of a request, what it gets beside its bound, and why not another instance', async () => {
    lists.listServiceRequests = [ACTIVE, REFUSED];
    lists.listServicePools = [POOL];
    const user = show();
    const table = within(await screen.findByRole('table', { name: 'Service requests' }));
    expect(table.getByText('123')).toBeTruthy();
    expect(table.getAllByText('400')).toHaveLength(2);
    expect(table.getByText(REFUSED.why!)).toBeTruthy();
    await user.click(table.getAllByRole('button', { name: /port.dst 80/ })[0]!);
    const detail = within(screen.getByRole('complementary', { name: NAMED }));
    expect(within(detail.getByRole('list', { name: 'Stages' })).getByText('firewall-2')).toBeTruthy();
    for (const text of [
      'firewall-1',
      'Would do as well: the fastest way through it takes 98.0 µs, too',
      'The fastest way through it takes 98.004 µs, the chosen one 98 µs',
      'The fastest way through it takes 401 µs, and the bound is 400 µs',
    ])
      expect(detail.getByText(text, { selector: 'td' })).toBeTruthy();
    expect(detail.getByRole('button', { name: 'Release' }).hasAttribute('disabled')).toBe(false);
    const way = detail.getByRole('link', { name: 'Show the way in the topology' });
    expect(way.getAttribute('href')).toBe('/topology?chain=ch-1&way=w3');
    expect(detail.getByRole('link', { name: 'Open its operation' }).getAttribute('href')).toBe('/operations?op=op-1');
    const pool = within(screen.getByRole('table', { name: 'Instances of pool' }));
    expect(pool.getByText('Can carry')).toBeTruthy();
  });

  it('says of a refused request what it asked for, and that nothing is booked', async () => {
    lists.listServiceRequests = [ACTIVE, REFUSED];
    lists.listServicePools = [POOL];
    const user = show();
    const table = within(await screen.findByRole('table', { name: 'Service requests' }));
    const [, active, refused] = table.getAllByRole('row');
    expect(active!.textContent).toContain('2.00Mbit/s');
    expect(refused!.textContent).not.toContain('Mbit/s');
    await user.click(within(refused!).getByRole('button', { name: /port.dst 80/ }));
    const detail = within(screen.getByRole('complementary', { name: NAMED }));
    expect(detail.getByText('Asked for').parentElement!.textContent).toContain('2.00');
    expect(detail.queryByText('Booked')).toBeNull();
  });

  it('takes down a pool in use once it is confirmed that its requests are released', async () => {
    lists.listServiceRequests = [ACTIVE];
    lists.listServicePools = [{ ...POOL, requests: 1200 }];
    const user = show();
    await user.click(await screen.findByRole('button', { name: 'Take down Shared NFs' }));
    expect(await screen.findByText(/The 1,200 requests that use it are released/)).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Release and take down' }));
    const input = { params: { id: 'pool' }, query: { requests: 'release' } };
    await waitFor(() => expect(call).toHaveBeenCalledWith('deleteServicePool', input));
  });

  it('says that pools could not be read, not that there is none', async () => {
    lists.listServiceRequests = [];
    lists.listServicePools = null;
    show();
    expect(await screen.findByText('The pools could not be read')).toBeTruthy();
    expect(screen.queryByText(/Deploy a pool of NFs first/)).toBeNull();
    const request = screen.getByRole('button', { name: 'New request' });
    expect(request.closest('[title]')?.getAttribute('title')).toBe('The pools could not be read');
  });

  it('says why a pool that is taken down is still there', async () => {
    lists.listServiceRequests = [];
    lists.listServicePools = [{ ...POOL, state: 'removing', detail: 'The agent of server-2 is not connected.' }];
    show();
    const told = await screen.findByText(/^It is being taken down/);
    expect(told.textContent).toBe('It is being taken down. The agent of server-2 is not connected.');
  });

  it('says of a refused request how near it came', async () => {
    lists.listServiceRequests = [REFUSED];
    lists.listServicePools = [POOL];
    show('/service-requests?request=sr-2');
    const detail = within(await screen.findByRole('complementary', { name: NAMED }));
    expect(detail.getByText(REFUSED.why!)).toBeTruthy();
    expect(detail.queryByRole('button', { name: 'Release' })).toBeNull();
    expect(detail.getByText('sr-2', { selector: 'code' })).toBeTruthy();
  });

  it('takes refused requests off the list, one at once and all once that is confirmed', async () => {
    lists.listServiceRequests = [ACTIVE, REFUSED, { ...REFUSED, id: 'sr-5' }];
    lists.listServicePools = [POOL];
    const user = show('/service-requests?request=sr-2');
    await user.click(await screen.findByRole('button', { name: 'Dismiss' }));
    const one = { params: { id: 'sr-2' }, query: { state: 'refused' } };
    await waitFor(() => expect(call).toHaveBeenCalledWith('deleteServiceRequest', one));
    await waitFor(() => expect(screen.queryByRole('complementary')).toBeNull());
    await user.click(screen.getByRole('button', { name: 'Dismiss refused (2)' }));
    expect(await screen.findByText(/All 2 refused requests go off the list/)).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Dismiss all' }));
    // One that is refused meanwhile, and that nobody has seen, stays.
    const input = { query: { state: 'refused', until: expect.any(Number) } };
    await waitFor(() => expect(call).toHaveBeenCalledWith('dismissServiceRequests', input));
    const dismissals = vi.mocked(call).mock.calls.filter(([name]) => name === 'dismissServiceRequests');
    expect(dismissals).toHaveLength(1);
  });

  it('takes released requests off the list with the refused ones, and says how many of each', async () => {
    const released = { ...ACTIVE, state: 'released' as const };
    lists.listServiceRequests = [REFUSED, { ...released, id: 'sr-6' }, { ...released, id: 'sr-7' }];
    lists.listServicePools = [POOL];
    vi.mocked(call).mockClear();
    const user = show();
    await user.click(await screen.findByRole('button', { name: 'Dismiss refused (1) and released (2)' }));
    const words = 'All 1 refused and 2 released requests go off the list, with the reasons. This cannot be undone.';
    expect(await screen.findByText(words)).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Dismiss all' }));
    const until = expect.any(Number);
    for (const state of ['refused', 'released'])
      await waitFor(() => expect(call).toHaveBeenCalledWith('dismissServiceRequests', { query: { state, until } }));
  });

  it('takes those of one pool off the list where the page shows that pool, and says what else goes where it is filtered', async () => {
    lists.listServiceRequests = [REFUSED];
    lists.listServicePools = [POOL];
    vi.mocked(call).mockClear();
    const user = show('/service-requests?q=pool');
    await user.click(await screen.findByRole('button', { name: 'Dismiss refused (1)' }));
    expect(await screen.findByText(/^The refused request of pool goes off the list, with the reasons\./)).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Dismiss all' }));
    const input = { query: { state: 'refused', pool: 'pool', until: expect.any(Number) } };
    await waitFor(() => expect(call).toHaveBeenCalledWith('dismissServiceRequests', input));
    cleanup();
    show('/service-requests?q=firewall');
    await user.click(await screen.findByRole('button', { name: 'Dismiss refused (1)' }));
    expect(await screen.findByText(/with the reasons, also what the filter hides\./)).toBeTruthy();
  });

  it('names the one released request that it takes off the list', async () => {
    lists.listServiceRequests = [{ ...ACTIVE, state: 'released' }];
    lists.listServicePools = [POOL];
    const user = show();
    await user.click(await screen.findByRole('button', { name: 'Dismiss released (1)' }));
    expect(await screen.findByText('The released request goes off the list. This cannot be undone.')).toBeTruthy();
  });

  it('reads the newest first, counts by the server, and shows one that is not among them', async () => {
    lists.listServiceRequests = [ACTIVE, { ...ACTIVE, id: 'sr-4', state: 'broken' }];
    lists.listServicePools = [POOL];
    unlisted.push({ ...REFUSED, id: 'sr-3' });
    const user = show('/service-requests?request=sr-3');
    expect(await screen.findByText('The newest 2 of 3.')).toBeTruthy();
    expect(await screen.findByText(/1 active, 1 broken/)).toBeTruthy();
    const detail = within(await screen.findByRole('complementary', { name: NAMED }));
    expect(detail.getByText(REFUSED.why!)).toBeTruthy();
    const table = within(screen.getByRole('table', { name: 'Service requests' }));
    const shown = () => table.getAllByRole('button', { name: /port.dst 80/ });
    expect(shown()).toHaveLength(2);
    await user.click(screen.getByRole('button', { name: 'Read all' }));
    await waitFor(() => expect(shown()).toHaveLength(3));
    expect(screen.queryByText(/The newest/)).toBeNull();
    unlisted.pop();
  });

  it('lists those that are broken or late first, also where they are not among the newest', async () => {
    lists.listServiceRequests = [ACTIVE, REFUSED];
    lists.listServicePools = [POOL];
    const slow = {
      ...ACTIVE,
      id: 'sr-9',
      state: 'late' as const,
      latency_us: 77,
      why: 'No other way keeps the bound.',
    };
    unlisted.push(slow);
    beyond = 1;
    const user = show();
    expect(await screen.findByText(/The newest 2 of 4, after 1 older in trouble\./)).toBeTruthy();
    expect(await screen.findByText(/1 active, 1 late: slower than their bounds\./)).toBeTruthy();
    const table = within(screen.getByRole('table', { name: 'Service requests' }));
    const [, first] = table.getAllByRole('row');
    expect(within(first!).getByText('late')).toBeTruthy();
    await user.click(within(first!).getByRole('button', { name: /port.dst 80/ }));
    const detail = within(screen.getByRole('complementary', { name: NAMED }));
    expect(detail.getByText(/Its packets take longer than its bound/)).toBeTruthy();
    expect(detail.getByText('No other way keeps the bound.')).toBeTruthy();
    expect(detail.getByRole('button', { name: 'Release' })).toBeTruthy();
    unlisted.pop();
    beyond = 0;
  });

  it('says how many there are beyond all that it could read', async () => {
    lists.listServiceRequests = [ACTIVE, REFUSED];
    lists.listServicePools = [POOL];
    beyond = 3;
    const user = show();
    expect(await screen.findByText('The newest 2 of 5.')).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Read all' }));
    expect(await screen.findByText('The newest 2 of 5, which are as many as can be shown.')).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Read all' })).toBeNull();
    beyond = 0;
  });

  it('shows how far a call in bulk has come, and cancels it', async () => {
    lists.listServiceRequests = [ACTIVE];
    lists.listServicePools = [POOL];
    const user = show();
    await user.click(await screen.findByRole('button', { name: 'In bulk' }));
    const text = (await screen.findByRole('textbox', { name: 'Requests' })) as HTMLTextAreaElement;
    expect(text.value).toContain('\npool,client-1,port.dst=80,firewall,500,1000000\n');
    await user.click(await screen.findByRole('button', { name: 'Try' }));
    expect(await screen.findByText('1 of 2 decided, 1 accepted')).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'Cancel: book nothing' }));
    expect(calls.map(({ aborted }) => aborted)).toEqual([true]);
    expect(screen.queryByText(/decided,/)).toBeNull();
  });
});

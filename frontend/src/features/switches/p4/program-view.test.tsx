import { MantineProvider } from '@mantine/core';
import type { P4Entries, P4Program, P4Reading, SwitchState } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { ProgramView } from './program-view.js';
import { P4Programs } from './programs.js';

const HASH = 'a'.repeat(64);
const PROGRAM: P4Program = {
  name: 'ipv4-router',
  title: 'IPv4 router',
  summary: '',
  hash: HASH,
  bytes: 20_000,
  content: {
    tables: [
      {
        id: 1,
        name: 'Router.routes',
        size: 1024,
        fields: [{ id: 1, name: 'dst_addr', bits: 32, match: 'lpm' }],
        actions: [
          { name: 'Router.forward', of: 'both' },
          { name: 'Router.drop', of: 'both' },
        ],
        constant: false,
        constant_default: false,
        counted: true,
        profile: false,
      },
    ],
    actions: [
      {
        id: 1,
        name: 'Router.forward',
        params: [
          { id: 1, name: 'next_hop', bits: 48 },
          { id: 2, name: 'port', bits: 9 },
        ],
      },
      { id: 2, name: 'Router.drop', params: [] },
    ],
    arrays: [],
  },
  floods: [],
  example: true,
  by: null,
  created_ms: null,
  switches: ['lab'],
};
const STATE: SwitchState = {
  id: 'lab',
  origin: 'twin',
  program: 'ipv4-router',
  connected: true,
  description: null,
  planned: null,
  observed: null,
  counted_ms: null,
};
const route = (dst_addr: string) => ({
  table: 'Router.routes',
  match: { dst_addr },
  action: 'Router.forward',
  params: { next_hop: '02:00:00:00:00:01', port: 'p1' },
});

let programs: P4Program[];
let kept: P4Entries;
let reading: P4Reading;
let puts: { ifMatch: string | null; body: P4Entries }[];
let created: unknown[];
let refusal: object | null;
beforeEach(() => {
  programs = [PROGRAM];
  kept = { entries: [route('10.0.0.0/24')], default_actions: [], groups: [] };
  reading = {
    hash: HASH,
    entries: [
      { ...route('10.0.0.0/24'), packets: 5, bytes: 500, own: true },
      { ...route('10.7.0.0/16'), packets: 0, bytes: 0, own: false },
    ],
    left_out: 0,
    default_actions: [{ table: 'Router.routes', action: 'Router.drop', params: {}, packets: 1, bytes: 60 }],
    groups: [],
  };
  puts = [];
  created = [];
  refusal = null;
  vi.stubGlobal('fetch', async (url: URL, request: RequestInit) => {
    const path = url.pathname;
    if (path.endsWith('/p4-programs') && request.method === 'POST') {
      created.push(JSON.parse(String(request.body)));
      return refusal ? Response.json(refusal, { status: 422 }) : Response.json(PROGRAM, { status: 201 });
    }
    if (path.endsWith('/p4-programs')) return Response.json({ items: programs, total: programs.length });
    if (path.endsWith('/p4-tables')) return Response.json(reading);
    if (path.endsWith('/example')) return Response.json({ ...kept, entries: [route('10.9.0.1/32')] });
    if (request.method === 'PUT') {
      if (refusal) return Response.json(refusal, { status: 422 });
      kept = JSON.parse(String(request.body)) as P4Entries;
      puts.push({ ifMatch: new Headers(request.headers).get('if-match'), body: kept });
    }
    return Response.json(kept, { headers: { etag: '"v1"' } });
  });
});
afterEach(() => vi.unstubAllGlobals());

function show(role: 'viewer' | 'operator' | 'designer', element = <ProgramView state={STATE} name="ipv4-router" />) {
  sessionStore.setState({ session: { token: 't', name: 'me', role } as never, ended: null });
  const router = createMemoryRouter([{ path: '/', element }]);
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}
const table = async (name = 'Router.routes') => within(await screen.findByRole('region', { name: `Table ${name}` }));
const rowOf = async (text: string) => (await (await table()).findByText(text)).closest('tr')!;

it('shows entries with their counters, and which are of another controller', async () => {
  show('operator');
  await waitFor(async () => expect((await rowOf('dst_addr 10.0.0.0/24')).textContent).toContain('installed'));
  expect((await rowOf('dst_addr 10.0.0.0/24')).textContent).toContain('5');
  const foreign = await rowOf('dst_addr 10.7.0.0/16');
  expect(foreign.textContent).toContain('of another controller');
  expect(within(foreign).queryByRole('button')).toBeNull();
  expect((await table()).getByText('drop()')).toBeTruthy();
});

it('adds an entry to those that are there, and removes one', async () => {
  const user = userEvent.setup();
  show('operator');
  await user.click(await screen.findByRole('button', { name: 'Add entry to Router.routes' }));
  await user.type(await screen.findByLabelText(/Match dst_addr/), '10.1.0.0/16');
  await user.type(screen.getByLabelText(/Parameter next_hop/), '02:00:00:00:00:02');
  await user.type(screen.getByLabelText(/Parameter port/), 'p2');
  await user.click(screen.getByRole('button', { name: 'Add entry' }));
  await waitFor(() => expect(puts).toHaveLength(1));
  const added = { ...route('10.1.0.0/16'), params: { next_hop: '02:00:00:00:00:02', port: 'p2' } };
  expect(puts[0]).toEqual({ ifMatch: '"v1"', body: { ...kept, entries: [route('10.0.0.0/24'), added] } });
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  await user.click(await screen.findByRole('button', { name: 'Remove the entry dst_addr 10.0.0.0/24' }));
  await waitFor(() => expect(puts).toHaveLength(2));
  expect(puts[1]!.body.entries).toEqual([added]);
});

it('removes the entry of one table alone, also where two have the last part of their names in common', async () => {
  const user = userEvent.setup();
  const [routes] = PROGRAM.content.tables;
  const content = { ...PROGRAM.content, tables: [routes!, { ...routes!, id: 2, name: 'Egress.routes' }] };
  programs = [{ ...PROGRAM, content }];
  const other = { ...route('10.0.0.0/24'), table: 'Egress.routes' };
  kept = { ...kept, entries: [route('10.0.0.0/24'), other] };
  reading = { ...reading, entries: [{ ...route('10.0.0.0/24'), packets: 5, bytes: 500, own: true }] };
  show('operator');
  await waitFor(async () => expect((await table()).getByText('installed')).toBeTruthy());
  expect((await table('Egress.routes')).getByText('not installed')).toBeTruthy();
  await user.click((await table()).getByRole('button', { name: 'Remove the entry dst_addr 10.0.0.0/24' }));
  await waitFor(() => expect(puts).toHaveLength(1));
  expect(puts[0]!.body.entries).toEqual([other]);
});

it('knows entries and default actions by the short name of their table', async () => {
  const user = userEvent.setup();
  const drop = { table: 'routes', action: 'drop', params: {} };
  kept = { entries: [{ ...route('10.0.0.0/24'), table: 'routes' }], default_actions: [drop], groups: [] };
  show('operator');
  await waitFor(async () => expect(within(await rowOf('dst_addr 10.0.0.0/24')).getByText('installed')).toBeTruthy());
  await user.click(await screen.findByRole('button', { name: 'Default action…' }));
  await user.click(await screen.findByRole('button', { name: 'Set default action' }));
  await waitFor(() => expect(puts).toHaveLength(1));
  expect(puts[0]!.body.default_actions.map(({ table: name }) => name)).toEqual(['Router.routes']);
  kept = { ...kept, default_actions: [drop] };
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  await user.click(await screen.findByRole('button', { name: 'Default of the program' }));
  await waitFor(() => expect(puts).toHaveLength(2));
  expect(puts[1]!.body.default_actions).toEqual([]);
});

it('shows what is wrong at its field', async () => {
  const user = userEvent.setup();
  const errors = [{ pointer: '/entries/1/match/dst_addr', detail: '10.0.0.1/8 has bits that its mask leaves out' }];
  refusal = { title: 'Invalid content', status: 422, detail: 'no', errors };
  show('operator');
  await user.click(await screen.findByRole('button', { name: 'Add entry to Router.routes' }));
  await user.type(await screen.findByLabelText(/Match dst_addr/), '10.0.0.1/8');
  await user.click(screen.getByRole('button', { name: 'Add entry' }));
  expect(await screen.findByText('10.0.0.1/8 has bits that its mask leaves out')).toBeTruthy();
  expect(screen.queryByRole('alert')).toBeNull();
});

it('fills in the entries of an example', async () => {
  const user = userEvent.setup();
  show('operator');
  await user.click(await screen.findByRole('button', { name: 'Example entries…' }));
  await user.click(await screen.findByRole('button', { name: 'Use example entries' }));
  await waitFor(() => expect(puts.map(({ body }) => body.entries)).toEqual([[route('10.9.0.1/32')]]));
});

it('is not changed by viewers', async () => {
  show('viewer');
  const add = await screen.findByRole('button', { name: 'Add entry to Router.routes' });
  expect((add as HTMLButtonElement).disabled).toBe(true);
});

it('uploads the files that p4c writes, and shows why they are refused', async () => {
  const user = userEvent.setup();
  show('designer', <P4Programs />);
  await user.click(await screen.findByRole('button', { name: 'Upload program' }));
  const dialog = within(await screen.findByRole('dialog'));
  const files = document.querySelectorAll<HTMLInputElement>('input[type=file]');
  await user.upload(files[0]!, new File(['{"a":1}'], 'My Router.json', { type: 'application/json' }));
  await user.upload(files[1]!, new File(['tables {}'], 'r.txtpb', { type: 'text/plain' }));
  expect((dialog.getByLabelText(/^Name/) as HTMLInputElement).value).toBe('my-router');
  refusal = {
    title: 'Invalid content',
    status: 422,
    detail: 'no',
    errors: [{ pointer: '/p4info', detail: 'is another' }],
  };
  await user.click(dialog.getByRole('button', { name: 'Upload' }));
  expect(await dialog.findByText('is another')).toBeTruthy();
  expect(created).toEqual([{ name: 'my-router', title: 'my-router', bmv2_json: '{"a":1}', p4info: 'tables {}' }]);
});

it('says at an entry and at a default action that they flood to a group that is not set', async () => {
  const [routes] = PROGRAM.content.tables;
  const flood = { id: 3, name: 'Router.flood', params: [{ id: 1, name: 'group', bits: 16 }] };
  const actions = [...routes!.actions, { name: flood.name, of: 'both' as const }];
  programs = [
    {
      ...PROGRAM,
      content: { ...PROGRAM.content, tables: [{ ...routes!, actions }], actions: [...PROGRAM.content.actions, flood] },
      floods: [{ action: 'Router.flood', param: 'group' }],
    },
  ];
  const to = (dst_addr: string, group: string) => ({
    table: 'routes',
    match: { dst_addr },
    action: 'flood',
    params: { group },
  });
  const none = { table: 'routes', action: 'flood', params: { group: '9' } };
  kept = {
    entries: [
      to('10.0.0.0/24', '7'),
      to('10.0.1.0/24', '0x5'),
      to('10.0.2.0/24', '6'),
      to('10.0.3.0/24', '0'),
      route('10.0.4.0/24'),
    ],
    default_actions: [none],
    groups: [{ id: 5, ports: ['p1'] }],
  };
  reading = {
    ...reading,
    entries: [],
    default_actions: [{ ...none, packets: 0, bytes: 0 }],
    groups: [{ id: 6, ports: ['p2'], own: false }],
  };
  show('operator');
  await waitFor(async () => expect((await rowOf('dst_addr 10.0.0.0/24')).textContent).toContain('group 7 is not set'));
  for (const other of ['10.0.1.0/24', '10.0.2.0/24', '10.0.3.0/24', '10.0.4.0/24'])
    expect((await rowOf(`dst_addr ${other}`)).textContent).not.toContain('not set');
  const head = await table();
  expect(head.getByText('Group 9 is not set: packets that no entry takes are dropped')).toBeTruthy();
});

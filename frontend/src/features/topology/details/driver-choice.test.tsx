import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { DriverChoice } from './driver-choice.js';

const LEAF = { id: 'leaf-1', origin: 'twin', driver: 'ovs', ports: 4, table_entries: 100, actions: [] };
const RACK = {
  name: 'rack',
  servers: [],
  boards: [],
  hosts: [],
  links: [],
  switches: [LEAF, { ...LEAF, id: 'leaf-2' }],
};
const CAPABILITIES = [
  { id: 'p4-switch', title: 'P4', where: 'twin', available: true, detail: '', fallback: null },
  { id: 'bmv2', title: 'BMv2', where: 'twin', available: false, detail: '', fallback: '' },
];

let puts: { headers: Headers; body: unknown }[];
let answer: () => Response;
beforeEach(() => {
  puts = [];
  answer = () => Response.json(RACK);
  vi.stubGlobal('fetch', async (url: URL, request: RequestInit) => {
    if (url.pathname.endsWith('/capabilities')) return Response.json({ items: CAPABILITIES });
    if (request.method === 'GET') return Response.json(RACK, { headers: { etag: '"3"' } });
    puts.push({ headers: new Headers(request.headers), body: JSON.parse(String(request.body)) });
    return answer();
  });
});
afterEach(() => vi.unstubAllGlobals());

function show(role: 'viewer' | 'admin') {
  sessionStore.setState({ session: { token: 't', name: 'me', role } as never, ended: null });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <DriverChoice id="leaf-1" title="Leaf 1" driver="ovs" />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return screen.getByRole('combobox', { name: 'Driver of Leaf 1' });
}

it('changes the driver of this switch alone, of the infrastructure as it is, after asking', async () => {
  fireEvent.click(show('admin'));
  await waitFor(() => expect(screen.getByText('P4, BMv2 (not available)')).toBeTruthy());
  fireEvent.click(screen.getByText('P4, built in'));
  fireEvent.click(screen.getByRole('button', { name: 'Change…' }));
  expect(puts).toEqual([]);
  fireEvent.click(screen.getByRole('button', { name: 'Change to P4, built in' }));
  await waitFor(() => expect(puts).toHaveLength(1));
  expect(puts[0]!.headers.get('if-match')).toBe('"3"');
  expect(puts[0]!.body).toEqual({
    ...RACK,
    switches: [
      { ...LEAF, driver: 'p4' },
      { ...LEAF, id: 'leaf-2' },
    ],
  });
});

it('shows the driver that runs when the change is refused', async () => {
  answer = () => Response.json({ title: 'Conflict', status: 409, detail: 'no' }, { status: 409 });
  const field = show('admin');
  fireEvent.click(field);
  fireEvent.click(await screen.findByText('P4, built in'));
  fireEvent.click(screen.getByRole('button', { name: 'Change…' }));
  fireEvent.click(screen.getByRole('button', { name: 'Change to P4, built in' }));
  await waitFor(() => expect((field as HTMLInputElement).value).toBe('Open vSwitch'));
});

it('is for administrators', () => {
  expect((show('viewer') as HTMLInputElement).disabled).toBe(true);
});

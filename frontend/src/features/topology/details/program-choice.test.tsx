import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { ProgramChoice } from './program-choice.js';

const LEAF = { id: 'leaf-1', origin: 'twin', driver: 'p4', ports: 4, table_entries: 100, actions: [] };
const OTHER = { ...LEAF, id: 'leaf-2', program: 'mine' };
const rack = (leaf: object) => ({
  name: 'rack',
  servers: [],
  boards: [],
  hosts: [],
  links: [],
  switches: [leaf, OTHER],
});

let now: object;
let puts: { headers: Headers; body: unknown }[];
beforeEach(() => {
  puts = [];
  vi.stubGlobal('fetch', async (url: URL, request: RequestInit) => {
    if (url.pathname.endsWith('/p4-programs'))
      return Response.json({ items: [{ name: 'ipv4-router', title: 'IPv4 router' }], total: 1 });
    if (request.method === 'GET') return Response.json(now, { headers: { etag: '"3"' } });
    puts.push({ headers: new Headers(request.headers), body: JSON.parse(String(request.body)) });
    return Response.json(now);
  });
});
afterEach(() => vi.unstubAllGlobals());

function show(role: 'viewer' | 'admin', program: string | null) {
  now = rack(program === null ? LEAF : { ...LEAF, program });
  sessionStore.setState({ session: { token: 't', name: 'me', role } as never, ended: null });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <ProgramChoice id="leaf-1" title="Leaf 1" program={program} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return screen.getByRole('combobox', { name: 'P4 program of Leaf 1' });
}

it('gives this switch alone a program, of the infrastructure as it is, after asking', async () => {
  fireEvent.click(show('admin', null));
  fireEvent.click(await screen.findByText('IPv4 router (ipv4-router)'));
  fireEvent.click(screen.getByRole('button', { name: 'Change…' }));
  expect(puts).toEqual([]);
  fireEvent.click(screen.getByRole('button', { name: 'Change to IPv4 router' }));
  await waitFor(() => expect(puts).toHaveLength(1));
  expect(puts[0]!.headers.get('if-match')).toBe('"3"');
  expect(puts[0]!.body).toEqual(rack({ ...LEAF, program: 'ipv4-router' }));
});

it('gives the switch back to the fabric', async () => {
  fireEvent.click(show('admin', 'ipv4-router'));
  fireEvent.click(await screen.findByText('Fabric (carries chains)'));
  fireEvent.click(screen.getByRole('button', { name: 'Change…' }));
  fireEvent.click(screen.getByRole('button', { name: 'Change to the program of the fabric' }));
  await waitFor(() => expect(puts.map(({ body }) => body)).toEqual([rack(LEAF)]));
});

it('is for administrators', () => {
  expect((show('viewer', null) as HTMLInputElement).disabled).toBe(true);
});

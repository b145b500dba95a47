import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen, waitFor } from '@testing-library/react';
import { MemoryRouter, Route, Routes } from 'react-router';
import { describe, expect, it, vi } from 'vitest';
import { descriptor } from '../../editor-model/testing.js';
import { sessionStore } from '../api/session.js';
import { useDerived } from './context.js';
import { Component } from './frame.js';

vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(),
}));
const { call, callFull } = await import('../api/client.js');

const draft = {
  name: 'web',
  title: 'Web',
  description: '',
  traffic_class: { from: ['client-1'], match: [], rate_bps: 1_000_000 },
  nodes: [
    { id: 'in', kind: 'ingress' },
    { id: 'fw', kind: 'nf', nf: 'firewall', config: {} },
    { id: 'out', kind: 'egress' },
  ],
  edges: [
    { id: 'a', from: 'in', to: 'fw', filter: [] },
    { id: 'b', from: 'fw', to: 'out', filter: [] },
  ],
  affinity: [],
  slos: [],
  class_slos: [],
};
const chain = { id: 'ch-1', draft, revision: 2, versions: [], deployed_version: null, deployment_state: 'none' };
/** A server that answers when told to. */
function slowServer() {
  const answers = new Map<string, (data: unknown) => void>();
  const waiting = (name: string) => new Promise((done) => answers.set(name, done));
  vi.mocked(callFull).mockImplementation((async (name: string) => {
    const data = await waiting(name);
    return { data, etag: '"1"', location: null, next: null };
  }) as unknown as typeof callFull);
  vi.mocked(call).mockImplementation(((name: string) => waiting(name)) as unknown as typeof call);
  return async (name: string, data: unknown) => {
    await waitFor(() => expect(answers.has(name)).toBe(true));
    await act(async () => answers.get(name)!(data));
  };
}

/** Every number of errors that the editor is given, in order. */
const seen: number[] = [];
function Errors() {
  const { errors, all } = useDerived(({ problems }) => problems);
  seen.push(errors);
  return <p>{errors === 0 ? 'no errors' : all.map(({ message }) => message).join(' ')}</p>;
}

describe('the draft of a chain', () => {
  it('is not checked against a catalogue or hosts that the server has not told yet', async () => {
    const answer = slowServer();
    sessionStore.setState({ session: { token: 't', name: 'a', role: 'admin', expires_ms: Number.MAX_SAFE_INTEGER } });
    render(
      <MantineProvider env="test">
        <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
          <MemoryRouter initialEntries={['/chains/ch-1']}>
            <Routes>
              <Route path="/chains/:id" element={<Component />}>
                <Route index element={<Errors />} />
              </Route>
            </Routes>
          </MemoryRouter>
        </QueryClientProvider>
      </MantineProvider>,
    );
    await answer('getChain', chain);
    await answer('listNfDescriptors', { items: [descriptor('firewall')], total: 1 });
    expect(screen.queryByText(/./, { selector: 'p' })).toBeNull();
    await answer('getInfrastructure', {
      name: 'n',
      servers: [],
      boards: [],
      switches: [],
      links: [],
      hosts: [{ id: 'client-1' }],
    });
    expect(await screen.findByText('no errors')).toBeTruthy();
    expect(seen.every((errors) => errors === 0)).toBe(true);
  });
});

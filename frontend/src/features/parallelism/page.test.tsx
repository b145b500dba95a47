import { MantineProvider } from '@mantine/core';
import type { Chain, Session } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { beforeEach, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { Component } from './page.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(),
}));
const { ApiError, call, callFull } = await import('../../shared/api/client.js');

/** What the server answers besides its chains; `preview` plans. */
function answer(preview: (body: { chains: unknown }) => object = () => ({})) {
  vi.mocked(call).mockReset();
  vi.mocked(call).mockImplementation((async (name: string, input: { body: { chains: unknown } }) => {
    if (name === 'previewPlan') return preview(input.body);
    return name === 'getInfrastructure' ? { servers: [], boards: [] } : { items: [], total: 0 };
  }) as unknown as typeof call);
}
beforeEach(() => answer());

function show(chains: readonly Chain[] | Error, role: Session['role'] = 'viewer') {
  vi.mocked(callFull).mockImplementation((async (name: string) => {
    if (name === 'listChains' && chains instanceof Error) throw chains;
    const items = name === 'listChains' ? chains : [];
    return { data: { items, total: 0 }, next: null };
  }) as unknown as typeof callFull);
  sessionStore.setState({ session: { role, token: 't', name: 'ann', expires_ms: 9e15 } as Session });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
          <Component />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

const nf = (id: string) => ({ id, kind: 'nf', nf: 'monitor', config: {} });
const draft = {
  id: 'ch-1',
  revision: 1,
  draft: {
    name: 'web',
    title: 'Web',
    traffic_class: { from: ['client-1'], packet_bytes: 800 },
    nodes: [{ id: 'in', kind: 'ingress' }, nf('a'), nf('b'), { id: 'out', kind: 'egress' }],
    edges: [{ id: 'e', from: 'a', to: 'b' }],
  },
  versions: [],
  deployed_version: null,
  deployment_state: 'none',
} as unknown as Chain;

it('says how to get a chain where there is none', async () => {
  show([]);
  expect(await screen.findByText('No chains yet')).toBeTruthy();
  expect(screen.getByRole('link', { name: 'Draw a chain' }).getAttribute('href')).toBe('/chains');
});

it('says what the server says where the chains cannot be read', async () => {
  show(new ApiError({ type: 'about:blank', title: 'Failed', status: 500, detail: 'The store does not answer.' }));
  expect(await screen.findByRole('alert')).toHaveProperty(
    'textContent',
    expect.stringContaining('store does not answer'),
  );
});

it('shows a draft to viewers as drawn, without planning it', async () => {
  show([draft]);
  expect(await screen.findByText(/No chain is deployed/)).toBeTruthy();
  expect(screen.getByRole('list', { name: 'Web as drawn' }).textContent).toContain('monitor');
  expect(screen.getByText('What a draft would gain is planned by operators.')).toBeTruthy();
  expect(screen.queryByRole('button', { name: /^Run in/ })).toBeNull();
  expect(vi.mocked(call).mock.calls.filter(([name]) => name === 'previewPlan')).toEqual([]);
});

it('plans the selected draft in both executions, and shows why it cannot', async () => {
  const asked: unknown[] = [];
  answer(({ chains }) => {
    asked.push(chains);
    return {
      id: 'pn',
      feasible: false,
      conflicts: [{ constraint: 'engine-ability', needed: 1, available: 0, unit: 'mirror', where: 'server-1' }],
      problems: [],
      parallel: [],
      classes: [],
      graph: { nodes: [], edges: [] },
      chains: [],
    };
  });
  show([draft], 'operator');
  expect(await screen.findByText(/What the data plane can run on server-1: needs 1 mirror/)).toBeTruthy();
  expect(asked).toEqual([
    [{ chain_id: 'ch-1', version: 0, execution: 'sequential' }],
    [{ chain_id: 'ch-1', version: 0, execution: 'parallel' }],
  ]);
});

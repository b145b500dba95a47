import { MantineProvider } from '@mantine/core';
import type { Infrastructure, NfInstance, Plan } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it } from 'vitest';
import { buildScene } from '../model.js';
import { serverNode } from '../testing/server-node.js';
import { NO_TROUBLES, type Troubles } from '../troubles.js';
import { Details } from './details.js';

const EMPTY = { name: 'lab', servers: [], switches: [], hosts: [], boards: [], links: [] };

const view = (isPending: boolean) => (
  <MantineProvider env="test">
    <Details
      target={{ kind: 'joint', id: 'web.e1.split' }}
      scene={buildScene(EMPTY as unknown as Infrastructure, [])}
      troubles={NO_TROUBLES}
      nodes={[]}
      plans={[]}
      isPending={isPending}
      onSelect={() => undefined}
    />
  </MantineProvider>
);

it('says that an element does not exist only once it is known what runs', () => {
  const { rerender } = render(view(true));
  expect(screen.queryByText(/does not exist/)).toBeNull();
  rerender(view(false));
  expect(screen.getByText(/does not exist/)).toBeTruthy();
  expect(screen.getByText(/No such mirror, merge, split or queue/)).toBeTruthy();
});

const TROUBLES: Troubles = new Map([
  ['server-1', { word: 'link down', text: 'link server-1-leaf is down', status: 'failed' }],
]);

it('tells nothing of an agent until it is known, and what is the matter with its server', () => {
  const network = { ...EMPTY, servers: [serverNode('server-1')] } as unknown as Infrastructure;
  const of = (nodes: [] | null) => (
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <Details
          target={{ kind: 'node', id: 'server-1' }}
          scene={buildScene(network, [])}
          troubles={TROUBLES}
          nodes={nodes}
          plans={[]}
          isPending={false}
          onSelect={() => undefined}
        />
      </QueryClientProvider>
    </MantineProvider>
  );
  const { rerender } = render(of(null));
  expect(screen.getByRole('status', { name: 'Loading' })).toBeTruthy();
  expect(screen.queryByText('never')).toBeNull();
  rerender(of([]));
  expect(screen.queryByRole('status', { name: 'Loading' })).toBeNull();
  expect(screen.getByText('never')).toBeTruthy();
  expect(screen.getByText('link server-1-leaf is down')).toBeTruthy();
});

it('says what is the matter with a switch, also while its agent is being read', () => {
  const leaf = { id: 'leaf', title: 'Leaf 1', origin: 'twin', driver: 'ovs' };
  render(
    <MantineProvider env="test">
      <Details
        target={{ kind: 'node', id: 'leaf' }}
        scene={buildScene({ ...EMPTY, switches: [leaf] } as unknown as Infrastructure, [])}
        troubles={new Map([['leaf', { word: 'agent away', text: 'its agent is away', status: 'failed' }]])}
        nodes={null}
        plans={[]}
        isPending={false}
        onSelect={() => undefined}
      />
    </MantineProvider>,
  );
  expect(screen.getByText('its agent is away')).toBeTruthy();
});

it.each([
  ['engine', 1],
  ['switch', 0],
] as const)(
  'charts the CPU of an NF of the kind %s only where it uses a core, and says that it has moved',
  (driver, charts) => {
    const network = { ...EMPTY, servers: [serverNode('server-1')] } as unknown as Infrastructure;
    const nf = { id: 'web.nat.0-3', server: 'server-1', core: 0, chain_id: 'ch-1', node_id: 'nat', nf: 'nat', driver };
    const instance = { ...nf, slot: null, state: 'running', detail: null, origin: 'twin' } as NfInstance;
    render(
      <MantineProvider env="test">
        <MemoryRouter>
          <QueryClientProvider client={new QueryClient()}>
            <Details
              target={{ kind: 'nf', id: 'web.nat.0-3' }}
              scene={buildScene(network, [instance])}
              troubles={TROUBLES}
              nodes={[]}
              plans={[]}
              isPending={false}
              onSelect={() => undefined}
            />
          </QueryClientProvider>
        </MemoryRouter>
      </MantineProvider>,
    );
    expect(screen.getByRole('figure', { name: 'Packets' })).toBeTruthy();
    expect(screen.queryAllByRole('figure', { name: 'CPU' })).toHaveLength(charts);
    expect(screen.getByText(/^it was web\.nat\.0 before it moved, 2 times so far/)).toBeTruthy();
    expect(screen.getByText('server-1: link server-1-leaf is down')).toBeTruthy();
  },
);

it('shows the split of an NF once while another plan still has it, by the plan of its chain', () => {
  const network = { ...EMPTY, servers: [serverNode('server-1')] } as unknown as Infrastructure;
  const nf = { chain_id: 'ch-1', node_id: 'ids', nf: 'ids', server: 'server-1', core: 0, driver: 'engine' };
  const instance = { ...nf, id: 'web.ids.0', slot: null, state: 'running', detail: null, origin: 'twin' } as NfInstance;
  const planOf = (id: string, at: string) => {
    const nodes = [0, 1].map((ordinal) => ({ ...nf, kind: 'nf', id: `web.ids.${ordinal}`, ordinal }));
    const targets = nodes.map((node, i) => ({
      ...{ instance_id: node.id, server: node.server },
      range: { lo: i * 32_768, hi: (i + 1) * 32_768 },
    }));
    const split = { chain_id: 'ch-1', node_id: 'ids', at, key: ['ip.src'], targets, keep_flows: null };
    return { id, chains: [], splits: [split], graph: { nodes, edges: [] } } as unknown as Plan;
  };
  const queries = new QueryClient({ defaultOptions: { queries: { enabled: false } } });
  queries.setQueryData(['deployments', 'listDeployments'], [{ chain_id: 'ch-1', plan_id: 'pn-2', state: 'running' }]);
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>
          <Details
            target={{ kind: 'nf', id: 'web.ids.0' }}
            scene={buildScene(network, [instance])}
            troubles={NO_TROUBLES}
            nodes={[]}
            plans={[planOf('pn-1', 'switch'), planOf('pn-2', 'engine')]}
            isPending={false}
            onSelect={() => undefined}
          />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  expect(screen.getAllByText(/^Flows of ids by instance/)).toHaveLength(1);
  expect(screen.getByText(/^Engines split/)).toBeTruthy();
});

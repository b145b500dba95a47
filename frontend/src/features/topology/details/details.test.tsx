import { MantineProvider } from '@mantine/core';
import type { Infrastructure } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
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

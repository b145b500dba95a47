import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen, waitFor } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it, vi } from 'vitest';
import { live } from '../../shared/stream/stream.js';
import { Servers } from './servers.js';

const links = [{ id: 'uplink', a: { node: 'server-1', port: 'nic0' }, b: { node: 'leaf-1', port: 'p1' } }];
const server = { id: 'server-1', kind: 'server', origin: 'twin', state: 'connected', engine: 'running', detail: null };
vi.mock('../../shared/api/queries.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/queries.js')>()),
  useInfrastructure: () => ({ data: { links } }),
  useNodes: () => ({ data: [server] }),
}));
vi.mock('../../shared/stream/seed.js', () => ({ useSeededSamples: () => {} }));

it('does not show a server without a link as healthy', async () => {
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <Servers />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  const look = () => screen.getByText('connected').closest('[data-status]')?.getAttribute('data-status');
  expect(look()).toBe('healthy');
  const figures = { t_ms: 1, a_to_b_bps: 0, b_to_a_bps: 0, utilization: 0, drops: 0 };
  act(() => live.addLinks([{ link_id: 'uplink', up: false, ...figures }]));
  await waitFor(() => expect(look()).toBe('degraded'));
  expect(screen.getByText('link uplink is down')).toBeTruthy();
});

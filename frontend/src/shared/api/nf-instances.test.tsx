import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { useNfInstances } from './queries.js';

const states = ['running', 'failed', 'starting', 'running'];
vi.mock('./client.js', async (original) => ({
  ...(await original<typeof import('./client.js')>()),
  callFull: vi.fn(async () => ({
    data: { items: [{ id: 'web.proxy.0', state: states.shift() }], total: 1 },
    next: null,
  })),
}));

function States() {
  return <output>{useNfInstances().data?.map(({ state }) => state)}</output>;
}

it('is read again until every NF runs, because no event tells that one runs again', async () => {
  const queries = new QueryClient();
  render(
    <QueryClientProvider client={queries}>
      <States />
    </QueryClientProvider>,
  );
  await vi.waitFor(() => expect(screen.getByRole('status').textContent).toBe('running'));
  await queries.invalidateQueries({ queryKey: ['nf-instances'] });
  await vi.waitFor(() => expect(screen.getByRole('status').textContent).toBe('failed'));
  await vi.waitFor(() => expect(screen.getByRole('status').textContent).toBe('running'), { timeout: 10_000 });
  expect(states).toEqual([]);
});

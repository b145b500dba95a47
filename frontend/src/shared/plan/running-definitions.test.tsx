import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { expect, it, vi } from 'vitest';
import { useDefinitions } from './running-definitions.js';

const chain = (id: string, title: string) => ({ id, draft: { title } });
const ANSWERS: Record<string, unknown> = {
  getPlan: { chains: [{ chain_id: 'runs', definition: { title: 'as it runs' } }] },
};
const LISTS: Record<string, unknown[]> = {
  listChains: [chain('runs', 'as edited since'), chain('draft', 'as drawn')],
  listDeployments: [{ chain_id: 'runs', plan_id: 'pn-1' }],
};
vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(async (name: string) => ANSWERS[name]),
  callFull: vi.fn(async (name: string) => ({ data: { items: LISTS[name] ?? [] }, next: null })),
}));

function show() {
  const queries = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  return renderHook(() => useDefinitions(), { wrapper });
}

it('are those by which chains run, whatever was edited since, and the drafts of the others', async () => {
  const { result } = show();
  await waitFor(() => expect(result.current('runs')?.title).toBe('as it runs'));
  expect(result.current('draft')?.title).toBe('as drawn');
  expect(result.current('gone')).toBeUndefined();
});

it('stay the same where nothing has changed', async () => {
  const { result, rerender } = show();
  await waitFor(() => expect(result.current('runs')?.title).toBe('as it runs'));
  const known = result.current;
  rerender();
  expect(result.current).toBe(known);
});

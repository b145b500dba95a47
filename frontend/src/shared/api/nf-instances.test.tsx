import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render } from '@testing-library/react';
import { useEffect } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useNfInstances } from './queries.js';

const states: string[] = [];
vi.mock('./client.js', async (original) => ({
  ...(await original<typeof import('./client.js')>()),
  callFull: vi.fn(async () => ({
    data: { items: [{ id: 'web.proxy.0', state: states.shift() }], total: 1 },
    next: null,
  })),
}));

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const pass = (time_ms: number) => act(() => vi.advanceTimersByTimeAsync(time_ms));

/** Adds each state that it shows to `shown`. */
function States({ shown }: { readonly shown: string[] }) {
  const state = useNfInstances().data?.[0]?.state;
  useEffect(() => {
    if (state) shown.push(state);
  }, [state, shown]);
  return null;
}

async function show(served: readonly string[]) {
  states.splice(0, states.length, ...served);
  const shown: string[] = [];
  const queries = new QueryClient();
  render(
    <QueryClientProvider client={queries}>
      <States shown={shown} />
    </QueryClientProvider>,
  );
  await pass(0);
  return { shown, queries };
}

it('is read again until every NF runs, because no event tells that one runs again', async () => {
  const { shown, queries } = await show(['running', 'failed', 'starting', 'running']);
  await pass(60_000);
  expect(shown).toEqual(['running']);
  await act(() => queries.invalidateQueries({ queryKey: ['nf-instances'] }));
  await pass(60_000);
  expect(shown).toEqual(['running', 'failed', 'starting', 'running']);
  expect(states).toEqual([]);
});

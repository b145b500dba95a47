import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render } from '@testing-library/react';
import { useEffect } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useNfInstances } from './queries.js';

/** Of one NF, at each time that it is read; the last one stays. */
const states: string[] = [];
const readMs: number[] = [];
vi.mock('./client.js', async (original) => ({
  ...(await original<typeof import('./client.js')>()),
  callFull: vi.fn(async () => {
    readMs.push(Date.now());
    const state = states.length > 1 ? states.shift() : states[0];
    return { data: { items: [{ id: 'web.proxy.0', state }], total: 1 }, next: null };
  }),
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
  readMs.length = 0;
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
});

it('is read less and less often while an NF does not come back, and often again once something changes', async () => {
  const { shown } = await show([...Array.from({ length: 8 }, () => 'failed'), 'starting', 'running']);
  await pass(60_000);
  expect(readMs.slice(1).map((at, index) => Math.round((at - readMs[index]!) / 1000))).toEqual([
    1, 1, 2, 4, 8, 10, 10, 10, 1,
  ]);
  expect(shown).toEqual(['failed', 'starting', 'running']);
});

it('is not read again for NFs whose agent is not connected, because an event tells that it is again', async () => {
  await show(['unknown']);
  await pass(60_000);
  expect(readMs).toHaveLength(1);
});

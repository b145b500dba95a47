import { renderHook } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readServerClock } from '../api/server-clock.js';
import { useSeededSamples } from './seed.js';

vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(async () => ({ items: [], total: 0 })),
}));
const { call } = await import('../api/client.js');

afterEach(() => vi.useRealTimers());

describe('useSeededSamples', () => {
  it('asks for the last half minute by the server’s clock, not by the browser’s', () => {
    vi.useFakeTimers({ now: 5_000_000_000 });
    readServerClock({ headers: new Headers({ date: 'Tue, 14 Nov 2023 22:13:20 GMT' }) });
    renderHook(() => useSeededSamples(['chain/a/']));
    expect(call).toHaveBeenCalledWith(
      'listSamples',
      { query: { keys: 'chain/a/', since: 1_700_000_000_000 - 35_000 } },
      expect.anything(),
    );
  });
});

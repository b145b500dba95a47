import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderHook, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { chainNameOf, deletedChain, useChainTitle } from './chains.js';
import { call } from './client.js';

vi.mock('./client.js', async (original) => ({
  ...(await original<typeof import('./client.js')>()),
  call: vi.fn(),
}));

describe('useChainTitle', () => {
  it('remembers the title of a chain that was deleted, and says of an unknown one that it is gone', () => {
    const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
    const list = (...chains: [string, string][]) =>
      queries.setQueryData(
        ['chains', 'listChains'],
        chains.map(([id, title]) => ({ id, draft: { title } })),
      );
    const titleOf = () => {
      const wrapper = ({ children }: { children: React.ReactNode }) => (
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      );
      return renderHook(() => useChainTitle(deletedChain), { wrapper }).result.current;
    };
    list(['ch-1', 'Web guard'], ['ch-2', 'Probe']);
    expect(titleOf()('ch-1')).toBe('Web guard');
    list(['ch-2', 'Probe']);
    expect(titleOf()('ch-1')).toBe('Web guard (deleted)');
    expect(titleOf()('ch-2')).toBe('Probe');
    expect(titleOf()('ch-9')).toBe('a deleted chain (ch-9)');
    expect(titleOf()('ch-mi8k2abc1234567890')).toBe('a deleted chain (…567890)');
    expect(titleOf()('ch-9', 'edge')).toBe('edge (deleted)');
    expect(titleOf()('ch-2', 'probe')).toBe('Probe');
  });

  it('has the last title of a chain that was deleted before, from the event log, which is read only if needed', async () => {
    const event = (subject: string, title: string) => ({ type: 'chain.deleted', subject, data: { name: 'x', title } });
    vi.mocked(call).mockResolvedValue({ items: [event('ch-7', 'Old guard'), event('ch-6', '')], total: 9 });
    const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
    queries.setQueryData(['chains', 'listChains'], [{ id: 'ch-2', draft: { title: 'Probe' } }]);
    const wrapper = ({ children }: { children: React.ReactNode }) => (
      <QueryClientProvider client={queries}>{children}</QueryClientProvider>
    );
    const initialProps = { shown: ['ch-2'] };
    const { result, rerender } = renderHook(({ shown }) => useChainTitle(deletedChain, shown), {
      wrapper,
      initialProps,
    });
    expect(result.current('ch-2')).toBe('Probe');
    expect(call).not.toHaveBeenCalled();
    rerender({ shown: ['ch-2', 'ch-6', 'ch-7'] });
    expect(result.current('ch-7')).toBe('a deleted chain (ch-7)');
    await waitFor(() => expect(result.current('ch-7')).toBe('Old guard (deleted)'));
    expect(result.current('ch-6')).toBe('a deleted chain (ch-6)');
    expect(call).toHaveBeenCalledExactlyOnceWith(
      'listEvents',
      { query: expect.objectContaining({ type: 'chain.deleted', order: 'newest-first' }) },
      expect.anything(),
    );
  });
});

describe('chainNameOf', () => {
  it.each([
    ['web.nat.0', 'web'],
    ['web.nat.board-1-0', 'web'],
    ['odd', null],
  ])('of %s is %s', (id, name) => expect(chainNameOf(id)).toBe(name));
});

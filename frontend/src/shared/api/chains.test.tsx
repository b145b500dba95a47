import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderHook } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { chainNameOf, deletedChain, useChainTitle } from './chains.js';

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
});

describe('chainNameOf', () => {
  it.each([
    ['web.nat.0', 'web'],
    ['web.nat.board-1-0', 'web'],
    ['odd', null],
  ])('of %s is %s', (id, name) => expect(chainNameOf(id)).toBe(name));
});

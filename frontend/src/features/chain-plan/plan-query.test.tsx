import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { renderHook, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { expect, it, vi } from 'vitest';
import { call } from '../../shared/api/client.js';
import { type Asked, usePlanPreview } from './plan-query.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
}));

it('the plan on the page stays the same after an interruption of the stream, which reads everything else again', async () => {
  let plans = 0;
  vi.mocked(call).mockImplementation(async () => ({ id: `pl-${++plans}` }) as never);
  const queries = new QueryClient();
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={queries}>{children}</QueryClientProvider>
  );
  const asked = { options: {}, deployment: {} } as Asked;
  const { result, rerender } = renderHook(({ saved_ms }) => usePlanPreview({ chainId: 'ch-1', saved_ms }, asked), {
    wrapper,
    initialProps: { saved_ms: 1 },
  });
  await waitFor(() => expect(result.current.data?.id).toBe('pl-1'));
  await queries.invalidateQueries();
  expect(result.current.data?.id).toBe('pl-1');
  expect(call).toHaveBeenCalledOnce();
  rerender({ saved_ms: 2 });
  await waitFor(() => expect(result.current.data?.id).toBe('pl-2'));
});

import { MantineProvider } from '@mantine/core';
import type { Deployment, Operation, SloStatus } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render } from '@testing-library/react';
import { expect, it } from 'vitest';
import { ChainState } from './chain-state.js';

const DETAIL = 'server-1: its agent refuses the program';

function shown(
  operation: Partial<Operation>,
  state: Deployment['state'] = 'deploying',
  reason?: string,
  slos: readonly Partial<SloStatus>[] = [],
) {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  queries.setQueryData(['deployments', 'listDeployments'], [{ chain_id: 'ch-1', operation_id: 'op-1', state, reason }]);
  queries.setQueryData(['operations', 'list', 200], { items: [{ id: 'op-1', ...operation }] });
  queries.setQueryData(
    ['slos', 'listSlos'],
    slos.map((slo) => ({ chain_id: 'ch-1', ...slo })),
  );
  const { container } = render(
    <MantineProvider>
      <QueryClientProvider client={queries}>
        <p>
          <ChainState chainId="ch-1" state={state} />
        </p>
      </QueryClientProvider>
    </MantineProvider>,
  );
  return container.querySelector('p')!.textContent;
}

it('says why a deployment does not get further, and nothing of one that does', () => {
  const error = { detail: DETAIL, errors: [] };
  expect(shown({ state: 'FAILED_TEMP', error })).toBe(`deployment failed ${DETAIL}`);
  expect(shown({ state: 'FAILED_TEMP', error }, 'undeploying')).toBe(`taking down failed ${DETAIL}`);
  expect(shown({ state: 'PROCESSING', error: null })?.trim()).toBe('deploying');
});

it('keeps the state apart from the cause', () => {
  expect(shown({ state: 'COMPLETED', error: null }, 'degraded', 'server-3: its agent is not connected')).toBe(
    'degraded server-3: its agent is not connected',
  );
});

it('calls a chain degraded that loses packets by its objectives alone, and no other', () => {
  const loss = { kind: 'loss', unit: 'share', measured: 0.03, target: 0.01, state: 'violated' } as const;
  const state = (slo: Partial<SloStatus>, now: Deployment['state'] = 'running', why?: string) =>
    shown({ state: 'COMPLETED' }, now, why, [slo])?.trim();
  expect(state(loss)).toBe('degraded lost packets 3.0 %, at most 1.0 %');
  expect(state({ ...loss, chain_id: 'ch-2' })).toBe('running');
  expect(state({ ...loss, state: 'met' })).toBe('running');
  expect(state({ ...loss, kind: 'latency' })).toBe('running');
  expect(state(loss, 'failed', 'no room')).toBe('failed no room');
});

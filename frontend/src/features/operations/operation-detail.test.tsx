import { MantineProvider } from '@mantine/core';
import type { Operation } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { describe, expect, it } from 'vitest';
import { operationNote } from '../../shared/format/operation.js';
import { OperationDetail } from './operation-detail.js';

const operation = (state: Operation['state']) =>
  ({
    id: 'op-1',
    kind: 'deploy',
    subject: 'ch-1',
    state,
    by: 'amara',
    plan_id: null,
    chains: [],
    set_aside: null,
    started_ms: 1,
    updated_ms: 2,
    first_packet_ms: null,
    error: state === 'PROCESSING' ? null : { detail: 'server-1 is away', errors: [] },
    steps: ['done', 'running'].map((each, ordinal) => ({
      ordinal,
      kind: 'prepare-node',
      subject: 'server-1',
      summary: each,
      state: each,
      started_ms: 1,
      ended_ms: each === 'done' ? 2 : null,
      detail: null,
    })),
  }) as unknown as Operation;

describe('OperationDetail', () => {
  it.each(['PROCESSING', 'FAILED_TEMP'] as const)('shows that a step is being worked on, not done, in %s', (state) => {
    render(
      <MantineProvider env="test">
        <MemoryRouter>
          <QueryClientProvider client={new QueryClient()}>
            <OperationDetail operation={operation(state)} titleOf={(id) => id} />
          </QueryClientProvider>
        </MemoryRouter>
      </MantineProvider>,
    );
    const [done, running] = screen.getAllByRole('listitem').filter((item) => item.dataset.state);
    const look = (item: HTMLElement | undefined) => item?.querySelector('[data-status]')?.getAttribute('data-status');
    expect(look(done)).toBe('healthy');
    expect(look(running)).toBe('working');
    expect(within(running!).getByText('running', { selector: '.sr-only' })).toBeTruthy();
  });

  it('calls an operation that was taken back rolled back, not failed', () => {
    expect(operationNote({ state: 'ROLLED_BACK' })).toBe('rolled back');
    expect(operationNote({ state: 'FAILED_TEMP' })).toBe('failed');
    expect(operationNote(null)).toBe('');
  });
});

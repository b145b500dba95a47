import { MantineProvider } from '@mantine/core';
import type { Operation } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { describe, expect, it } from 'vitest';
import { operationNote } from '../../shared/format/operation.js';
import { DataTable } from '../../shared/table/data-table.js';
import { operationColumns } from './columns.js';
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
    drivers: [],
    set_aside: null,
    started_ms: 1,
    updated_ms: 2,
    cancelled_by: null,
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

function show(each: Operation) {
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <OperationDetail operation={each} titleOf={(id) => id} />
          <OperationTable operation={each} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

function OperationTable({ operation: each }: { readonly operation: Operation }) {
  return (
    <DataTable
      label="Operations"
      columns={operationColumns((id) => id, 2)}
      rows={[each]}
      rowKey={({ id }) => id}
      onSelect={() => undefined}
    />
  );
}

describe('OperationDetail', () => {
  it.each(['PROCESSING', 'FAILED_TEMP'] as const)('shows that a step is being worked on, not done, in %s', (state) => {
    show(operation(state));
    const [done, running] = screen.getAllByRole('listitem').filter((item) => item.dataset.state);
    const look = (item: HTMLElement | undefined) => item?.querySelector('[data-status]')?.getAttribute('data-status');
    expect(look(done)).toBe('healthy');
    expect(look(running)).toBe('working');
    expect(within(running!).getByText('running', { selector: '.sr-only' })).toBeTruthy();
  });

  it('says in the row of an operation what its step waits for', () => {
    const detail = 'waiting for the agent of server-1 (not connected)';
    const { steps, ...rest } = operation('PROCESSING');
    const waiting = steps.map((step) => (step.state === 'running' ? { ...step, detail } : step));
    show({ ...rest, steps: waiting });
    expect(within(screen.getByRole('table', { name: 'Operations' })).getByText(detail)).toBeTruthy();
  });

  it('calls an operation that was taken back rolled back, not failed', () => {
    expect(operationNote({ state: 'ROLLED_BACK', cancelled_by: null })).toBe('rolled back');
    expect(operationNote({ state: 'ROLLED_BACK', cancelled_by: 'amara' })).toBe('cancelled');
    expect(operationNote({ state: 'FAILED_TEMP', cancelled_by: null })).toBe('failed');
    expect(operationNote(null)).toBe('');
  });

  it('says as its state that an operation was cancelled, and by whom, not as its failure', () => {
    const error = { detail: 'Cancelled by bea', errors: [] };
    show({ ...operation('ROLLED_BACK'), cancelled_by: 'bea', error });
    const said = screen.getAllByText('cancelled by bea').map((each) => each.closest('[data-status]'));
    expect(said.map((each) => each?.getAttribute('data-status'))).toEqual(['idle', 'idle']);
    expect(screen.queryByText(error.detail)).toBeNull();
    expect(screen.queryByRole('alert')).toBeNull();
    cleanup();
    show({ ...operation('ROLLED_BACK'), error: { detail: 'server-1 is away', errors: [] } });
    expect(screen.getByRole('alert').textContent).toBe('server-1 is away');
    expect(screen.getAllByText('rolled back').length).toBeGreaterThan(0);
  });
});

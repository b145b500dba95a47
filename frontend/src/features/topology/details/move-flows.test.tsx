import { MantineProvider } from '@mantine/core';
import type { InstanceFigures, NfInstance, Operation, PlannedSplit } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { factsOf } from './instance-figures.js';
import MoveFlowsDialog from './move-flows-dialog.js';

vi.mock('../../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../../shared/api/client.js')>()),
  call: vi.fn(),
}));
const { ApiError, call } = await import('../../../shared/api/client.js');

const instance = (id: string, server: string) => ({ id, server, nf: 'monitor', chain_id: 'ch-1' }) as NfInstance;
const step = { ordinal: 0, kind: 'copy-flows', subject: 'a', summary: 'Copy the flows', state: 'done' };
const operation = {
  id: 'op-1',
  state: 'COMPLETED',
  steps: [step],
  error: null,
  migration: { copied: 7, renewed: 2, steered: 7, waited: 31, released: 7, bytes: 700, steer: true, release: true },
} as unknown as Operation;

const splitAt = (at: PlannedSplit['at']): PlannedSplit => ({
  chain_id: 'ch-1',
  node_id: 'mon',
  at,
  key: ['ip.src', 'ip.dst'],
  targets: ['web.mon.0', 'web.mon.1'].map((instance_id, i) => ({
    instance_id,
    server: 's1',
    range: { lo: i * 32_768, hi: (i + 1) * 32_768 },
  })),
  keep_flows: null,
});

function show(answer: (name: string) => unknown, split: PlannedSplit | null = null) {
  const asked: { name: string; body: unknown }[] = [];
  vi.mocked(call).mockImplementation((async (name: string, { body }: { body?: unknown }) => {
    if (body) asked.push({ name, body });
    return answer(name);
  }) as unknown as typeof call);
  const onClose = vi.fn();
  const onChangeRanges = vi.fn();
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <MoveFlowsDialog
            from={instance('web.mon.0', 's1')}
            targets={[instance('web.mon.1', 's1'), instance('web.mon.2', 's2')]}
            split={split}
            onChangeRanges={onChangeRanges}
            onClose={onClose}
          />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  return { asked, onClose, onChangeRanges, dialog: screen.getByRole('dialog', { name: 'Move flows of web.mon.0' }) };
}

afterEach(() => vi.mocked(call).mockReset());

describe('a move of flows', () => {
  it('is counted first, counted again after an edit, made on consent, and its outcome is told', async () => {
    const { asked, onClose, dialog } = show((name) =>
      name === 'previewMigration' ? { flows: 7, bytes: 700, complete: true } : operation,
    );
    await userEvent.selectOptions(within(dialog).getByLabelText('To the instance'), 'web.mon.2');
    await userEvent.type(within(dialog).getByLabelText('To port or range'), '80-90');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what moves' }));
    expect((await within(dialog).findByRole('status')).textContent).toMatch(/^7 flows with 700 B .* to web\.mon\.2/);
    await userEvent.selectOptions(within(dialog).getByLabelText('Protocol'), 'TCP');
    expect(within(dialog).queryByRole('status')).toBeNull();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what moves' }));
    await userEvent.click(await within(dialog).findByRole('button', { name: 'Move flows' }));
    const body = {
      to: 'web.mon.2',
      steer: true,
      release: true,
      flows: {
        match: [
          { field: 'ip.proto', value: 6, not: false },
          { field: 'port.dst', lo: 80, hi: 90, not: false },
        ],
      },
    };
    expect(asked.map(({ name }) => name)).toEqual(['previewMigration', 'previewMigration', 'migrateNfInstance']);
    expect(asked.at(-1)!.body).toEqual(body);
    const progress = await screen.findByRole('dialog', { name: 'Move flows of web.mon.0 to web.mon.2' });
    await waitFor(() =>
      expect(within(progress).getByRole('status').textContent).toBe('All selected flows have moved.'),
    );
    expect(progress.textContent).toContain('Packets that waited31');
    await userEvent.click(within(progress).getByRole('button', { name: 'Close' }));
    expect(onClose).toHaveBeenCalled();
  });

  it.each<[string, object, string]>([
    ['FAILED', { steered: 0, released: 0 }, 'The move failed.'],
    ['PARTIALLY_COMPLETED', { steered: 0, released: 0 }, 'Some flows may have moved.'],
    ['PARTIALLY_COMPLETED', { steered: 2, released: 0 }, 'Some flows have moved.'],
    [
      'COMPLETED',
      { steer: false, release: false },
      'The state of all selected flows was copied. Their packets go where they went before.',
    ],
  ])('of which a reply was lost says no more than is known: %s, %j', async (state, counts, words) => {
    const migration = { ...operation.migration, ...counts, at_least: true };
    const { dialog } = show((name) =>
      name === 'previewMigration' ? { flows: 7, bytes: 700, complete: true } : { ...operation, state, migration },
    );
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what moves' }));
    await userEvent.click(await within(dialog).findByRole('button', { name: 'Move flows' }));
    const progress = await screen.findByRole('dialog', { name: 'Move flows of web.mon.0 to web.mon.1' });
    await waitFor(() => expect(within(progress).getByRole('status').textContent).toBe(words));
    expect(progress.textContent).toContain('Copied againat least 2');
  });

  it('shows what the server refuses of an address at its field', async () => {
    const detail = 'flows of monitor are not known by ip.dst';
    const { dialog } = show(() => {
      const errors = [{ pointer: '/flows/match/0/field', detail }];
      throw new ApiError({ type: 'about:blank', title: 'Unprocessable', status: 422, detail, errors });
    });
    const field = within(dialog).getByLabelText('To address or prefix');
    await userEvent.type(field, '10.0.2.0/24');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what moves' }));
    await waitFor(() => expect(field.getAttribute('aria-invalid')).toBe('true'));
    expect(within(dialog).getByText(detail)).toBeTruthy();
    expect(dialog.textContent).not.toContain('/flows/match');
  });

  it('that cannot be made says why, and one of no flow is not offered', async () => {
    let refuses = true;
    const { dialog } = show(() => {
      if (!refuses) return { flows: 0, bytes: 0, complete: true };
      throw new ApiError({ type: 'about:blank', title: 'Conflict', status: 409, detail: 'Switches split the flows.' });
    });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what moves' }));
    expect((await within(dialog).findByRole('alert')).textContent).toContain('Switches split the flows.');
    refuses = false;
    await userEvent.click(within(dialog).getByRole('switch', { name: /Send their packets/ }));
    expect(within(dialog).queryByRole('alert')).toBeNull();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what is copied' }));
    await within(dialog).findByText('No flow of this instance is selected.');
    expect((within(dialog).getByRole('button', { name: 'Copy their state' }) as HTMLButtonElement).disabled).toBe(true);
  });
});

describe('a move of flows of a split', () => {
  it('takes a range of the hash of an engine’s split, and leads to the ranges where that is in the way', async () => {
    const errors = [{ pointer: '/steer', detail: 'their packets cannot be sent to the other instance' }];
    const { asked, onChangeRanges, dialog } = show(() => {
      throw new ApiError({ type: 'about:blank', title: 'Conflict', status: 409, detail: 'No table.', errors });
    }, splitAt('engine'));
    await userEvent.type(within(dialog).getByLabelText('Range of the hash'), '0-8192');
    expect(within(dialog).queryByRole('button', { name: 'Change ranges…' })).toBeNull();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what moves' }));
    await within(dialog).findByRole('alert');
    expect(asked[0]!.body).toMatchObject({
      flows: { match: [], hash: { key: ['ip.src', 'ip.dst'], lo: 0, hi: 8192 } },
    });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Change ranges…' }));
    expect(onChangeRanges).toHaveBeenCalled();
  });

  it('does not lead to the ranges where these would not help', async () => {
    const { dialog } = show(() => {
      throw new ApiError({
        type: 'about:blank',
        title: 'Conflict',
        status: 409,
        detail: 'Operation op-1 moves flows.',
      });
    }, splitAt('engine'));
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what moves' }));
    await within(dialog).findByRole('alert');
    expect(within(dialog).queryByRole('button', { name: 'Change ranges…' })).toBeNull();
  });

  it('of a switch leads to the ranges, and offers the copy of state alone', async () => {
    const { asked, onChangeRanges, dialog } = show(() => ({ flows: 7, bytes: 700, complete: true }), splitAt('switch'));
    expect(within(dialog).getByText(/Switches split the flows of mon/)).toBeTruthy();
    expect(within(dialog).getByRole('switch', { name: /Send their packets/ })).toHaveProperty('disabled', true);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show what is copied' }));
    expect((await within(dialog).findByRole('status')).textContent).toMatch(/would be copied to web\.mon\.1/);
    expect(within(dialog).getByRole('button', { name: 'Copy their state' })).toBeTruthy();
    expect(asked[0]!.body).toMatchObject({ steer: false, release: false });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Change ranges…' }));
    expect(onChangeRanges).toHaveBeenCalled();
  });
});

describe('the figures of an instance', () => {
  it('are shown with their unit, or with the reason why there is none', () => {
    const figures: InstanceFigures = {
      window_ms: 2000,
      emulated: false,
      latency_us: null,
      throughput: { pps: 1000, bps: 8000 },
      workload: null,
      resources: [
        { resource: 'cpu', unit: 'cores', used: 0.25, total: 1 },
        { resource: 'memory', unit: 'bytes', used: null, total: 2e6 },
        { resource: 'flows', unit: 'entries', used: 7, total: null },
      ],
      not_measured: { latency_us: 'no packets', 'memory.used': 'the NF does not tell' },
    };
    const facts = new Map(factsOf(figures));
    expect(facts.get('Latency, p50 and p99')).toBe('not measured: no packets');
    expect(facts.get('Workload')).toBe('not measured: no reason given');
    expect(facts.get('Throughput')).toMatch(/kpkt\/s, .*bit\/s/);
    expect(facts.get('Used of CPU')).toBe('0.25 of 1 core');
    const idle: InstanceFigures = {
      ...figures,
      resources: [{ resource: 'cpu', unit: 'cores', used: 0.003, total: 2 }],
    };
    expect(new Map(factsOf(idle)).get('Used of CPU')).toBe('< 0.01 of 2 cores');
    expect(facts.get('Used of memory')).toMatch(/^the NF does not tell of 2/);
    expect(facts.get('Used of flows')).toBe('7, no limit known');
  });
});

import { MantineProvider } from '@mantine/core';
import type { SwitchEntryState, SwitchRuleState, SwitchState } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { live, streamStore } from '../../shared/stream/stream.js';
import { Component } from './page.js';

const state = (id: string, changed: Partial<SwitchState> = {}): SwitchState => ({
  id,
  origin: 'twin',
  connected: true,
  description: {
    driver: 'ovs',
    software: 'Open vSwitch 3.1',
    abilities: {
      match: { 'ip.src': { kind: 'mask', negation: false } },
      groups: { select: ['ip.src'], all: true, fast_failover: false },
      ipv6: true,
      meters: false,
      mirror: false,
      rewrite: ['eth.dst'],
      table_entries: { steer: 100 },
      entries: null,
    },
  },
  planned: {
    generation: 4,
    entries: 2,
    available: 200,
    groups: 0,
    tables: [{ table: 'steer', entries: 2, available: 100 }],
  },
  observed: { generation: 4, state: 'converged', entries: 2, repairs: 1, repaired_rules: [], ports: [], error: null },
  counted_ms: 1,
  ...changed,
});
const ENTRIES: SwitchEntryState[] = [0, 1].map((index) => ({
  index,
  table: 'steer',
  priority: 10,
  rule_id: `web.${index}`,
  match: { fields: { 'port.dst': { value: 80 + index, mask: 0xffff } } },
  actions: [{ do: 'output', port: 's-1' }],
  chain_id: 'chain-1',
  kind: 'classify',
  packets: 7,
  bytes: 700,
}));
const RULES: SwitchRuleState[] = ENTRIES.map(({ rule_id, chain_id, kind, packets, bytes }, i) => ({
  rule_id: rule_id!,
  chain_id,
  kind,
  entries: 1,
  packets,
  bytes,
  latency: { packets: i === 0 ? 100 : 99, p50_us: 40 + i, p99_us: 320 + i },
}));
let rules = RULES;
let switches: SwitchState[] = [];
const asked = vi.fn();
const listed = (name: string, query: { rule_id?: string }): readonly unknown[] => {
  if (name === 'listSwitches') return switches;
  if (name === 'listSwitchRules') return rules;
  if (name === 'listSwitchEntries') return ENTRIES.filter(({ rule_id }) => !query.rule_id || rule_id === query.rule_id);
  return [];
};

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  callFull: vi.fn(async (name: string, input: { params?: { id: string }; query: { rule_id?: string } }) => {
    asked(name, input.params?.id);
    return { data: { items: listed(name, input.query), total: 0 }, next: null };
  }),
}));
vi.mock('../../shared/page/page-header.js', async (original) => ({
  ...(await original<typeof import('../../shared/page/page-header.js')>()),
  PageHeader: ({ description }: { description: string }) => <p>{description}</p>,
}));
afterEach(() => asked.mockClear());
const wanted = vi.hoisted(() => vi.fn());
vi.mock('../../shared/stream/hooks.js', async (original) => ({
  ...(await original<typeof import('../../shared/stream/hooks.js')>()),
  useWantSamples: wanted,
}));

async function show(all: SwitchState[], at = '/switches') {
  switches = all;
  const router = createMemoryRouter([{ path: '/switches', Component }], { initialEntries: [at] });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return userEvent.setup();
}

describe('Switches', () => {
  it('leads from a switch to its rules and from a rule to its entries', async () => {
    const user = await show([state('leaf-1'), state('leaf-2')], '/switches?switch=leaf-2');
    await screen.findByRole('table', { name: 'Rules of leaf-2' });
    expect(asked).toHaveBeenCalledWith('listSwitchRules', 'leaf-2');
    expect(wanted).toHaveBeenCalledWith(['rule/']);
    const key = sampleKey('rule', 'leaf-2 web.1', 'pps');
    await act(async () => live.addSamples([{ key, value: 250, t_ms: Date.now(), origin: 'twin' }]));
    expect(await screen.findByText('250')).toBeTruthy();
    await user.click(screen.getByRole('button', { name: 'web.1' }));
    const entries = within(await screen.findByRole('table', { name: 'Entries of leaf-2' }));
    expect(entries.getByText('port.dst 81')).toBeTruthy();
    expect(entries.queryByText('port.dst 80')).toBeNull();
    await user.click(screen.getByRole('button', { name: 'Show the entries of all rules' }));
    expect(await screen.findByText('port.dst 80')).toBeTruthy();
    await user.click(screen.getByRole('tab', { name: 'Abilities and ports' }));
    expect(screen.getByText('any mask')).toBeTruthy();
  });

  it('says which switch does not hold what was planned, and why', async () => {
    const failed = { ...state('leaf-2').observed!, state: 'failed' as const, entries: 1, error: 'table full' };
    await show([state('leaf-1'), state('leaf-2', { observed: failed }), state('leaf-3', { connected: false })]);
    const table = within(await screen.findByRole('table', { name: 'Switches' }));
    expect(table.getByText('2 of 2', { selector: 'tr:nth-child(1) *' })).toBeTruthy();
    expect(table.getByText('1 of 2').closest<HTMLElement>('[data-differs]')?.dataset.differs).toBe('true');
    expect(table.getByText('2 of 2', { selector: 'tr:nth-child(1) *' }).closest('[data-differs]')).toBeNull();
    expect(table.getByText('table full')).toBeTruthy();
    expect(table.getByText('disconnected')).toBeTruthy();
    expect(screen.getByText('2 of 3 switches need attention.')).toBeTruthy();
  });

  it('shows no rate and no counter as present while the browser is cut off', async () => {
    await show([state('leaf-1')]);
    const table = await screen.findByRole('table', { name: 'Rules of leaf-1' });
    const at = (metric: 'pps' | 'bps') => ({ key: sampleKey('rule', 'leaf-1 web.0', metric), t_ms: Date.now() });
    const origin = 'twin';
    await act(async () =>
      live.addSamples([
        { ...at('pps'), value: 250, origin },
        { ...at('bps'), value: 9000, origin },
      ]),
    );
    const [, row, other] = within(table).getAllByRole('row');
    // Of 99 packets that were stamped a p99 says nothing.
    const cells = [...other!.querySelectorAll('td')].map(({ textContent }) => textContent ?? '');
    expect(cells.filter((text) => text.startsWith('41'))).toHaveLength(1);
    expect(cells.filter((text) => text.startsWith('321'))).toEqual([]);
    expect(within(other!).getByTitle('99 stamped packets came back in the last 10 s: 100 are needed')).toBeTruthy();
    const stale = () => [...row!.querySelectorAll('[data-stale]')].map(({ textContent }) => textContent);
    const before = streamStore.getState();
    expect(stale()).toEqual([]);
    try {
      act(() => streamStore.setState({ ...before, state: 'reconnecting' }));
      expect(stale()).toEqual(
        [/^250pkt/, /^9/, /^40/, /^320/, /^7/, /^700/].map((text) => expect.stringMatching(text)),
      );
      const installed = within(screen.getByRole('table', { name: 'Switches' })).getByText('2 of 2');
      expect(installed.className).toBe('muted');
    } finally {
      act(() => streamStore.setState(before));
    }
  });

  it.each([
    ['ovs', 'classify', 'Not measured by Open vSwitch'],
    ['p4', 'classify', 'No stamped packet came back in the last 10 s'],
    ['p4', 'return', 'Measured of classes only: rules for classification'],
  ] as const)('says why %s shows no latency of a rule of the kind %s', async (driver, kind, why) => {
    rules = [{ ...RULES[0]!, kind, latency: undefined }];
    try {
      const description = { ...state('leaf-1').description!, driver };
      await show([state('leaf-1', { description })]);
      const table = await screen.findByRole('table', { name: 'Rules of leaf-1' });
      expect(within(table).getAllByTitle(why)).toHaveLength(2);
    } finally {
      rules = RULES;
    }
  });

  it('says that there are none', async () => {
    await show([]);
    expect(await screen.findByText('No switches')).toBeTruthy();
  });
});

import { MantineProvider } from '@mantine/core';
import type { Accelerator, LendingGroup, LendingTurn } from '@orrery/contract';
import { sampleKey } from '@orrery/contract/sample-keys';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { readServerClock } from '../../shared/api/server-clock.js';
import type { PlotProps } from '../../shared/charts/plot-options.js';
import { streamStore } from '../../shared/stream/stream.js';
import LendingForm from './lending-form.js';
import { LendingLanes } from './lending-lanes.js';
import { figuresText } from './lending-turns.js';
import { LentAccelerators } from './lent-accelerators.js';
import { boardWith, lendingGroupWith, lendingMember, lendingTurn } from './testing.js';

let groups: LendingGroup[] | Error;
let turns: LendingTurn[];
let boards: Accelerator[];
let out: object[];
let samples: { key: string; points: [number, number][] }[];

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async (name: string) => {
    if (name === 'listEvents') return { items: [], total: 0, begins_ms: null };
    if (name === 'listSamples') return { items: samples };
    return { servers: [{ id: 'server-1' }], boards: [{ id: 'board-1', title: 'Board 1', origin: 'twin', slots: 2 }] };
  }),
  callFull: vi.fn(async (name: string) => {
    if (name === 'listLendingGroups' && groups instanceof Error) throw groups;
    const chains = [{ id: 'ch-1', draft: { title: 'Branch offices' } }];
    const lists: Record<string, unknown> = {
      ...{ listLendingGroups: groups, listLendingTurns: turns, listChains: chains },
      ...{ listAccelerators: boards, listOutOfService: out },
    };
    const items = lists[name] ?? [];
    return { data: { items, total: 0 }, next: null };
  }),
}));
vi.mock('../../shared/api/session.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/session.js')>()),
  useMay: () => true,
}));
/** What plots were given last, by their titles. */
const plots = vi.hoisted(() => new Map<string, Pick<PlotProps, 'series' | 'data' | 'levels'>>());
vi.mock('../../shared/charts/plot.js', () => ({
  default: (props: PlotProps) => {
    plots.set(props.title, props);
    return null;
  },
}));
const { call, callFull, ApiError } = await import('../../shared/api/client.js');

beforeEach(() => {
  groups = [];
  turns = [];
  boards = [];
  out = [];
  samples = [];
  plots.clear();
});
afterEach(() => vi.mocked(call).mockClear());

/** Requests that change something. */
const sent = () => vi.mocked(call).mock.calls.filter(([name]) => !/^(get|list)/.test(name));

function show(shown: React.ReactNode) {
  const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const view = render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>{shown}</QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  return { user: userEvent.setup(), ...view };
}

describe('lent accelerators', () => {
  it('say what would be there while there is no group, and what failed', async () => {
    const { unmount } = show(<LentAccelerators />);
    expect(await screen.findByText('No accelerator is lent')).toBeTruthy();
    unmount();
    groups = new ApiError({ type: 'about:blank', title: 'Temporarily unavailable', status: 503 });
    show(<LentAccelerators />);
    expect(await screen.findByText('Temporarily unavailable')).toBeTruthy();
  });

  it('tell who holds what, the figures of the group and of each VNF, and that they are emulated', async () => {
    groups = [
      lendingGroupWith({
        members: [lendingMember('vpn.tunnel.0', { accelerated: true, held_s: 22 }), lendingMember('vpn.tunnel.1')],
        fairness: 0.998,
        switch_ms: 12,
        switches: 7,
        overhead: 0.00109,
      }),
    ];
    turns = [lendingTurn({ id: 'lt-1', from_ms: Date.now() - 4000, to_ms: null })];
    show(<LentAccelerators />);
    const table = within(await screen.findByRole('table', { name: 'Lending groups' }));
    expect(table.getByText('server-1/instructions: held by vpn.tunnel.0')).toBeTruthy();
    expect(
      screen.getByText(
        'Jain’s index 0.998; a hand-over takes 12.0 ms (median of 7), 0.11 % of the time with slices of 11 s.',
      ),
    ).toBeTruthy();
    const members = within(screen.getByRole('table', { name: 'VNFs of the group' }));
    expect(members.getAllByRole('row')).toHaveLength(3);
    expect(members.getByText('accelerated')).toBeTruthy();
    expect(screen.getAllByText('emulated').length).toBeGreaterThan(0);
    expect(await screen.findByRole('figure', { name: 'Who held each accelerator' })).toBeTruthy();
  });

  it('draw CPU as a share of the limit of each VNF, with the thresholds that it is compared with', async () => {
    const now = Date.now();
    const points: [number, number][] = [
      [now - 200, 0.025],
      [now - 100, 0.05],
    ];
    samples = [{ key: sampleKey('instance', 'vpn.tunnel.0', 'cpu'), points }];
    groups = [lendingGroupWith({ members: [lendingMember('vpn.tunnel.0', { cpu_share: 0.025, cpu_limit: 0.05 })] })];
    show(<LentAccelerators />);
    await waitFor(() => expect(plots.get('CPU of VNFs')?.data[1]).toEqual([0.5, 1]));
    expect(plots.get('CPU of VNFs')?.levels).toEqual([
      { value: 0.75, sign: '↑', name: 'qualifies', series: null },
      { value: 0.65, sign: '↓', name: 'gives up', series: null },
    ]);
    expect(plots.get('Bit rate of VNFs')?.levels).toEqual([]);
    expect(screen.getByText('↑ 75.0 %, ↓ 65.0 %')).toBeTruthy();
    const members = within(screen.getByRole('table', { name: 'VNFs of the group' }));
    expect(members.getByText('50.0 %')).toBeTruthy();
    expect(members.getByText('5.0 % of a core')).toBeTruthy();
  });

  it('draw six VNFs at a time, and the others when they are chosen', async () => {
    const members = Array.from({ length: 8 }, (_, n) => lendingMember(`vpn.tunnel.${n}`));
    groups = [lendingGroupWith({ members })];
    const { user } = show(<LentAccelerators />);
    const labels = () => plots.get('CPU of VNFs')?.series.map(({ label }) => label);
    await waitFor(() => expect(labels()).toHaveLength(6));
    await user.click(screen.getByRole('combobox', { name: 'VNFs drawn' }));
    await user.click(await screen.findByRole('option', { name: '7 to 8 of 8' }));
    await waitFor(() => expect(labels()).toEqual(['vpn.tunnel.6', 'vpn.tunnel.7']));
  });

  it('tell of slots which board and slot it is, that it is emulated, and why a VNF waits', async () => {
    const slot = { accelerator: 'board-1/slot-0', origin: 'twin' as const, held_s: null, holder: null };
    groups = [
      lendingGroupWith({
        accelerators: [{ kind: 'slot', board: 'board-1', slot: 0 }],
        accelerators_now: [
          { ...slot, state: 'held', holder: 'vpn.tunnel.0', held_s: 4 },
          { ...slot, accelerator: 'board-2/slot-1', origin: 'live', state: 'lacking' },
        ],
        members: [
          lendingMember('vpn.tunnel.0', { accelerated: true, slot: { board: 'board-1', slot: 0 } }),
          lendingMember('web.tunnel.0', { waits_for: 'The scaling sc-1 is under way.' }),
        ],
      }),
    ];
    show(<LentAccelerators />);
    const table = within(await screen.findByRole('table', { name: 'Lending groups' }));
    expect(table.getByText('board-1/slot-0: held by vpn.tunnel.0')).toBeTruthy();
    expect(table.getByText('board-2/slot-1: no VNF of the group can run in it')).toBeTruthy();
    expect(table.getAllByText('emulated')).toHaveLength(1);
    const members = within(screen.getByRole('table', { name: 'VNFs of the group' }));
    expect(members.getByText('in board-1 slot 0')).toBeTruthy();
    expect(members.getByText('Cannot be moved now: The scaling sc-1 is under way.')).toBeTruthy();
    const lanes = within(await screen.findByRole('figure', { name: 'Who held each accelerator' }));
    expect(lanes.getByText('board-1 slot 0').title).toBe('board-1/slot-0, emulated');
    expect(lanes.getByText('board-2 slot 1').title).toBe('board-2/slot-1');
  });

  it('say what is in the way of lending: a board that starts, or a server in maintenance', async () => {
    const idle = { origin: 'twin' as const, held_s: null, holder: null };
    boards = [boardWith({ id: 'board-1', server: 'server-2', state: 'starting' })];
    out = [{ id: 'server-1', kind: 'server', maintenance: { reason: 'new fan' }, lost: null }];
    const instructions = { ...idle, accelerator: 'server-1/instructions', state: 'free' as const };
    const slot = { ...idle, accelerator: 'board-1/slot-0', state: 'broken' as const };
    groups = [
      lendingGroupWith({ accelerators_now: [instructions, slot] }),
      lendingGroupWith({ id: 'lg-2', title: 'Offices', accelerators_now: [instructions] }),
      lendingGroupWith({
        ...{ id: 'lg-3', title: 'Sites' },
        accelerators_now: [slot, { ...instructions, accelerator: 'server-3/instructions' }],
      }),
    ];
    show(<LentAccelerators />);
    const table = within(await screen.findByRole('table', { name: 'Lending groups' }));
    const textOf = (group: string) => table.getByRole('row', { name: new RegExp(group) }).textContent;
    await waitFor(() => expect(textOf('Tunnels')).toContain('waits for a board'));
    expect(textOf('Tunnels')).toContain('board-1/slot-0: waits for its board, which is starting');
    await waitFor(() => expect(textOf('Offices')).toContain('nothing to lend'));
    expect(textOf('Offices')).toContain('server-1/instructions: server-1 is in maintenance');
    expect(textOf('Sites')).toMatch(/lending.*server-3\/instructions: free/);
  });

  it('say that a VNF in a slot uses no CPU, where none was measured', async () => {
    groups = [
      lendingGroupWith({
        accelerators: [{ kind: 'slot', board: 'board-1', slot: 0 }],
        members: [lendingMember('web.nat.0', { cpu_share: null, slot: { board: 'board-1', slot: 0 } })],
      }),
    ];
    show(<LentAccelerators />);
    expect(await screen.findByText('No CPU of a server is used in the slots of boards')).toBeTruthy();
  });

  it('are disabled by a switch, at the revision that is shown', async () => {
    groups = [lendingGroupWith()];
    const { user } = show(<LentAccelerators />);
    await user.click(await screen.findByRole('switch', { name: 'Tunnels enabled' }));
    const [[name, input, options]] = sent() as [[string, object, object]];
    expect([name, options]).toEqual(['putLendingGroup', { ifMatch: '"3"' }]);
    expect(input).toEqual({
      params: { id: 'lg-1' },
      body: {
        title: 'Tunnels',
        enabled: false,
        chains: ['ch-1'],
        nfs: [],
        accelerators: [{ kind: 'instructions', server: 'server-1' }],
        strategy: 'ssm',
        usage: 'cpu',
        max_bps: null,
        th_up: 0.75,
        th_low: 0.65,
        slice_s: 11,
      },
    });
  });

  it('have no fairness and no switching time before there was any', () => {
    expect(figuresText(lendingGroupWith())).toBe(
      'Fairness is known once two VNFs wanted an accelerator; nothing was handed over yet.',
    );
  });
});

it('tell of the present as stale while the browser is cut off, and of turns that are not kept', async () => {
  groups = [lendingGroupWith({ members: [lendingMember('vpn.tunnel.0')], fairness: 0.998, turns_dropped: 12 })];
  const before = streamStore.getState();
  streamStore.setState({ ...before, state: 'reconnecting', since_ms: Date.now() - 60_000 });
  show(<LentAccelerators />);
  const table = within(await screen.findByRole('table', { name: 'Lending groups' }));
  expect(table.getByText('server-1/instructions: held by vpn.tunnel.0, stale')).toBeTruthy();
  expect(table.getByText('0.998').className).toContain('muted');
  const members = within(screen.getByRole('table', { name: 'VNFs of the group' }));
  expect(members.getByText('in software, stale')).toBeTruthy();
  expect(screen.getByText('12 earlier turns are no longer kept.')).toBeTruthy();
  streamStore.setState(before);
});

it('are asked for and drawn by the clock of the server, whatever that of the browser says', async () => {
  const tell = (t_ms: number) => readServerClock({ headers: new Headers({ date: new Date(t_ms).toUTCString() }) });
  const now = Date.now() - 660_000;
  tell(now);
  groups = [lendingGroupWith({ members: [lendingMember('vpn.tunnel.0')] })];
  turns = [lendingTurn({ id: 'lt-1', from_ms: now - 60_000, to_ms: now - 30_000 })];
  show(<LentAccelerators />);
  const lanes = within(await screen.findByRole('figure', { name: 'Who held each accelerator' }));
  expect(await lanes.findByText('vpn.tunnel.0')).toBeTruthy();
  const [, asked] = vi.mocked(callFull).mock.calls.findLast(([name]) => name === 'listLendingTurns')!;
  const { since } = (asked as { query: { since: number } }).query;
  expect(Math.abs(since - (now - 600_000))).toBeLessThan(120_000);
  tell(Date.now());
});

describe('the lanes of holders', () => {
  const lanes = (lost_ms: number | null) => (
    <LendingLanes
      accelerators={[{ accelerator: 'server-1/instructions', origin: 'twin' }]}
      turns={[
        lendingTurn({ id: 'lt-2', from_ms: 30_000, to_ms: null, instance_id: 'vpn.tunnel.1' }),
        lendingTurn({ id: 'lt-1', from_ms: 10_000, to_ms: 30_000 }),
      ]}
      charted={['vpn.tunnel.0', 'vpn.tunnel.1']}
      range={{ from_s: 20, to_s: 40 }}
      lost_ms={lost_ms}
    />
  );

  it('have a bar for each turn in the colour of its VNF, and the same as a table', async () => {
    const { container, user } = show(lanes(null));
    const bars = [...container.querySelectorAll<HTMLElement>('[data-state="active"]')];
    expect(bars.map(({ style, textContent }) => [textContent, style.left, style.width])).toEqual([
      ['vpn.tunnel.0', '0%', '50%'],
      ['vpn.tunnel.1', '50%', '50%'],
    ]);
    expect(bars.map(({ style }) => style.getPropertyValue('--lane-color'))).toEqual([
      'var(--o-series-1)',
      'var(--o-series-2)',
    ]);
    await user.click(screen.getByRole('button', { name: 'Holders: table' }));
    const rows = within(screen.getByRole('table', { name: 'Turns' }))
      .getAllByRole('row')
      .slice(1);
    expect(rows.map(({ textContent }) => textContent)).toEqual([
      expect.stringMatching(/^vpn.tunnel.1.*until now, 10.0 soverloadedholds it/),
      expect.stringMatching(/^vpn.tunnel.0.*20.0 soverloadedslice over/),
    ]);
  });

  it('end where the connection was lost, and say so', () => {
    const { container } = show(lanes(35_000));
    expect([...container.querySelectorAll<HTMLElement>('[data-state="active"]')].at(-1)?.style.width).toBe('25%');
    expect(screen.getByRole('status').textContent).toMatch(/the connection is lost/);
  });
});

describe('the form of a lending group', () => {
  it('sends nothing while a field is wrong, then what was filled in', async () => {
    const onClose = vi.fn();
    const { user } = show(<LendingForm group={null} onClose={onClose} />);
    await user.click(screen.getByRole('button', { name: 'Add' }));
    expect(screen.getByText('must name a chain, unless an NF is named')).toBeTruthy();
    expect(screen.getAllByText('must be given')).toHaveLength(2);
    expect(sent()).toEqual([]);
    await user.type(screen.getByRole('textbox', { name: 'Name' }), 'Offices');
    await user.click(screen.getByRole('combobox', { name: 'Chains' }));
    await user.click(await screen.findByRole('option', { name: 'Branch offices' }));
    await user.click(screen.getByRole('combobox', { name: 'Accelerators' }));
    await user.click(await screen.findByRole('option', { name: 'Crypto instructions of server-1' }));
    await user.click(await screen.findByRole('option', { name: 'Slot 1 of Board 1 (emulated)' }));
    const low = screen.getByRole('textbox', { name: 'Gives up below' });
    await user.clear(low);
    await user.type(low, '0.8');
    await user.click(screen.getByRole('button', { name: 'Add' }));
    expect(screen.getByText('must be below the upper threshold')).toBeTruthy();
    await user.clear(low);
    await user.type(low, '0.5');
    await user.click(screen.getByRole('button', { name: 'Add' }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    const [[name, input]] = sent() as [[string, object]];
    expect(name).toBe('createLendingGroup');
    expect(input).toMatchObject({
      body: {
        title: 'Offices',
        chains: ['ch-1'],
        accelerators: [
          { kind: 'instructions', server: 'server-1' },
          { kind: 'slot', board: 'board-1', slot: 1 },
        ],
        strategy: 'ssm',
        th_low: 0.5,
        max_bps: null,
      },
    });
  });
});

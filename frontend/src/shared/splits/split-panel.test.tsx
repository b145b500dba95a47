import { MantineProvider } from '@mantine/core';
import type { HandoverProgress, Plan, PlannedSplit, Role, Session, StagedSplit } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../api/session.js';
import { live } from '../stream/stream.js';
import { SplitPanel } from './split-panel.js';

const served = vi.hoisted(() => ({ etag: '"a"', split: {} as unknown, scalings: [] as unknown[] }));

vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(async (name: string) =>
    name === 'getSplit'
      ? { data: served.split, etag: served.etag, next: null }
      : name === 'listDeployments'
        ? {
            data: { items: [{ chain_id: 'ch-1', version: 2, plan_id: 'pn-1', state: 'running' }], total: 1 },
            next: null,
          }
        : name === 'listScalings'
          ? { data: { items: served.scalings, total: served.scalings.length }, next: null }
          : { data: { items: [], total: 0 }, next: null },
  ),
}));
const { ApiError, call } = await import('../api/client.js');

const keep_flows = { capacity: 100, idle_timeout_s: 9 };
const split: PlannedSplit = {
  chain_id: 'ch-1',
  node_id: 'ids',
  at: 'engine',
  key: ['ip.src'],
  targets: [
    { instance_id: 'web.ids.0', server: 'server-1', range: { lo: 0, hi: 32_768 } },
    { instance_id: 'web.ids.1', server: 'server-2', range: { lo: 32_768, hi: 65_536 } },
  ],
  keep_flows,
};
const plan = {
  strategy: 'e2',
  chaining: 'hyper',
  parallelization: 'orrery',
  scheduling: 'alpine',
  scheduling_mode: 'constrained',
  seed: 1,
  id: 'pn-2',
  base_plan: null,
  feasible: true,
  problems: [],
  conflicts: [],
  chains: [{ chain_id: 'ch-1', version: 2, definition: { name: 'web' } }],
  slos: [],
  reasons: [],
  graph: { nodes: [], edges: [] },
  steps: [{ ordinal: 0, kind: 'switch-node', subject: 'server-1', summary: '1 instance rewired', interrupts: [] }],
  diff: { added: [], removed: [], moved: [], reconfigured: [], kept: [] },
  migrations: [],
  splits: [split],
  request: { chains: [{ chain_id: 'ch-1' }], remove: [], implementations: [] },
} as unknown as Plan;

function show(role: Role, staged?: StagedSplit, handover?: HandoverProgress) {
  const bodies: { name: string; body: unknown; ifMatch?: string }[] = [];
  Object.assign(served, { etag: '"a"', split: staged ? { ...split, staged, handover } : split });
  const chains = plan.chains.map((chain) => ({ ...chain, ...(staged && { splits: [{ node_id: 'ids', staged }] }) }));
  vi.mocked(call).mockImplementation((async (
    name: string,
    input: { body: unknown },
    options?: { ifMatch?: string },
  ) => {
    if (name.startsWith('list')) return { items: [], total: 0 };
    if (name === 'getSplit') return served.split;
    const { ifMatch } = options ?? {};
    bodies.push({ name, body: input.body, ...(ifMatch && { ifMatch }) });
    if (name === 'putSplit' && ifMatch !== served.etag)
      throw new ApiError({ type: 'about:blank', title: 'Changed since it was read', status: 412 });
    return name === 'createPlan' ? plan : { id: 'op-9' };
  }) as unknown as typeof call);
  sessionStore.setState({ session: { role, token: 't', name: 'ann', expires_ms: 9e15 } as Session });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <SplitPanel split={split} plan={{ ...plan, chains }} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  return bodies;
}

afterEach(() => {
  vi.mocked(call).mockReset();
  served.scalings = [];
});

describe('the ranges of a running NF', () => {
  it('are moved by keys, shown as a plan, and deployed by that very plan', async () => {
    const bodies = show('operator');
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    const border = within(dialog).getByRole('slider', { name: 'Border between web.ids.0 and web.ids.1' });
    fireEvent.keyDown(border, { key: 'ArrowRight', shiftKey: true });
    expect(border.getAttribute('aria-valuenow')).toBe('36864');
    expect(dialog.textContent).toMatch(
      /web\.ids\.0 56\.3\s%\sof the hash range, web\.ids\.1 43\.8\s%\sof the hash range/,
    );
    expect(bodies).toEqual([]);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show the plan' }));
    const ranges = [
      { lo: 0, hi: 36_864 },
      { lo: 36_864, hi: 65_536 },
    ];
    await waitFor(() => expect(bodies).toHaveLength(1));
    expect(bodies[0]).toMatchObject({
      name: 'createPlan',
      body: { chains: [{ chain_id: 'ch-1', version: 2, splits: [{ node_id: 'ids', ranges, keep_flows }] }] },
    });
    const deploy = await within(dialog).findByRole('button', { name: 'Deploy' });
    await waitFor(() => expect((deploy as HTMLButtonElement).disabled).toBe(false));
    await userEvent.click(deploy);
    await waitFor(() =>
      expect(bodies[1]).toEqual({
        name: 'putSplit',
        body: { ranges, keep_flows, plan_id: 'pn-2' },
        ifMatch: '"a"',
      }),
    );
  });

  it('are changed in the step in which the split is, which is told', async () => {
    const staged = { held: [{ lo: 0, hi: 65_536 }], exceptions: [], idle_timeout_s: 9 };
    const bodies = show('operator', staged);
    await screen.findByText(/switches still have one range; engines behind them track the flows/);
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    await within(dialog).findByText(/Its steps go on with the new ranges/);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show the plan' }));
    await waitFor(() => expect(bodies).toHaveLength(1));
    expect(bodies[0]).toMatchObject({ body: { chains: [{ splits: [{ node_id: 'ids', keep_flows, staged }] }] } });
    await userEvent.click(within(dialog).getByRole('switch', { name: /Flows in progress stay/ }));
    await within(dialog).findByText(/its steps end here: those in progress lose their state/);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show the plan' }));
    await waitFor(() => expect(bodies).toHaveLength(2));
    expect(JSON.stringify(bodies[1])).not.toContain('staged');
  });

  it('begin with tracking where the switches have taken over, by the ranges as they are, which is told', async () => {
    const bodies = show('operator', { exceptions: [], idle_timeout_s: 9 });
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    await within(dialog).findByText(/begin with tracking: .* change the ranges again 9 s later/);
    fireEvent.keyDown(within(dialog).getByRole('slider'), { key: 'ArrowRight', shiftKey: true });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show the plan' }));
    await waitFor(() => expect(bodies).toHaveLength(1));
    const ranges = split.targets.map(({ range }) => range);
    const staged = { held: ranges, exceptions: [], idle_timeout_s: 9 };
    expect(bodies[0]).toMatchObject({ body: { chains: [{ splits: [{ node_id: 'ids', ranges, staged }] }] } });
  });

  it('tell why they are not handed over to the switches, which can be tried again once it was given up', async () => {
    const staged = { held: [{ lo: 0, hi: 65_536 }], exceptions: [], idle_timeout_s: 9 };
    const bodies = show('operator', staged, { looks: 1800, why: 'more than 64 flows stay elsewhere', given_up: true });
    await screen.findByText(/hand-over to the switches was given up: more than 64 flows stay elsewhere\./);
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    await waitFor(() => expect(bodies.map(({ name }) => name)).toEqual(['retryHandover']));
  });

  it.each([
    ['some flows are none that a switch tells apart', 'waits: some flows are none that a switch tells apart.'],
    ['refused: the switches cannot take it over.', 'was refused: the switches cannot take it over.'],
  ])('say of %j that the hand-over %s', async (why, words) => {
    const staged = { held: [{ lo: 0, hi: 65_536 }], exceptions: [], idle_timeout_s: 9 };
    show('viewer', staged, { looks: 2, why, given_up: false });
    await screen.findByText(`The hand-over to the switches ${words}`);
  });

  it('tell how many flows the switches got with the ranges that they took over', async () => {
    const flow = { 'ip.src': '10.0.1.1' };
    show('viewer', { exceptions: [{ flow, ordinal: 0 }], idle_timeout_s: 9 });
    await screen.findByText(/switches have taken over the ranges, and 1 flow that stayed elsewhere then/);
  });

  it('are not planned while a border is typed that cannot be one, which stays until it is mended', async () => {
    const bodies = show('operator');
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    const typed = within(dialog).getByRole('textbox', { name: 'Border between web.ids.0 and web.ids.1' });
    const ask = within(dialog).getByRole('button', { name: 'Show the plan' }) as HTMLButtonElement;
    await userEvent.clear(typed);
    await userEvent.type(typed, '70000');
    await userEvent.tab();
    expect(within(dialog).getByText('must be from 1 to 65535')).toBeDefined();
    expect([(typed as HTMLInputElement).value, ask.disabled]).toEqual(['70000', true]);
    fireEvent.keyDown(within(dialog).getByRole('slider'), { key: 'ArrowRight' });
    expect(within(dialog).queryByText('must be from 1 to 65535')).toBeNull();
    expect([(typed as HTMLInputElement).value, ask.disabled]).toEqual(['7256', false]);
    fireEvent.keyDown(within(dialog).getByRole('slider'), { key: 'ArrowLeft' });
    expect([(typed as HTMLInputElement).value, ask.disabled]).toEqual(['7000', false]);
    expect(bodies).toEqual([]);
  });

  it('are even again where they were, too, and a border that could not be one is given up', async () => {
    show('operator');
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    const typed = () => within(dialog).getByRole('textbox', { name: /Border/ }) as HTMLInputElement;
    const ask = within(dialog).getByRole('button', { name: 'Show the plan' }) as HTMLButtonElement;
    await userEvent.clear(typed());
    expect(ask.disabled).toBe(true);
    await userEvent.click(within(dialog).getByRole('button', { name: 'Split evenly' }));
    expect([typed().value, ask.disabled]).toEqual(['32768', false]);
  });

  it.each(['-1', '0', '99999999999', '1.5', ''])('are not planned while the limit %j is typed', async (text) => {
    show('operator');
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    const keeps = within(dialog).getByRole('switch') as HTMLInputElement;
    if (!keeps.checked) await userEvent.click(keeps);
    const field = within(dialog).getByLabelText('Flows tracked at most') as HTMLInputElement;
    const ask = within(dialog).getByRole('button', { name: 'Show the plan' }) as HTMLButtonElement;
    await userEvent.clear(field);
    if (text) await userEvent.type(field, text);
    await userEvent.tab();
    expect([field.value, ask.disabled]).toEqual([text, true]);
    expect(within(dialog).getByText('A whole number from 1 to 1048576 flows')).toBeDefined();
    await userEvent.clear(field);
    await userEvent.type(field, '500');
    expect(ask.disabled).toBe(false);
  });

  it('are not overwritten where somebody changed them meanwhile, which is said', async () => {
    const bodies = show('operator');
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    const border = within(dialog).getByRole('slider');
    fireEvent.keyDown(border, { key: 'ArrowRight', shiftKey: true });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show the plan' }));
    const deploy = await within(dialog).findByRole('button', { name: 'Deploy' });
    await waitFor(() => expect((deploy as HTMLButtonElement).disabled).toBe(false));
    const [low, high] = split.targets;
    const theirs = [
      { ...low!, range: { lo: 0, hi: 4096 } },
      { ...high!, range: { lo: 4096, hi: 65_536 } },
    ];
    Object.assign(served, { etag: '"b"', split: { ...split, targets: theirs } });
    await userEvent.click(deploy);
    expect((await within(dialog).findByRole('alert')).textContent).toMatch(/Somebody has changed .* of ids/);
    expect(screen.getByRole('dialog', { name: 'Ranges of ids' })).toBeTruthy();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Start from the ranges as they are now' }));
    await waitFor(() => expect(border.getAttribute('aria-valuenow')).toBe('4096'));
    expect(within(dialog).queryByRole('alert')).toBeNull();
    await userEvent.click(within(dialog).getByRole('button', { name: 'Split evenly' }));
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show the plan' }));
    const again = await within(dialog).findByRole('button', { name: 'Deploy' });
    await waitFor(() => expect((again as HTMLButtonElement).disabled).toBe(false));
    await userEvent.click(again);
    await waitFor(() => expect(bodies.at(-1)).toMatchObject({ name: 'putSplit', ifMatch: '"b"' }));
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  });

  it('are planned again after an edit, and split evenly by a button', async () => {
    const bodies = show('operator');
    await userEvent.click(await screen.findByRole('button', { name: 'Change ranges' }));
    const dialog = await screen.findByRole('dialog', { name: 'Ranges of ids' });
    const border = within(dialog).getByRole('slider');
    fireEvent.keyDown(border, { key: 'Home' });
    expect(border.getAttribute('aria-valuenow')).toBe('1');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Show the plan' }));
    await within(dialog).findByRole('button', { name: 'Deploy' });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Split evenly' }));
    expect(border.getAttribute('aria-valuenow')).toBe('32768');
    expect(within(dialog).queryByRole('button', { name: 'Deploy' })).toBeNull();
    expect(bodies.map(({ name }) => name)).toEqual(['createPlan']);
  });

  it('show shares and rates of the same packets and seconds: those that the split sends', async () => {
    show('viewer');
    const sample = (id: string, metric: string, value: number) =>
      ({ key: `instance/web.ids.${id}/${metric}`, t_ms: 1000, value, origin: 'twin' }) as const;
    act(() =>
      live.addSamples([sample('0', 'split_pps', 300), sample('1', 'split_pps', 100), sample('1', 'pps', 7000)]),
    );
    const cells = () =>
      screen.getAllByRole('row').map(({ children }) => [...children].slice(2, 4).map(({ textContent }) => textContent));
    await waitFor(() =>
      expect(cells()).toEqual([
        ['Packets, 5\u00a0s', 'Rate, 5\u00a0s'],
        ['75.0%', '300pkt/s'],
        ['25.0%', '100pkt/s'],
      ]),
    );
  });

  it('are stale for each instance by itself', async () => {
    vi.useFakeTimers();
    try {
      live.clear();
      show('viewer');
      const pass = (time_ms: number) => act(() => vi.advanceTimersByTimeAsync(time_ms));
      for (const second of [1, 2, 3, 4, 5]) {
        const ids = second === 1 ? ['0', '1'] : ['0'];
        live.addSamples(
          ids.map((id) => ({
            key: `instance/web.ids.${id}/split_pps`,
            t_ms: second * 1000,
            value: 100,
            origin: 'twin' as const,
          })),
        );
        await pass(1000);
      }
      const [, first, second] = screen.getAllByRole('row');
      expect(within(first!).queryByText(', stale')).toBeNull();
      expect(within(second!).getAllByText(', stale')).toHaveLength(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it('are not changed while an NF of the chain is being scaled', async () => {
    served.scalings = [{ id: 'sc-1', nf: { chain_id: 'ch-1', node_id: 'fw' }, state: 'running' }];
    show('operator');
    const change = await screen.findByRole('button', { name: 'Change ranges' });
    await waitFor(() => expect((change as HTMLButtonElement).disabled).toBe(true));
  });

  it('are only shown to viewers', async () => {
    show('viewer');
    expect(screen.getByRole('table', { name: 'Instances of ids' })).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Change ranges' })).toBeNull();
  });
});

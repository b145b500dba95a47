import { MantineProvider } from '@mantine/core';
import type { Operation, Plan, Role, Session } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { DriverChoice } from './driver-choice.js';

const CAPABILITIES = [
  { id: 'p4-switch', title: 'P4', where: 'twin', available: true, detail: '', fallback: null },
  { id: 'bmv2', title: 'BMv2', where: 'twin', available: false, detail: '', fallback: '' },
];
const OPTIONS = {
  strategy: 'packing',
  chaining: 'hyper',
  parallelization: 'orrery',
  scheduling: 'alpine',
  scheduling_mode: 'constrained',
  seed: 7,
} as const;
const planOf = (more: object = {}) =>
  ({
    ...OPTIONS,
    id: 'pn-2',
    base_plan: null,
    feasible: true,
    problems: [],
    conflicts: [],
    chains: [],
    classes: [],
    slos: [],
    reasons: [],
    graph: { nodes: [], edges: [] },
    steps: [{ ordinal: 0, kind: 'change-driver', subject: 'leaf-1', summary: 'leaf-1 changes', interrupts: ['ch-1'] }],
    tables: [{ switch: 'leaf-1', entries: 51, most_entries: 51, available: 16384, entries_before: 42 }],
    diff: { added: [], removed: [], moved: [], reconfigured: [], kept: [] },
    migrations: [],
    request: { chains: [], remove: [], implementations: [] },
    ...more,
  }) as unknown as Plan;
const operation = (id: string, state: string, from: string, to: string, of = 'leaf-1') =>
  ({
    id,
    state,
    updated_ms: Date.now() - 120_000,
    by: 'ann',
    cancelled_by: null,
    drivers: [{ switch: of, from, to }],
  }) as unknown as Operation;

const OVERTAKEN = {
  type: 'about:blank',
  title: 'Conflict',
  status: 409,
  detail: 'Something else was deployed meanwhile: plan again.',
  errors: [{ pointer: '/plan_id', detail: 'was planned before something else was deployed', code: 'stale-plan' }],
};

interface Served {
  readonly operations?: readonly Operation[];
  readonly plan?: Plan;
  /** The plan in force, if there is one. */
  readonly base?: Plan;
  /** Something else was deployed since the first plan was made. */
  readonly isOvertaken?: boolean;
}

/** The bodies of what is posted, in order. */
let posted: { path: string; body: unknown }[];
function serve({ operations = [], plan = planOf(), base, isOvertaken = false }: Served = {}): void {
  posted = [];
  const page = (items: readonly object[]) => Response.json({ items, total: items.length });
  vi.stubGlobal('fetch', async (url: URL, request: RequestInit) => {
    const path = url.pathname.split('/').at(-1)!;
    if (request.method === 'POST') {
      posted.push({ path, body: JSON.parse(String(request.body)) });
      if (isOvertaken && path === 'deployments' && posted.filter((each) => each.path === 'plans').length === 1)
        return Response.json(OVERTAKEN, { status: 409 });
      return path === 'plans'
        ? Response.json(plan, { status: 201 })
        : Response.json({ id: 'op-9', state: 'PROCESSING' }, { status: 202 });
    }
    if (path === 'capabilities') return page(CAPABILITIES);
    if (path === 'operations') return page(operations);
    if (path === 'chains') return page([{ id: 'ch-1', draft: { title: 'Web' }, versions: [] }]);
    if (path === 'deployments') return page(base ? [{ chain_id: 'ch-1', plan_id: base.id }] : []);
    return Response.json(base ?? {});
  });
}
beforeEach(() => localStorage.clear());
afterEach(() => vi.unstubAllGlobals());

/** The switch runs another driver. */
let becomes: (driver: 'ovs' | 'p4') => void;
function show(role: Role = 'admin', driver: 'ovs' | 'p4' = 'ovs') {
  sessionStore.setState({ session: { token: 't', name: 'me', role, expires_ms: 9e15 } as Session, ended: null });
  const client = new QueryClient();
  const view = (runs: 'ovs' | 'p4') => (
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={client}>
          <DriverChoice id="leaf-1" title="Leaf 1" driver={runs} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>
  );
  const { rerender } = render(view(driver));
  becomes = (runs) => rerender(view(runs));
  return screen.getByRole('combobox', { name: 'Driver of Leaf 1' }) as HTMLInputElement;
}

const dialogOf = (name: string) => screen.findByRole('dialog', { name });

describe('the driver of a switch', () => {
  it('is chosen by keyboard, shows the plan with entries and chains that lose packets, and deploys that very plan', async () => {
    serve({ base: planOf({ id: 'pn-1' }) });
    const field = show();
    await screen.findByText('P4, BMv2 (not available)');
    field.focus();
    await userEvent.keyboard('{Enter}{ArrowDown}{Enter}');
    const dialog = await dialogOf('Change Leaf 1 to P4, built in');
    expect(await within(dialog).findByText(/Entries in its table: 42 → 51 of 16,384/)).toBeTruthy();
    expect(await within(dialog).findByText(/this chain loses packets: Web/)).toBeTruthy();
    expect(within(dialog).getByText('Change driver: leaf-1 changes')).toBeTruthy();
    expect(posted).toEqual([
      { path: 'plans', body: { switch_drivers: [{ switch: 'leaf-1', driver: 'p4' }], ...OPTIONS } },
    ]);
    const confirm = within(dialog).getByRole('button', { name: 'Change to P4, built in' });
    confirm.focus();
    await userEvent.keyboard('{Enter}');
    await waitFor(() => expect(posted.at(-1)).toEqual({ path: 'deployments', body: { plan_id: 'pn-2' } }));
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    // What runs is shown until it is another.
    expect(field.value).toBe('Open vSwitch');
  });

  it('is planned with nothing running, too, and says that no chain crosses the switch', async () => {
    const steps = [{ ordinal: 0, kind: 'change-driver', subject: 'leaf-1', summary: 'leaf-1 changes', interrupts: [] }];
    serve({ plan: planOf({ steps, tables: [] }) });
    await userEvent.click(show());
    await userEvent.click(await screen.findByText('P4, built in'));
    const dialog = await dialogOf('Change Leaf 1 to P4, built in');
    expect(await within(dialog).findByText(/No chain loses packets: none crosses it/)).toBeTruthy();
    expect(posted[0]!.body).toEqual({ switch_drivers: [{ switch: 'leaf-1', driver: 'p4' }] });
  });

  it('is not changed where the new one cannot hold the rules, for the reason that the plan gives', async () => {
    const conflicts = [{ constraint: 'switch-table', needed: 90, available: 20, unit: 'entries', where: 'leaf-1' }];
    serve({ plan: planOf({ feasible: false, steps: [], tables: [], conflicts }) });
    await userEvent.click(show());
    await userEvent.click(await screen.findByText('P4, built in'));
    const dialog = await dialogOf('Change Leaf 1 to P4, built in');
    expect(await within(dialog).findByText(/90 entries/)).toBeTruthy();
    const confirm = within(dialog).getByRole('button', { name: 'Change to P4, built in' }) as HTMLButtonElement;
    expect(confirm.disabled).toBe(true);
  });

  it('is undone by the reverse plan, which is shown first', async () => {
    serve({ operations: [operation('op-2', 'COMPLETED', 'ovs', 'p4'), operation('op-1', 'COMPLETED', 'p4', 'ovs')] });
    show('admin', 'p4');
    await userEvent.click(await screen.findByRole('button', { name: 'Undo' }));
    expect(screen.getByText(/by ann/).textContent).toMatch(/since .*2 min.*, by ann/);
    const dialog = await dialogOf('Undo: change Leaf 1 back to Open vSwitch');
    await within(dialog).findByText('Change driver: leaf-1 changes');
    expect(posted[0]!.body).toEqual({ switch_drivers: [{ switch: 'leaf-1', driver: 'ovs' }] });
    await userEvent.click(within(dialog).getByRole('button', { name: 'Undo' }));
    await waitFor(() => expect(posted.at(-1)).toEqual({ path: 'deployments', body: { plan_id: 'pn-2' } }));
  });

  it('is planned again where somebody else has undone the change at the same time', async () => {
    serve({ operations: [operation('op-2', 'COMPLETED', 'ovs', 'p4')], isOvertaken: true });
    show('admin', 'p4');
    await userEvent.click(await screen.findByRole('button', { name: 'Undo' }));
    const dialog = await dialogOf('Undo: change Leaf 1 back to Open vSwitch');
    await within(dialog).findByText('Change driver: leaf-1 changes');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Undo' }));
    expect((await within(dialog).findByRole('alert')).textContent).toBe(OVERTAKEN.detail);
    becomes('ovs');
    await userEvent.click(within(dialog).getByRole('button', { name: 'Plan again' }));
    await within(dialog).findByRole('button', { name: 'Undo' });
    expect(within(dialog).queryByRole('alert')).toBeNull();
    expect(posted.map(({ path }) => path)).toEqual(['plans', 'deployments', 'plans']);
  });

  it.each([
    ['of another switch', operation('op-1', 'COMPLETED', 'ovs', 'p4', 'leaf-2')],
    ['that did not come about', operation('op-1', 'ROLLED_BACK', 'ovs', 'p4')],
    ['to another driver than the one that runs', operation('op-1', 'COMPLETED', 'p4', 'ovs')],
  ])('has nothing to undo of a change %s', async (_what, last) => {
    serve({ operations: [last] });
    show('admin', 'p4');
    await screen.findByText('P4, BMv2 (not available)');
    expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull();
  });

  it.each([
    ['PROCESSING', 'changes to P4, built in'],
    ['ROLLING_BACK', 'back to Open vSwitch'],
  ])('waits for a change that is %s, with the way to its operation', async (state, text) => {
    serve({ operations: [operation('op-7', state, 'ovs', 'p4')] });
    const field = show();
    expect((await screen.findByRole('status')).textContent).toContain(text);
    expect(field.disabled).toBe(true);
    expect(screen.getByRole('link').getAttribute('href')).toBe('/operations?op=op-7');
  });

  it('is for administrators', async () => {
    serve({ operations: [operation('op-2', 'COMPLETED', 'ovs', 'p4')] });
    expect(show('viewer', 'p4').disabled).toBe(true);
    expect(await screen.findByText(/by ann/)).toBeTruthy();
    expect(screen.queryByRole('button', { name: 'Undo' })).toBeNull();
  });
});

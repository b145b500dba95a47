import { MantineProvider } from '@mantine/core';
import type { NodeStatus, Role } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { live } from '../../shared/stream/stream.js';
import { Component } from './page.js';

const node = (id: string, changed: Partial<NodeStatus> = {}): NodeStatus => ({
  id,
  kind: 'server',
  origin: 'live',
  state: 'connected',
  engine: 'running',
  generation: { desired: 1, observed: 1 },
  version: '0.1.0',
  capabilities: {},
  last_seen_ms: 1,
  detail: null,
  ...changed,
});
const NODES = [
  node('edge-1'),
  node('server-1', { origin: 'twin', state: 'disconnected', detail: 'silent for 2 s' }),
  node('tor', { kind: 'switch', state: 'never-seen', version: null, last_seen_ms: null }),
];

const LINKS = [{ id: 'uplink', a: { node: 'edge-1', port: 'nic0' }, b: { node: 'tor', port: 'p1' } }];

const CHANGE = {
  part: null,
  operation_id: null,
  plan_id: 'pn-1',
  moves: [{ instance: 'c.fw.0-2', from: 'edge-1', to: 'edge-2' }],
  chains: ['c', 'merged'],
  not_kept: [],
  warnings: ['flows come anew'],
};
const PLAN = {
  id: 'pn-1',
  base_plan: null,
  chains: [],
  request: { chains: [], remove: [], implementations: [] },
  reasons: [],
  feasible: true,
  problems: [],
  conflicts: [],
  slos: [],
  migrations: [],
  steps: [
    { ordinal: 0, kind: 'prepare-node', subject: 'edge-2', summary: '1 instance started on edge-2', interrupts: [] },
  ],
  diff: { added: ['c.fw.0-2'], removed: ['c.fw.0'], moved: [], reconfigured: [], kept: [] },
  not_kept: [{ chain_id: 'mail', slo_id: null, priority: 10, because: 'no room', constraint: null }],
};
const OUT = [
  {
    id: 'server-1',
    kind: 'server',
    origin: 'twin',
    maintenance: { reason: 'new memory', by: 'a', since_ms: 1 },
    lost: null,
    operation_id: null,
    left: [{ chain_id: 'c', node_id: 'fw', instance: 'c.fw.0', slot: null }],
    in_use: false,
  },
];

const NOT_KEPT = [
  {
    chain_id: 'web',
    version: 1,
    since_ms: 1,
    operation_id: null,
    priority: 10,
    because: 'no room',
    constraint: { constraint: 'cpu', needed: 1.2, available: 0.85, unit: 'cores', where: 'any server' },
  },
];
const POLICY = { enabled: true, grace_s: 10, stable_s: 20, return: 'by-origin', max_changes: 6, revision: 3 };
const RUNS = [
  { id: 'sr-2', scenario_id: 'ssm-two-tunnels', state: 'running', chains: ['c', 'merged', 'elsewhere'] },
  { id: 'sr-1', scenario_id: 'e2-split', state: 'completed', chains: ['c'] },
];
const INSTANCES = [
  { id: 'c.fw.0', chain_id: 'c', server: 'edge-1', slot: null, state: 'running' },
  { id: 'elsewhere.fw.0', chain_id: 'elsewhere', server: 'server-1', slot: null, state: 'running' },
];
const LISTS: Record<string, unknown> = {
  listNodes: NODES,
  listOutOfService: OUT,
  listChainsNotKept: NOT_KEPT,
  listNfInstances: INSTANCES,
};

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async (name: string) =>
    name === 'getInfrastructure'
      ? { links: LINKS }
      : name === 'beginMaintenance' || name === 'endMaintenance'
        ? CHANGE
        : name === 'getPlan' || name === 'createPlan'
          ? PLAN
          : name === 'getHealingPolicy'
            ? POLICY
            : name === 'listScenarioRuns'
              ? { items: RUNS, total: RUNS.length }
              : { node: 'tor', token: 'jt-secret', expires_ms: 1 },
  ),
  callFull: vi.fn(async (name: string) => ({
    data: { items: LISTS[name] ?? [], total: NODES.length },
    next: null,
  })),
}));
vi.mock('../../shared/ui/subject-link.js', () => ({ SubjectLink: ({ subject }: { subject: string }) => subject }));
vi.mock('../../shared/page/page-header.js', async (original) => ({
  ...(await original<typeof import('../../shared/page/page-header.js')>()),
  PageHeader: ({ description }: { description: string }) => <p>{description}</p>,
}));
const { call } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockClear());

async function show(role: Role) {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <RouterProvider router={createMemoryRouter([{ path: '/', element: <Component /> }])} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await screen.findByText('1 of 3 are connected.');
  return userEvent.setup();
}
const row = (id: string) => screen.getByRole('row', { name: new RegExp(id) });
const buttons = () =>
  within(screen.getByRole('table', { name: 'Agents' })).getAllByRole<HTMLButtonElement>('button', {
    name: /^(Join token|Revoke)/,
  });

describe('the page of agents', () => {
  it('shows state, last contact, version and detail of each', async () => {
    await show('viewer');
    expect(row('edge-1').textContent).toMatch(/connected.*now.*0\.1\.0/);
    expect(row('server-1').textContent).toMatch(/disconnected.*silent for 2 s/);
    expect(row('tor').textContent).toMatch(/never seen.*never/);
  });

  it('says which links of a node are down', async () => {
    await show('viewer');
    expect(row('edge-1').textContent).not.toContain('is down');
    const link = { link_id: 'uplink', t_ms: 1, a_to_b_bps: 0, b_to_a_bps: 0 };
    act(() => live.addLinks([{ ...link, utilization: 0, drops: 0, up: false }]));
    await waitFor(() => expect(row('edge-1').textContent).toContain('link uplink is down'));
    expect(row('tor').textContent).toContain('link uplink is down');
  });

  it.each(['viewer', 'operator', 'designer'] as const)('lets a %s change nothing, and says why', async (role) => {
    await show(role);
    expect(buttons()).toHaveLength(6);
    for (const button of buttons()) {
      expect(button.disabled).toBe(true);
      expect(button.closest('[title]')!.getAttribute('title')).toBe('Needs the role admin');
    }
  });

  it('leaves agents of the twin to the twin', async () => {
    await show('admin');
    const disabled = buttons().filter((each) => each.disabled);
    expect(disabled.map((each) => each.closest('[title]')!.getAttribute('title'))).toEqual([
      'Emulated: the twin gives its agents their credentials',
      'Emulated: the twin gives its agents their credentials',
    ]);
    expect(disabled.every((each) => row('server-1').contains(each))).toBe(true);
  });

  it('shows a join token once', async () => {
    const user = await show('admin');
    await user.click(screen.getByRole('button', { name: 'Join token for tor' }));
    const dialog = await screen.findByRole('dialog', { name: 'Join token for tor' });
    expect(call).toHaveBeenCalledWith('createJoinToken', { body: { node: 'tor' } });
    expect(dialog.textContent).toContain('jt-secret');
    await user.click(within(dialog).getByRole('button', { name: 'Close' }));
    await waitFor(() => expect(screen.queryByText('jt-secret')).toBeNull());
  });

  it.each([
    ['edge-1', /engine forwards packets as before.*degraded/],
    ['tor', /switch forwards packets with the entries/],
  ])('says what becomes of the traffic before it revokes the credential of %s', async (id, text) => {
    const user = await show('admin');
    await user.click(screen.getByRole('button', { name: `Revoke the credential of ${id}` }));
    expect(await screen.findByText(text)).toBeTruthy();
    expect(call).not.toHaveBeenCalledWith('revokeCredential', expect.anything());
    await user.click(screen.getByRole('button', { name: 'Revoke' }));
    expect(call).toHaveBeenCalledWith('revokeCredential', { params: { id } });
  });

  it('shows what draining would do before it is done, and asks for the reason', async () => {
    const user = await show('operator');
    await user.click(screen.getByRole('button', { name: 'Drain edge-1' }));
    const dialog = await screen.findByRole('dialog', { name: 'Drain edge-1' });
    await within(dialog).findByText('c.fw.0-2 moves from edge-1 to edge-2.');
    expect(dialog.textContent).toContain('Warning: flows come anew.');
    const disturbed = await within(dialog).findByText(/the scenario ssm-two-tunnels is running/);
    expect(disturbed.textContent).toMatch(/with chains on edge-1: c, merged\. A drain disturbs it/);
    expect(dialog.textContent).not.toContain('e2-split');
    expect(within(await within(dialog).findByRole('list', { name: 'Steps' })).getAllByRole('listitem')).toHaveLength(1);
    const drain = within(dialog).getByRole<HTMLButtonElement>('button', { name: 'Drain' });
    expect(drain.disabled).toBe(true);
    expect(within(dialog).getByTitle('The reason must be given').contains(drain)).toBe(true);
    const reason = within(dialog).getByRole<HTMLInputElement>('textbox', { name: 'Reason' });
    expect(reason.required).toBe(true);
    await user.type(reason, 'new disk');
    expect(within(dialog).queryByTitle('The reason must be given')).toBeNull();
    await user.click(drain);
    const params = { id: 'edge-1' };
    expect(call).toHaveBeenCalledWith('beginMaintenance', {
      params,
      body: { reason: 'preview', force: false, dry_run: true },
    });
    expect(call).toHaveBeenCalledWith('beginMaintenance', {
      params,
      body: { reason: 'new disk', force: false, dry_run: false },
    });
  });

  it('marks what is in maintenance, and brings it back with what left it only after asking', async () => {
    const user = await show('operator');
    await waitFor(() => expect(row('server-1').textContent).toContain('maintenance'));
    expect(row('edge-1').textContent).toContain('in service');
    await user.click(screen.getByRole('button', { name: 'server-1 back in service' }));
    expect(call).toHaveBeenCalledWith('endMaintenance', { params: { id: 'server-1' }, body: { return: false } });
    await user.click(await screen.findByRole('button', { name: 'Return… what left server-1' }));
    await user.click(await screen.findByRole('button', { name: 'Return' }));
    expect(call).toHaveBeenCalledWith('endMaintenance', { params: { id: 'server-1' }, body: { return: true } });
  });

  it('plans what runs without a lost server, and deploys that plan on consent', async () => {
    const lost = { why: 'its agent is not connected', since_ms: 1 };
    // Of a parallel step, only the merge is there.
    Object.assign(LISTS, {
      listOutOfService: [{ ...OUT[0], maintenance: null, lost, in_use: true }],
      listNfInstances: INSTANCES.filter(({ server }) => server !== 'server-1'),
    });
    const user = await show('operator');
    await user.click(await screen.findByRole('button', { name: 'Do without server-1' }));
    const dialog = await screen.findByRole('dialog', { name: 'Do without server-1' });
    await within(dialog).findByText(/mail is taken down/);
    await user.click(within(dialog).getByRole('button', { name: 'Do without it' }));
    const body = { without_servers: ['server-1'], when_short: 'leave-out' };
    expect(call).toHaveBeenCalledWith('createPlan', { body }, expect.anything());
    expect(call).toHaveBeenCalledWith('createDeployment', { body: { plan_id: 'pn-1' } }, expect.anything());
    Object.assign(LISTS, { listOutOfService: OUT, listNfInstances: INSTANCES });
  });

  it('offers to do without a lost server only what is still to run there', async () => {
    LISTS.listOutOfService = [{ ...OUT[0], maintenance: null, lost: { why: 'its agent is away', since_ms: 1 } }];
    await show('operator');
    await waitFor(() => expect(row('server-1').textContent).toContain('nothing is to run there'));
    expect(screen.queryByRole('button', { name: 'Do without server-1' })).toBeNull();
    LISTS.listOutOfService = OUT;
  });

  it('lets a viewer drain nothing, and says why', async () => {
    await show('viewer');
    const drain = screen.getByRole<HTMLButtonElement>('button', { name: 'Drain edge-1' });
    expect(drain.disabled).toBe(true);
    expect(drain.closest('[title]')!.getAttribute('title')).toBe('Needs the role operator');
  });

  it('lists what is not kept with what it lacks, to be tried again or given up after asking', async () => {
    const user = await show('operator');
    const table = await screen.findByRole('table', { name: 'Chains that are not kept' });
    expect(table.textContent).toContain('needs 1.2 cores, has 0.85 cores');
    await user.click(screen.getByRole('button', { name: 'Try to deploy web again' }));
    expect(call).toHaveBeenCalledWith('deployNotKept', { params: { chain_id: 'web' } });
    await user.click(screen.getByRole('button', { name: 'Give up web' }));
    expect(call).not.toHaveBeenCalledWith('giveUpNotKept', expect.anything());
    await user.click(await screen.findByRole('button', { name: 'Give up' }));
    expect(call).toHaveBeenCalledWith('giveUpNotKept', { params: { chain_id: 'web' } });
  });

  it('lets a viewer try and give up nothing', async () => {
    await show('viewer');
    for (const name of ['Try to deploy web again', 'Give up web'])
      expect((await screen.findByRole<HTMLButtonElement>('button', { name })).disabled).toBe(true);
  });

  it('changes the policy of healing as it was read, and nothing that is out of bounds', async () => {
    const user = await show('operator');
    await user.click(screen.getByRole('button', { name: 'Healing…' }));
    const dialog = await screen.findByRole('dialog', { name: 'Healing' }, { timeout: 5000 });
    const grace = await within(dialog).findByRole('textbox', { name: /Grace time/ });
    await user.clear(grace);
    await user.type(grace, '0');
    await user.click(within(dialog).getByRole('button', { name: 'Save' }));
    expect(call).not.toHaveBeenCalledWith('putHealingPolicy', expect.anything(), expect.anything());
    await user.clear(grace);
    await user.type(grace, '30');
    await user.click(within(dialog).getByRole('button', { name: 'Save' }));
    const { revision: _, ...policy } = POLICY;
    const body = { ...policy, grace_s: 30 };
    await waitFor(() => expect(call).toHaveBeenCalledWith('putHealingPolicy', { body }, { ifMatch: '"3"' }));
  });
});

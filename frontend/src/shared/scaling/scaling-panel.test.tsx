import { MantineProvider } from '@mantine/core';
import {
  FLOW_SPACE,
  type Plan,
  type Role,
  type ScaleRequest,
  type Scaling,
  type ScalingPolicy,
  ScalingPolicyRequest,
  type Session,
} from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { expect, it, vi } from 'vitest';
import { sessionStore } from '../api/session.js';
import { ScalingPanel } from './scaling-panel.js';

const served = vi.hoisted(() => ({
  scalings: [] as unknown[],
  policies: [] as unknown[],
  descriptors: [] as unknown[],
}));
vi.mock('../api/client.js', async (original) => ({
  ...(await original<typeof import('../api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(async (name: string) => {
    const lists: Readonly<Record<string, unknown[]>> = {
      listScalings: served.scalings,
      listScalingPolicies: served.policies,
      listNfDescriptors: served.descriptors,
      listDeployments: [{ chain_id: 'ch-1', version: 2, plan_id: 'pn-1', state: 'running' }],
    };
    const items = lists[name] ?? [];
    return { data: { items, total: items.length }, next: null };
  }),
}));
const { ApiError, call } = await import('../api/client.js');

const nf = { chain_id: 'ch-1', node_id: 'ids' };
const instance = (ordinal: number) => ({ kind: 'nf', id: `web.ids.${ordinal}`, ordinal, nf: 'ids', ...nf });
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
  graph: { nodes: [instance(0), instance(1)], edges: [] },
  steps: [{ ordinal: 0, kind: 'switch-node', subject: 'server-1', summary: '1 instance rewired', interrupts: [] }],
  diff: { added: [], removed: [], moved: [], reconfigured: [], kept: [] },
  migrations: [],
  splits: [],
  request: { chains: [{ chain_id: 'ch-1' }], remove: [], implementations: [] },
} as unknown as Plan;

const described = (max_instances = 64) => ({ id: 'ids', scaling: { max_instances } });

const scaling = (more: Partial<Scaling>) =>
  ({
    ...{ id: 'sc-1', nf, from: 1, to: 2, flows: 'keep', by: 'ann', state: 'completed', ended_ms: 1 },
    ...{ steps: ['resize'], step: 1 },
    ...more,
  }) as Scaling;

/** What the server says of a change that is made at once. */
const resized = ({ instances }: Pick<ScaleRequest, 'instances'>): object => ({
  ...{ from: 2, to: instances, steps: ['resize'], idle_timeout_s: 60, feasible: true },
  splits: [{ node_id: 'ids', instances }],
});

function show(
  role: Role,
  scalings: Scaling[] = [],
  policies: Partial<ScalingPolicy>[] = [],
  { shown = plan, descriptors = [] as object[], previewOf = resized as (body: ScaleRequest) => object } = {},
) {
  const sent: { name: string; body: unknown }[] = [];
  Object.assign(served, { scalings, policies, descriptors });
  vi.mocked(call).mockImplementation((async (name: string, input: { body: unknown }) => {
    if (name === 'previewScaling') return previewOf(input.body as ScaleRequest);
    sent.push({ name, body: input.body });
    return name === 'createPlan' ? { ...plan, id: `pn-${1 + sent.length}` } : { id: 'op-9' };
  }) as unknown as typeof call);
  sessionStore.setState({ session: { role, token: 't', name: 'ann', expires_ms: 9e15 } as Session });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <ScalingPanel nf={nf} plan={shown} />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  return sent;
}

const isDisabled = (name: string) => (screen.getByRole('button', { name }) as HTMLButtonElement).disabled;

it('shows the plan of one more instance, and begins it on consent', async () => {
  const sent = show('operator');
  await screen.findByText(/2 instances\. Their number does not follow the load\./);
  await waitFor(() => expect(isDisabled('Scale out…')).toBe(false));
  await userEvent.click(screen.getByRole('button', { name: 'Scale out…' }));
  const confirm = await screen.findByRole('button', { name: 'Scale out' });
  await waitFor(() => expect((confirm as HTMLButtonElement).disabled).toBe(false));
  expect(screen.getByText(/as in ids\.0-3, grows by one whenever that instance moves/)).toBeTruthy();
  expect(sent[0]!.body).toMatchObject({
    chains: [{ chain_id: 'ch-1', version: 2, splits: [{ node_id: 'ids', instances: 3 }] }],
  });
  await userEvent.click(screen.getByRole('radio', { name: 'Move' }));
  await waitFor(() => expect(sent.map(({ name }) => name)).toEqual(['createPlan', 'createPlan']));
  await waitFor(() => expect(isDisabled('Scale out')).toBe(false));
  await userEvent.click(screen.getByRole('button', { name: 'Scale out' }));
  await waitFor(() => expect(sent.slice(2).map(({ name }) => name)).toEqual(['scaleDeployment']));
  expect(sent[2]!.body).toEqual({ node_id: 'ids', instances: 3, flows: 'migrate', drain_s: 300 });
});

it('says in which steps a first NF is scaled whose flows stay, and plans each on top of the one before', async () => {
  const shown = { ...plan, graph: { nodes: [instance(0)], edges: [] } } as unknown as Plan;
  const staged = { held: [{ lo: 0, hi: FLOW_SPACE }], exceptions: [], idle_timeout_s: 60 };
  const split = { node_id: 'ids', staged };
  const previewOf = (body: ScaleRequest) =>
    body.flows === 'migrate'
      ? { ...resized(body), steps: ['resize', 'move'] }
      : {
          ...resized(body),
          steps: ['stage', 'settle', 'resize'],
          splits: [1, body.instances].map((instances) => ({ ...split, instances })),
        };
  const sent = show('operator', [], [], { shown, previewOf });
  await waitFor(() => expect(isDisabled('Scale out…')).toBe(false));
  await userEvent.click(screen.getByRole('button', { name: 'Scale out…' }));
  await screen.findByText('It goes in 3 steps:');
  await screen.findByText(/Waits until all flows in progress are known\. That takes 60 s\./);
  await screen.findByText(/Engines keep flows in progress at their instances, until switches that can take over\./);
  await screen.findByRole('heading', { name: 'Then' });
  expect(sent.map(({ body }) => body)).toMatchObject([
    { chains: [{ splits: [{ node_id: 'ids', instances: 1, staged }] }] },
    { chains: [{ splits: [{ node_id: 'ids', instances: 2, staged }] }], on_top_of: 'pn-2' },
  ]);
  await userEvent.click(screen.getByRole('radio', { name: 'Move' }));
  await screen.findByText('It goes in 2 steps:');
  await waitFor(() => expect(sent.slice(2)).toHaveLength(1));
  expect(sent.at(-1)!.body).toMatchObject({ chains: [{ splits: [{ node_id: 'ids', instances: 2 }] }] });
});

it('says why a change is refused, at the number where that is why, and asks again on request', async () => {
  const problem = { type: 'about:blank', title: 'Refused', request_id: 'r-1' };
  const detail = 'is above 2, the most that ids allows';
  const refusals = [
    new ApiError({ ...problem, status: 422, errors: [{ pointer: '/instances', detail }] }),
    new ApiError({ ...problem, status: 409, detail: 'fw is being scaled to 2 instances: one change at a time.' }),
  ];
  const previewOf = (body: ScaleRequest) => {
    const refusal = refusals.shift();
    if (refusal) throw refusal;
    return resized(body);
  };
  const sent = show('operator', [], [], { previewOf });
  await waitFor(() => expect(isDisabled('Scale out…')).toBe(false));
  await userEvent.click(screen.getByRole('button', { name: 'Scale out…' }));
  await screen.findByText(detail);
  expect(screen.queryByRole('alert')).toBeNull();
  expect(screen.getByText('There is no plan of what is refused.')).toBeTruthy();
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
  await screen.findByText(/fw is being scaled to 2 instances/);
  expect(screen.queryByText(detail)).toBeNull();
  expect(sent).toEqual([]);
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
  await waitFor(() => expect(sent.map(({ name }) => name)).toEqual(['createPlan']));
  await waitFor(() => expect(isDisabled('Scale out')).toBe(false));
});

it('says what a change waits for, and stops it; nothing else can be begun meanwhile', async () => {
  const sent = show('operator', [
    scaling({ from: 2, to: 1, state: 'running', steps: ['drain', 'empty', 'resize'], step: 1 }),
  ]);
  await screen.findByText(/Waits until the flows of what goes have ended/);
  expect(isDisabled('Scale out…')).toBe(true);
  await userEvent.click(screen.getByRole('button', { name: 'Stop' }));
  await waitFor(() => expect(sent.map(({ name }) => name)).toEqual(['cancelScaling']));
});

it('offers to undo the last change, by the number of before', async () => {
  const sent = show('operator', [scaling({})]);
  await userEvent.click(await screen.findByRole('button', { name: 'Undo' }));
  await screen.findByText('Undo: 1 instance of ids');
  await waitFor(() =>
    expect(sent[0]?.body).toMatchObject({ chains: [{ splits: [{ node_id: 'ids', instances: 1 }] }] }),
  );
});

it('undoes a change whose flows moved by moving them back', async () => {
  const sent = show('operator', [scaling({ flows: 'migrate' })]);
  await userEvent.click(await screen.findByRole('button', { name: 'Undo' }));
  await screen.findByText('Undo: 1 instance of ids');
  const confirm = screen.getAllByRole('button', { name: 'Undo', hidden: true }).at(-1) as HTMLButtonElement;
  await waitFor(() => expect(confirm.disabled).toBe(false));
  await userEvent.click(confirm);
  await waitFor(() => expect(sent.map(({ name }) => name)).toEqual(['createPlan', 'scaleDeployment']));
  expect(sent[1]!.body).toMatchObject({ instances: 1, flows: 'migrate' });
});

it('tells the policy and why it was refused, and lets viewers change nothing', async () => {
  const refusal = '2 of at most 2 instances';
  show(
    'viewer',
    [],
    [{ id: 'scp-1', nf, min_instances: 1, max_instances: 2, state: 'overloaded', unjudged: null, refusal }],
  );
  await screen.findByText(/By load from 1 to 2: overloaded\. 2 of at most 2 instances/);
  expect(screen.queryByRole('button')).toBeNull();
});

it('tells why the load of an NF is not judged', async () => {
  const unjudged = 'the agent of server-1 is away';
  show(
    'viewer',
    [],
    [{ id: 'scp-1', nf, min_instances: 1, max_instances: 2, state: 'not-judged', unjudged, refusal: null }],
  );
  await screen.findByText(/By load from 1 to 2: not judged: the agent of server-1 is away\./);
});

it('refuses limits that contradict each other at their field, and adds the policy', async () => {
  const sent = show('operator');
  await waitFor(() => expect(isDisabled('Scale by load…')).toBe(false));
  await userEvent.click(screen.getByRole('button', { name: 'Scale by load…' }));
  const most = await screen.findByRole('textbox', { name: /Most instances/ });
  const fewest = screen.getByRole('textbox', { name: /Fewest instances/ });
  expect(screen.getAllByText(/Empty: does not count/)).toHaveLength(2);
  expect(screen.queryByPlaceholderText('null')).toBeNull();
  expect(screen.getByDisplayValue('Stay at their instances, kept by engines')).toBeTruthy();
  await userEvent.clear(fewest);
  await userEvent.type(fewest, '9');
  await userEvent.click(screen.getByRole('button', { name: 'Add' }));
  await screen.findByText(/must not be below min_instances/i);
  expect(sent).toEqual([]);
  await userEvent.clear(most);
  await userEvent.type(most, '12');
  await userEvent.click(screen.getByRole('button', { name: 'Add' }));
  await waitFor(() => expect(sent.map(({ name }) => name)).toEqual(['createScalingPolicy']));
  expect(sent[0]!.body).toMatchObject({ nf, min_instances: 9, max_instances: 12, strategy: 'avoid' });
});

it('is titled as what is filled in, and takes no more instances than the NF may have', async () => {
  show('operator', [], [], { descriptors: [described()] });
  await waitFor(() => expect(isDisabled('Scale out…')).toBe(false));
  await userEvent.click(screen.getByRole('button', { name: 'Scale out…' }));
  await screen.findByText('Scale out: ids');
  const field = screen.getByRole('textbox', { name: 'Instances' });
  await userEvent.clear(field);
  await screen.findByText('Scale: ids');
  await userEvent.type(field, '1');
  await screen.findByText('Scale in: ids');
  await userEvent.type(field, '00');
  await screen.findByText('A whole number from 1 to 64 instances');
  expect(screen.getByText('Another number than 2, from 1 to 64.')).toBeTruthy();
});

it('says that an NF has as many instances as it may', async () => {
  show('operator', [], [], { descriptors: [described(2)] });
  await screen.findByTitle('It may have no more than 2 instances.');
  expect(isDisabled('Scale out…')).toBe(true);
});

it('does not overwrite a policy that somebody else changed since the dialog was opened', async () => {
  const policyOf = (revision: number, max_instances: number) => ({
    ...ScalingPolicyRequest.parse({ nf, max_instances }),
    ...{ id: 'scp-1', revision, state: 'steady', unjudged: null, refusal: null },
  });
  show('operator', [], [policyOf(1, 2) as ScalingPolicy]);
  await userEvent.click(await screen.findByRole('button', { name: 'Policy…' }));
  const save = await screen.findByRole('button', { name: 'Save' });
  served.policies = [policyOf(2, 3)];
  window.dispatchEvent(new Event('visibilitychange'));
  await screen.findByText(/By load from 1 to 3/);
  await userEvent.click(save);
  await waitFor(() => expect(call).toHaveBeenLastCalledWith('putScalingPolicy', expect.anything(), { ifMatch: '"1"' }));
});

import { MantineProvider } from '@mantine/core';
import type { Role, Scenario, ScenarioRun } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor, within } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { describe, expect, it, vi } from 'vitest';
import { sessionStore } from '../../shared/api/session.js';
import { Scenarios } from './scenarios.js';

vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(),
  callFull: vi.fn(),
}));
const { call, callFull, ApiError } = await import('../../shared/api/client.js');

const scenario: Scenario = {
  id: 'swap',
  title: 'SQL load takes the board',
  summary: 'They change places.',
  source: 'CoNFV, Figure 9',
  duration_s: 120,
  role: 'designer',
  needs: ['one board'],
  watch: 'parallelism',
  parameters: {
    type: 'object',
    properties: {
      rate: { type: 'number', minimum: 1, default: 5, description: 'requests a second' },
      fast: { type: 'boolean', default: false, description: 'no pauses' },
    },
  },
};
const figure = {
  name: 'Partial load',
  unit: 's',
  published: 2.5,
  here: 2.75,
  source: 'CoNFV Fig. 9',
  modelled: true,
  bar: null,
  pass: null,
  note: 'the load',
};
const done: ScenarioRun = {
  id: 'run-1',
  scenario_id: 'swap',
  parameters: {},
  by: 'a',
  state: 'completed',
  steps: [{ title: 'Make the chains', state: 'done', progress: null, started_ms: 0, ended_ms: 5000, detail: null }],
  figures: [figure],
  chains: [],
  detail: null,
  started_ms: 0,
  ended_ms: 60_000,
};
const running: ScenarioRun = {
  ...done,
  id: 'run-2',
  state: 'running',
  figures: [],
  started_ms: 70_000,
  ended_ms: null,
};

function show(runs: readonly ScenarioRun[], role: Role, start?: Error, needed: Role = 'designer') {
  sessionStore.setState({ session: { token: 't', name: 'a', role, expires_ms: Number.MAX_SAFE_INTEGER } });
  vi.mocked(callFull).mockImplementation(async (name) => {
    const items = name === 'listScenarios' ? [{ ...scenario, role: needed }] : [];
    return { data: { items, total: items.length }, etag: null, location: null, next: null } as never;
  });
  vi.mocked(call).mockImplementation(async (name) => {
    if (name === 'startScenario' && start) throw start;
    return { items: runs, total: runs.length } as never;
  });
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={new QueryClient()}>
          <Scenarios />
        </QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
  return userEvent.setup();
}

describe('Scenarios', () => {
  it('says why a run was refused', async () => {
    const refusal = new ApiError({ type: 'about:blank', title: 'Conflict', status: 409, detail: 'Another one runs.' });
    const user = show([], 'designer', refusal);
    await user.click(await screen.findByRole('button', { name: `Run ${scenario.title}` }));
    await user.click(await screen.findByRole('button', { name: 'Run' }));
    expect((await screen.findByRole('alert')).textContent).toContain('Another one runs.');
  });

  it('shows the steps of the run that goes on, and the figures of the one before beside the published ones', async () => {
    show([running, done], 'operator');
    expect(await screen.findByRole('button', { name: `Stop ${scenario.title}` })).toBeTruthy();
    expect(within(screen.getByRole('list', { name: 'Steps of the run' })).getByText('Make the chains')).toBeTruthy();
    expect(screen.getByText(/Figures of the previous run/)).toBeTruthy();
    const row = screen.getByRole('row', { name: /Partial load/ });
    expect(
      within(row)
        .getAllByRole('cell')
        .map(({ textContent }) => textContent),
    ).toEqual(['Partial load', '2.5 s', '2.75 s', '1.1×', '', 'CoNFV Fig. 9', 'modelled: the load']);
  });

  it('says of a run that completed how many bars it missed', async () => {
    const missed = { ...figure, name: 'Full load', bar: { least: null, most: 2 }, pass: false };
    show([{ ...done, figures: [figure, missed, { ...missed, name: 'No load', here: null }] }], 'viewer');
    expect(await screen.findByText('completed, 1 of 2 bars missed, 1 not measured')).toBeTruthy();
    expect(screen.getByRole('row', { name: /No load/ }).textContent).not.toContain('violated');
  });

  it('asks for the parameters, with their defaults, and sends what was changed', async () => {
    const user = show([], 'designer');
    await user.click(await screen.findByRole('button', { name: `Run ${scenario.title}` }));
    const rate = await screen.findByRole('textbox', { name: /rate/i });
    await user.clear(rate);
    await user.type(rate, '7');
    await user.click(screen.getByRole('button', { name: 'Run' }));
    await waitFor(() =>
      expect(vi.mocked(call)).toHaveBeenCalledWith('startScenario', {
        params: { id: 'swap' },
        body: { parameters: { rate: 7, fast: false } },
      }),
    );
  });

  it('leads to the page that its scenario declares, while it runs', async () => {
    show([running, done], 'viewer');
    const link = await screen.findByRole('link', { name: 'Watch it on Parallelism' });
    expect(link.getAttribute('href')).toBe('/parallelism');
    const first = screen.getByRole('link', { name: scenario.title });
    expect(first.getAttribute('href')).toBe('/scenarios/runs/run-2');
  });

  it('leads to the report of a run', async () => {
    show([done], 'viewer');
    expect((await screen.findByRole('link', { name: 'Report' })).getAttribute('href')).toBe('/scenarios/runs/run-1');
    expect(screen.queryByRole('link', { name: /Watch it/ })).toBeNull();
  });

  it('asks for the role of the scenario itself', async () => {
    show([], 'designer', undefined, 'admin');
    const button = await screen.findByTitle('Needs the role admin');
    expect(within(button).getByRole('button', { name: `Run ${scenario.title}` })).toHaveProperty('disabled', true);
  });

  it.each([
    ['viewer', [done], 'Needs the role designer'],
    ['operator', [done], 'Needs the role designer'],
    ['designer', [{ ...running, scenario_id: 'other' }], '“other” is running: one scenario runs at a time'],
  ] as const)('tells a %s why nothing can be run', async (role, runs, reason) => {
    show(runs, role);
    const button = await screen.findByTitle(reason);
    expect(within(button).getByRole<HTMLButtonElement>('button', { name: `Run ${scenario.title}` }).disabled).toBe(
      true,
    );
  });

  it('says that a run which was stopped removes what it made', async () => {
    const steps = [{ ...done.steps[0]!, state: 'skipped' as const, detail: 'stopped by a' }];
    show([{ ...running, steps }], 'operator');
    expect(await screen.findByText('stopping, removing what it made')).toBeTruthy();
    expect(screen.getByRole<HTMLButtonElement>('button', { name: `Stop ${scenario.title}` }).disabled).toBe(true);
  });
});

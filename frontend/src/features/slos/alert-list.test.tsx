import { MantineProvider } from '@mantine/core';
import type { SloAlert } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it } from 'vitest';
import { AlertList } from './alert-list.js';
import { Alerts } from './alerts.js';

const alert = (rest: Partial<SloAlert>): SloAlert => ({
  id: 'alert-1',
  chain_id: 'web',
  slo_id: 'fast',
  rule: { long_s: 3600, short_s: 300, burn: 14.4, severity: 'error' },
  state: 'open',
  reactions: [],
  began_ms: 1000,
  fired_ms: 2000,
  resolved_ms: null,
  resolution: null,
  burn_long: 20,
  burn_short: 80,
  left_share: 0.9,
  cause: { kind: 'operation', what: 'Deployment of Web', id: 'op-7', event_id: '1-0', at_ms: 900 },
  place: { nf: 'ids', what: 'ids: 900 µs, 40.0 µs before' },
  acknowledged: null,
  ...rest,
});

const RUNNING: ReadonlyMap<string, string> = new Map([['web/fast', 'p99 latency at most']]);

function show(alerts: readonly SloAlert[], children = <AlertList label="Alerts" alerts={alerts} running={RUNNING} />) {
  const queries = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY, retry: false } },
  });
  queries.setQueryData(['slos', 'listSloAlerts'], alerts);
  render(
    <MantineProvider env="test">
      <MemoryRouter>
        <QueryClientProvider client={queries}>{children}</QueryClientProvider>
      </MemoryRouter>
    </MantineProvider>,
  );
}

it('tells the cause of an alert as a sentence with a link to it, and where', () => {
  show([alert({})]);
  const [item] = screen.getAllByRole('listitem');
  expect(within(item!).getByText('Deployment of Web.').getAttribute('href')).toBe('/operations?op=op-7');
  expect(item!.textContent).toContain('burned 20 × over 1 h and 80 × over 5 min');
  expect(item!.textContent).toContain('ids: 900 µs, 40.0 µs before.');
  const objective = within(item!).getByRole('link', { name: /: p99 latency at most$/ });
  expect(objective.getAttribute('href')).toBe('/slos?slo=web%2Ffast');
  expect(within(item!).getByRole('button', { name: 'Acknowledge the alert about fast' })).toHaveProperty(
    'disabled',
    true,
  );
});

it('leads to the event of a fault, and says where no cause was found', () => {
  const fault = { kind: 'fault', what: 'link-down at link-1', id: 'f-1', event_id: '5-0', at_ms: 1 } as const;
  show([alert({ cause: fault }), alert({ id: 'alert-2', cause: null, place: null })]);
  expect(screen.getByText('link-down at link-1.').getAttribute('href')).toBe('/events?event=5-0');
  expect(screen.getByText('No cause found.')).toBeTruthy();
});

it('says who acknowledged an alert, in place of the button', () => {
  show([alert({ acknowledged: { by: 'admin', at_ms: 3000, note: 'on it' } })]);
  expect(screen.getByText('Acknowledged by admin: on it')).toBeTruthy();
  expect(screen.queryByRole('button')).toBeNull();
});

it('lists open alerts, and those that are over when asked, with when and why they ended', async () => {
  const over = { state: 'resolved', resolved_ms: 1_700_000_000_000 } as const;
  const past = alert({ ...over, id: 'alert-3', slo_id: 'past', resolution: 'calm' });
  const later = { ...over, resolved_ms: over.resolved_ms + 1 };
  const removed = alert({ ...later, id: 'alert-4', slo_id: 'gone', resolution: 'removed' });
  show([alert({}), past, removed], <Alerts running={RUNNING} />);
  expect(screen.getAllByRole('listitem')).toHaveLength(1);
  expect(screen.queryByText(/past/)).toBeNull();
  fireEvent.click(screen.getByRole('radio', { name: 'Resolved (2)' }));
  await waitFor(() => expect(screen.getAllByRole('listitem')).toHaveLength(2));
  const [last, before] = screen.getAllByRole('listitem');
  expect(last!.textContent).toMatch(/gone.*Resolved .*2023.*: the objective was removed\./);
  expect(before!.textContent).toMatch(/past.*Resolved .*2023.*: the budget burns no more\./);
  expect(within(last!).queryByRole('link', { name: /gone/ })).toBeNull();
});

it('lists the last twenty alerts that are over, and all when asked', async () => {
  const over = (n: number) => alert({ id: `alert-${n}`, state: 'resolved', resolved_ms: n, resolution: 'changed' });
  show(
    Array.from({ length: 25 }, (_, n) => over(n)),
    <Alerts running={RUNNING} />,
  );
  expect(screen.getByText('No alert is open.')).toBeTruthy();
  fireEvent.click(screen.getByRole('radio', { name: 'Resolved (25)' }));
  await waitFor(() => expect(screen.getAllByRole('listitem')).toHaveLength(20));
  fireEvent.click(screen.getByRole('button', { name: 'Show 5 earlier' }));
  expect(screen.getAllByRole('listitem')).toHaveLength(25);
});

it('has nothing where there was no alert', () => {
  show([], <Alerts running={RUNNING} />);
  expect(screen.queryByText('Alerts')).toBeNull();
});

it('tells the day of what was done about an alert, as it may last for days', () => {
  const done = { kind: 'operation', what: 'Scaling of ids', id: 'op-8', event_id: null } as const;
  show([alert({ reactions: [{ ...done, at_ms: 1_700_000_000_000 }] })]);
  expect(screen.getByText(/2023/)).toBeTruthy();
});

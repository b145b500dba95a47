import { MantineProvider } from '@mantine/core';
import type { SloAlert } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it } from 'vitest';
import { AlertList } from './alert-list.js';
import { OpenAlerts } from './open-alerts.js';

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

function show(alerts: readonly SloAlert[], children = <AlertList label="Alerts" alerts={alerts} named />) {
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
  expect(within(item!).getByRole('link', { name: /fast$/ }).getAttribute('href')).toBe('/slos?slo=web%2Ffast');
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

it('lists open alerts alone above the objectives, and nothing where there is none', () => {
  const resolved = alert({ id: 'alert-3', slo_id: 'past', state: 'resolved', resolved_ms: 5, resolution: 'calm' });
  show([alert({}), resolved], <OpenAlerts />);
  expect(screen.getAllByRole('listitem')).toHaveLength(1);
  expect(screen.queryByText(/past/)).toBeNull();
});

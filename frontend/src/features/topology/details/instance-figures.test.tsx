import { MantineProvider } from '@mantine/core';
import type { Session } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { diskFacts, diskIn } from './disk-use.js';
import { InstanceFigures } from './instance-figures.js';

vi.mock('../../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../../shared/api/client.js')>()),
  call: vi.fn(),
}));
const { call } = await import('../../../shared/api/client.js');

const MIB = 2 ** 20;
const disk = { used_bytes: 12 * MIB, unread: null, limit_bytes: 64 * MIB, excesses: 0 };
const cpu = { resource: 'cpu', unit: 'cores', used: 0.25, total: 1 };
const figures = {
  window_ms: 2000,
  emulated: false,
  latency_us: null,
  throughput: null,
  workload: null,
  resources: [cpu],
  not_measured: {},
};

async function show(answer: object) {
  vi.mocked(call).mockImplementation((async () => answer) as unknown as typeof call);
  sessionStore.setState({ session: { role: 'operator', token: 't', name: 'ann', expires_ms: 9e15 } as Session });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <InstanceFigures id="web.tap.0" />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return (await screen.findByText('Used of disk')).parentElement!.parentElement!.textContent;
}

it('tells what a program has on disk beside its other resources', async () => {
  expect(await show({ figures, state: { disk } })).toMatch(
    /Used of CPU.*Used of disk12\.6 MB of 67\.1 MB.*Measured over/,
  );
});

it('tells it of an NF without other figures, too', async () => {
  expect(await show({ figures: null, state: { disk } })).toContain('12.6 MB');
  expect(screen.getByText('Its agent reports no figures.')).toBeTruthy();
});

it('says that it is not known, and why, where the agent cannot read all', () => {
  const unread = "EACCES: permission denied, scandir '/run/x'";
  expect(diskFacts({ ...disk, used_bytes: null, unread })).toEqual([
    ['Used of disk', `not known, its limit is 67.1 MB; not all could be read: ${unread}`],
  ]);
  expect(diskFacts({ ...disk, used_bytes: null })[0]![1]).toBe('not known, its limit is 67.1 MB');
});

it('counts how often the limit was reached', () => {
  expect(diskFacts({ ...disk, excesses: 1 })[1]).toEqual([
    'Disk limit reached',
    'once; it began anew with an empty folder',
  ]);
  expect(diskFacts({ ...disk, excesses: 3 })[1]![1]).toMatch(/^3 times/);
});

it.each([null, 'x', {}, { disk: null }, { disk: { used_bytes: 3 } }])('finds no disk in the state %j', (state) => {
  expect(diskIn(state)).toBeNull();
});

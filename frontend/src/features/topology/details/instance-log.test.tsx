import { MantineProvider } from '@mantine/core';
import type { Session, InstanceLog as Told } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { sessionStore } from '../../../shared/api/session.js';
import { continued, InstanceLog } from './instance-log.js';

vi.mock('../../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../../shared/api/client.js')>()),
  call: vi.fn(),
}));
const { call } = await import('../../../shared/api/client.js');

const line = (text: string) => ({ t_ms: null, text });

function show(role: Session['role']) {
  sessionStore.setState({ session: { role, token: 't', name: 'ann', expires_ms: 9e15 } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <InstanceLog id="c.nf.0" />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

it('asks for the log when it is opened, and then only for what follows', async () => {
  const answers: Told[] = [
    { lines: [line('first')], next: '1.000000000', missed: false },
    { lines: [line('second')], next: '2.000000000', missed: false },
    { lines: [], next: '2.000000000', missed: false },
  ];
  vi.mocked(call).mockImplementation(
    (async () => answers.shift() ?? { lines: [], next: null, missed: false }) as never,
  );
  show('operator');
  expect(call).not.toHaveBeenCalled();
  act(() => {
    document.querySelector('details')!.open = true;
  });
  expect(await screen.findByText(/first\s+second/)).toBeTruthy();
  const afters = vi.mocked(call).mock.calls.map(([, asked]) => (asked as { query: { after?: string } }).query.after);
  expect(afters.slice(0, 2)).toEqual([undefined, '1.000000000']);
});

it('is not for viewers', () => {
  show('viewer');
  expect(document.querySelector('details')).toBeNull();
});

it('keeps a bounded number of lines, and says when some are missing', () => {
  const before: Told = { lines: Array.from({ length: 499 }, (_, i) => line(`${i}`)), next: '1.0', missed: false };
  const both = continued(before, { lines: [line('a'), line('b')], next: '2.0', missed: false });
  expect([both.lines.length, both.lines[0]!.text, both.lines.at(-1)!.text, both.missed]).toEqual([500, '1', 'b', true]);
  const cut = continued(before, { lines: [line('z')], next: '2.0', missed: true });
  expect([cut.lines.length, cut.missed]).toEqual([1, true]);
  expect(continued(before, { lines: [], next: null, missed: false }).next).toBe('1.0');
});

import { MantineProvider } from '@mantine/core';
import type { CataloguedNf, LearnAnswer } from '@orrery/contract';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { LearnActions } from './learn-actions.js';

const COST = { cycles_per_packet: 1000, cycles_per_byte: 0, base_latency_us: 5, memory_bytes: 1 };
const MEASURED: LearnAnswer['measured'] = {
  driver: 'engine',
  factor: 2.5,
  spread: 0.04,
  samples: 240,
  packet_bytes: 800,
  servers: ['server-1'],
  origin: 'twin',
  declared: COST,
  cost: { ...COST, cycles_per_packet: 2500 },
};
const NF = {
  id: 'fw',
  title: 'Firewall',
  implementations: [{ driver: 'engine', cost: COST }],
} as unknown as CataloguedNf;

let answer: LearnAnswer;
vi.mock('../../shared/api/client.js', async (original) => ({
  ...(await original<typeof import('../../shared/api/client.js')>()),
  call: vi.fn(async () => answer),
}));
const { call } = await import('../../shared/api/client.js');
afterEach(() => vi.mocked(call).mockClear());

function show(descriptor: CataloguedNf): void {
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <LearnActions descriptor={descriptor} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

it('shows what is measured beside what is declared, with its source, before it is used', async () => {
  answer = { measured: MEASURED, refusal: null, learnt: false };
  show(NF);
  expect(screen.queryByText('Drop what was learnt')).toBeNull();
  fireEvent.click(screen.getByText('Learn from measurements…'));
  const row = (await screen.findByText('Cycles per packet')).closest('tr')!;
  expect(row.textContent).toMatch(/1.?000.*2.?500/);
  expect(screen.getByText(/2\.50 times the declared cycles.*240 samples.*server-1 \(emulated/)).toBeTruthy();
  fireEvent.click(screen.getByText('Use what is measured'));
  await waitFor(() =>
    expect(call).toHaveBeenCalledWith('learnNfDescriptor', {
      params: { id: 'fw' },
      body: { driver: 'engine', dry_run: false },
    }),
  );
});

it('says why too little is measured, and drops what was learnt', async () => {
  answer = { measured: { ...MEASURED!, samples: 3 }, refusal: 'Only 3 samples were measured.', learnt: false };
  show({ ...NF, learnt: [{ ...MEASURED!, by: 'ann', learnt_ms: 1 }] });
  fireEvent.click(screen.getByText('Learn from measurements…'));
  expect(await screen.findByText(/Not learnt: Only 3 samples/)).toBeTruthy();
  expect(screen.getByText('Use what is measured').closest('button')!.disabled).toBe(true);
  expect(screen.getByText('Drop what was learnt')).toBeTruthy();
});

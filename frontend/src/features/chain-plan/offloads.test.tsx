import { MantineProvider } from '@mantine/core';
import type { Plan } from '@orrery/contract';
import { render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { expect, it } from 'vitest';
import { Offloads } from './offloads.js';

const reason = (subject: string, decision: string, because: string) => ({
  part: 'offload',
  subject,
  decision,
  because,
  candidates: [],
  constraint: null,
});
const chains = [{ chain_id: 'ch-1', version: 1, definition: { name: 'web' }, offload: 'where-possible' }];
const proposal = { instance_id: 'web.fw.0', switch: 'leaf-1', entries: 3, frees_core_share: 0.1, saves_bps: 1e6 };
const show = (plan: object) =>
  render(
    <MantineProvider>
      <MemoryRouter>
        <Offloads plan={{ reasons: [], offloads: [], ...plan } as unknown as Plan} />
      </MemoryRouter>
    </MantineProvider>,
  );

it('says what runs on a switch, what does not, and why', () => {
  show({
    chains,
    on_switches: [
      { id: 'web.fw.leaf-1', node_id: 'fw', switch: 'leaf-1', entries: 3, frees_core_share: 0, saves_bps: 1 },
    ],
    reasons: [
      reason('web.fw', 'runs on leaf-1', 'Its packets enter there.'),
      reason('web.mon', 'stays on servers', 'It is the last NF of its chain.'),
    ],
  });
  expect(screen.getByRole('table', { name: 'NFs that switches run' }).textContent).toContain('leaf-1');
  expect(screen.getByText(/runs on leaf-1/)).toBeTruthy();
  expect(screen.getByText(/It is the last NF of its chain/)).toBeTruthy();
  expect(screen.queryByText('proposal')).toBeNull();
});

it('only proposes for chains that are not asked to use switches', () => {
  show({ chains: [{ ...chains[0], offload: undefined }], offloads: [proposal] });
  expect(screen.getByText('proposal')).toBeTruthy();
  expect(screen.queryByText('On switches')).toBeNull();
});

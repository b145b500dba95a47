import type { ArgumentsHost } from '@nestjs/common';
import { expect, it, vi } from 'vitest';
import { LostReply } from '../ports/node-fleet.js';
import { ProblemFilter } from './problem.filter.js';

it('answers 502 where the reply of an agent was lost', () => {
  const sent: Record<string, unknown> = {};
  const reply = {
    raw: {},
    status: (status: number) => Object.assign(reply, { told: status }),
    headers: () => reply,
    header: () => reply,
    send: (text: string) => Object.assign(sent, JSON.parse(text)),
  };
  const request = { id: 'r1', url: '/api/v1/nf-instances', method: 'POST', headers: {}, raw: { complete: true } };
  const host = { switchToHttp: () => ({ getRequest: () => request, getResponse: () => reply }) };
  const log = { warn: vi.fn(), error: vi.fn() } as unknown as ConstructorParameters<typeof ProblemFilter>[0];
  const filter = new ProblemFilter(log, { whyAway: () => '' }, () => false);
  filter.catch(new LostReply('s1', 'no answer in time'), host as unknown as ArgumentsHost);
  expect(sent).toMatchObject({ status: 502, title: 'Upstream failed', detail: 's1: no answer in time' });
});

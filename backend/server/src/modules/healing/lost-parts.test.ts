import type { Health } from '@orrery/contract';
import { expect, it } from 'vitest';
import { LostParts } from './lost-parts.js';

/** What health tells of parts as they are. */
function told({ out = [], boards = [], switches = [] }: Record<string, readonly unknown[]>, isTwinOn = true) {
  let probe: () => Health['parts'] = () => [];
  const lost = new LostParts(
    { out: () => out } as never,
    { lost: () => boards } as never,
    { lostSwitches: new Set(switches) } as never,
    { enabled: isTwinOn, builtRevision: isTwinOn ? 1 : null },
    { current: { revision: 1 } } as never,
    {
      onHealth: (registered) => {
        probe = registered as typeof probe;
      },
    },
  );
  lost.onModuleInit();
  return probe();
}

it('tells which servers, boards and switches are lost, and of none of them nothing', () => {
  const maintenance = { reason: 'new memory', by: 'ann', since_ms: 1, force: false };
  const out = [
    { id: 'server-1', kind: 'server', lost: { why: 'its engine is failed', since_ms: 1 }, maintenance: null },
    { id: 'server-2', kind: 'server', lost: null, maintenance },
  ];
  const boards = [
    { id: 'board-1', state: 'absent', detail: 'server-3 does not drive it' },
    { id: 'board-4', state: 'failed', detail: null },
  ];
  expect(told({ out, boards, switches: ['leaf-2'] })).toEqual([
    { name: 'servers', status: 'degraded', detail: 'server-1 is lost: its engine is failed' },
    {
      name: 'boards',
      status: 'degraded',
      detail: 'board-1 is lost: server-3 does not drive it; board-4 is lost: it is failed',
    },
    { name: 'switches', status: 'degraded', detail: 'leaf-2 is lost: it does not answer and passes no packets' },
  ]);
  expect(told({}).map(({ status }) => status)).toEqual(['ok', 'ok', 'ok']);
});

it('tells of no lost server of the twin while that is off: nobody can judge whether it is back', () => {
  const lost = { why: 'its engine is failed', since_ms: 1 };
  const serverOf = (origin: string) => ({ id: origin, kind: 'server', origin, lost, maintenance: null });
  const [servers] = told({ out: ['twin', 'live'].map(serverOf) }, false);
  expect(servers).toEqual({ name: 'servers', status: 'degraded', detail: 'live is lost: its engine is failed' });
});

import { type EventDraft, EventType, severityOf } from '@orrery/contract';
import { expect, it } from 'vitest';
import { Metrics } from '../../platform/metrics.js';
import { entryOf, mayBeMarked, readEvents, type StoredEntry } from './event-codec.js';

const draft: EventDraft = {
  type: 'board.state',
  subject: 'board-1',
  message: 'board-1 failed',
  data: { board: 'board-1', state: 'failed', detail: null, first: false },
};
const stored = (id: string, body: string): StoredEntry => [id, ['e', body, 'n', 'nonce']];
const skipped = async (metrics: Metrics) => (await metrics.eventsUnreadable.get()).values[0]?.value ?? 0;

it('reads what it wrote, with the severity that the type derives from the data', () => {
  const [event] = readEvents([stored('1-0', entryOf(draft).body)], new Metrics());
  expect(event).toMatchObject({ ...draft, id: '1-0', severity: 'error', actor: 'server' });
  expect(severityOf('board.state', { ...draft.data, state: 'operating' })).toBe('info');
});

it('skips and counts entries of another version, and reads the entries around them', async () => {
  const { body } = entryOf(draft);
  const foreign = [
    body.replace('board.state', 'pipeline.created'),
    body.replace('"failed"', '"melting"'),
    body.replace('"data":', '"details":'),
    '{"type":"board.state"',
    'null',
    '',
  ];
  const metrics = new Metrics();
  const entries = [body, ...foreign, body].map((each, n) => stored(`${n}-0`, each));
  expect(readEvents(entries, metrics).map(({ id }) => id)).toEqual(['0-0', '7-0']);
  expect(readEvents([['9-0', []]], metrics)).toEqual([]);
  expect(await skipped(metrics)).toBe(foreign.length + 1);
});

it('drops undeclared fields', () => {
  const body = entryOf(draft).body.replace('"first"', '"new":1,"first"');
  expect(readEvents([stored('1-0', body)], new Metrics())[0]?.data).toEqual(draft.data);
});

it('has a kind and a name in every type', () => {
  for (const type of EventType.options) expect(type).toMatch(/^[a-z][a-z0-9-]*\.[a-z-]+$/);
});

it('tells without reading an entry that charts do not mark it', () => {
  const marked = (change: (body: string) => string) => mayBeMarked(stored('1-0', change(entryOf(draft).body)));
  expect(marked((body) => body)).toBe(true);
  expect(marked((body) => body.replace('"error"', '"info"'))).toBe(false);
  expect(marked((body) => body.replace('"error"', '"info"').replace('board.state', 'operation.completed'))).toBe(true);
  for (const foreign of ['{"type":"pipeline.created"}', 'null', '{']) expect(marked(() => foreign)).toBe(true);
});

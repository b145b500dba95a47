import { describe, expect, it } from 'vitest';
import type { AgentEvent } from './agent-event.js';
import { EventOutbox } from './event-outbox.js';

const event = (n: number): AgentEvent => ({
  event: 'a.b',
  subject: 's',
  message: String(n),
  t_ms: n,
  data: {},
});

function drain(outbox: EventOutbox, room = Number.POSITIVE_INFINITY): AgentEvent[] {
  const sent: AgentEvent[] = [];
  outbox.drain('n1', 99, (one) => sent.length < room && sent.push(one) > 0);
  return sent;
}

describe('EventOutbox', () => {
  it('hands out events in order, once', () => {
    const outbox = new EventOutbox();
    for (const n of [1, 2, 3]) outbox.add(event(n));
    expect(drain(outbox).map(({ message }) => message)).toEqual(['1', '2', '3']);
    expect(drain(outbox)).toEqual([]);
  });

  it('drops the oldest when full and reports how many', () => {
    const outbox = new EventOutbox(2);
    for (const n of [1, 2, 3, 4]) outbox.add(event(n));
    const sent = drain(outbox);
    expect(sent.map(({ event: type, data, message }) => [type, data.dropped ?? message])).toEqual([
      ['agent.events-dropped', 2],
      ['a.b', '3'],
      ['a.b', '4'],
    ]);
  });

  it('keeps what was not sent', () => {
    const outbox = new EventOutbox();
    for (const n of [1, 2, 3]) outbox.add(event(n));
    expect(drain(outbox, 1).length).toBe(1);
    expect(drain(outbox).map(({ message }) => message)).toEqual(['2', '3']);
  });
});

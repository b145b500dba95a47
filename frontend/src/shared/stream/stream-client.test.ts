import type { Event, StreamServerMessage } from '@orrery/contract';
import { beforeEach, describe, expect, it } from 'vitest';
import { CONNECT_LIMIT_MS, retryDelayMs, SILENCE_LIMIT_MS, type Socket, StreamClient } from './stream-client.js';

class FakeSocket implements Socket {
  readonly sent: Record<string, unknown>[] = [];
  closed = false;
  onopen: (() => void) | null = null;
  onclose: (() => void) | null = null;
  onmessage: ((message: { data: unknown }) => void) | null = null;
  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }
  close(): void {
    this.closed = true;
  }
  receive(message: StreamServerMessage): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

const event = (id: string): Event => ({
  id,
  t_ms: 0,
  project: 'default',
  type: 'node.connected',
  severity: 'info',
  subject: 'server-1',
  message: '',
  actor: 'system',
  data: { origin: 'twin' },
});

describe('StreamClient', () => {
  let sockets: FakeSocket[];
  let timers: { ms: number; run: () => void }[];
  let events: string[];
  let resets: number;
  let refusals: string[];
  let client: StreamClient;

  beforeEach(() => {
    sockets = [];
    timers = [];
    events = [];
    resets = 0;
    refusals = [];
    client = new StreamClient(
      {
        open: () => {
          const socket = new FakeSocket();
          sockets.push(socket);
          return socket;
        },
        now: () => 1000,
        random: () => 0.5,
        after: (ms, run) => {
          const timer = { ms, run };
          timers.push(timer);
          return () => {
            timers = timers.filter((one) => one !== timer);
          };
        },
      },
      {
        status: () => {},
        event: ({ id }) => events.push(id),
        samples: () => {},
        reset: () => {
          resets++;
        },
        refused: (detail) => refusals.push(detail),
      },
    );
  });

  const last = () => sockets.at(-1)!;
  const connect = (at = '5-0') => {
    last().onopen?.();
    last().receive({ type: 'ready', at, server_version: '0.1.0' });
  };
  const cut = () => {
    last().onclose?.();
    expire();
  };
  /** Lets the only running timer end. */
  const expire = () => {
    expect(timers).toHaveLength(1);
    timers.shift()!.run();
  };

  it('authenticates without a place in the log at first, and resumes behind the last event after a cut', () => {
    client.start('secret');
    connect('5-0');
    expect(last().sent[0]).toEqual({ type: 'authenticate', token: 'secret' });
    last().receive({ type: 'event', event: event('6-0') });
    last().receive({ type: 'event', event: event('6-1') });
    cut();
    last().onopen?.();
    expect(last().sent[0]).toEqual({ type: 'authenticate', token: 'secret', after: '6-1' });
  });

  it('resumes from where it was ready when no event had come', () => {
    client.start('secret');
    connect('5-0');
    cut();
    last().onopen?.();
    expect(last().sent[0]).toMatchObject({ after: '5-0' });
  });

  it('does not lose the place when the next connection dies before it is ready', () => {
    client.start('secret');
    connect('5-0');
    last().receive({ type: 'event', event: event('7-0') });
    cut();
    cut();
    last().onopen?.();
    expect(last().sent[0]).toMatchObject({ after: '7-0' });
  });

  it('hands on no event twice and none out of order, and counts what was repeated', () => {
    client.start('secret');
    connect('5-0');
    for (const id of ['6-0', '6-0', '9-0', '10-0', '9-5', '10-0', '10-1'])
      last().receive({ type: 'event', event: event(id) });
    cut();
    connect('10-1');
    for (const id of ['10-0', '10-1', '11-0']) last().receive({ type: 'event', event: event(id) });
    expect(events).toEqual(['6-0', '9-0', '10-0', '10-1', '11-0']);
    expect(client.status.duplicates).toBe(5);
  });

  it('subscribes anew after each connection, to what is wanted by then', () => {
    client.subscribe(['node/']);
    client.start('secret');
    expect(last().sent).toEqual([]);
    connect();
    expect(last().sent.at(-1)).toEqual({ type: 'subscribe', samples: ['node/'] });
    client.subscribe(['link/']);
    expect(last().sent.at(-1)).toEqual({ type: 'subscribe', samples: ['link/'] });
    cut();
    connect();
    expect(last().sent.at(-1)).toEqual({ type: 'subscribe', samples: ['link/'] });
  });

  it('goes on behind the snapshot after a reset', () => {
    client.start('secret');
    connect('5-0');
    last().receive({ type: 'reset', snapshot_at: '90-0' });
    expect(resets).toBe(1);
    last().receive({ type: 'event', event: event('80-0') });
    last().receive({ type: 'event', event: event('91-0') });
    expect(events).toEqual(['91-0']);
  });

  it('waits longer after each failure, up to a bound, and starts over once connected', () => {
    client.start('secret');
    const waits: number[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      last().onclose?.();
      waits.push(timers[0]!.ms);
      timers.shift()!.run();
    }
    expect(waits).toEqual([...waits].sort((a, b) => a - b));
    expect(waits[0]).toBeLessThan(1000);
    expect(waits.at(-1)).toBeLessThanOrEqual(8000);
    connect();
    last().onclose?.();
    expect(timers[0]!.ms).toBe(waits[0]);
  });

  it('ends without another attempt when the token is refused', () => {
    client.start('old');
    last().onopen?.();
    last().receive({ type: 'refused', detail: 'the token is not valid' });
    expect(client.status.state).toBe('refused');
    expect(refusals).toEqual(['the token is not valid']);
    expect(last().closed).toBe(true);
    expect(timers).toEqual([]);
    client.start('new');
    expect(sockets).toHaveLength(2);
  });

  it('hears nothing from a socket that it has left', () => {
    client.start('secret');
    const first = last();
    connect('5-0');
    client.stop();
    first.receive({ type: 'event', event: event('6-0') });
    expect(events).toEqual([]);
    expect(client.lastEventId).toBeNull();
  });

  it('tries at once when asked', () => {
    client.start('secret');
    last().onclose?.();
    client.retryNow();
    expect(sockets).toHaveLength(2);
    expect(timers.map(({ ms }) => ms)).toEqual([CONNECT_LIMIT_MS]);
  });

  it('takes a connection for lost on which nothing arrives, and resumes on the next', () => {
    client.start('secret');
    connect('5-0');
    last().receive({ type: 'event', event: event('6-0') });
    for (let n = 0; n < 3; n++) {
      last().receive({ type: 'alive' });
      expect(timers.map(({ ms }) => ms)).toEqual([SILENCE_LIMIT_MS]);
      expect(client.status.state).toBe('connected');
    }
    const silent = last();
    expire();
    expect(client.status).toMatchObject({ state: 'reconnecting', detail: 'The server was silent for 2.5 s.' });
    expect(silent.closed).toBe(true);
    expire();
    expect(last()).not.toBe(silent);
    connect();
    expect(last().sent[0]).toMatchObject({ after: '6-0' });
    expect(client.status).toMatchObject({ state: 'connected', detail: null });
  });

  it('takes a connection for lost that never opens, or opens and is never ready', () => {
    client.start('secret');
    expire();
    expect(client.status.state).toBe('reconnecting');
    expire();
    last().onopen?.();
    expire();
    expect(client.status).toMatchObject({ state: 'reconnecting', attempt: 2 });
  });

  it('replaces a connection that may be dead, but does not wait for less when it is away already', () => {
    client.start('secret');
    connect('5-0');
    client.renew();
    expect(sockets).toHaveLength(2);
    expect(sockets[0]!.closed).toBe(true);
    last().onclose?.();
    client.renew();
    expect(sockets).toHaveLength(2);
  });
});

describe('retryDelayMs', () => {
  it('is spread over the upper half of the ceiling', () => {
    expect(retryDelayMs(3, 0)).toBe(1000);
    expect(retryDelayMs(3, 1)).toBe(2000);
  });
});

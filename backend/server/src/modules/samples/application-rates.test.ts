import type { ObservedApplication } from '@orrery/contract';
import { describe, expect, it } from 'vitest';
import { ApplicationRates } from './application-rates.js';

const application = (
  metrics: Record<string, number>,
  more: Partial<ObservedApplication> = {},
): ObservedApplication => ({
  id: 'probe',
  revision: 1,
  state: 'running',
  since_ms: 0,
  detail: null,
  restarts: 0,
  pid: 1,
  metrics,
  ...more,
});

describe('ApplicationRates', () => {
  const take = (rates: ApplicationRates, t: number, ...all: ObservedApplication[]) =>
    Object.fromEntries(rates.take(all, t));

  it('turns counts into rates from the second report on, and passes other figures through', () => {
    const rates = new ApplicationRates();
    const first = { sent: 100, bits_per_second: 8000, latency_p99_us: 250 };
    expect(take(rates, 0, application(first))).toEqual({
      'application/probe/bps': 8000,
      'application/probe/latency_p99_us': 250,
    });
    expect(take(rates, 500, application({ ...first, sent: 150 }))).toMatchObject({
      'application/probe/sent_per_s': 100,
    });
  });

  it('counts nothing twice when another application reports, and reports zero when nothing moves', () => {
    const rates = new ApplicationRates();
    take(rates, 0, application({ sent: 100 }));
    expect(take(rates, 100, application({ sent: 100 }), application({ sent: 5 }, { id: 'other' }))).toEqual({});
    expect(take(rates, 1000, application({ sent: 200 }))).toEqual({ 'application/probe/sent_per_s': 100 });
    expect(take(rates, 1900, application({ sent: 200 }))).toEqual({});
    expect(take(rates, 3000, application({ sent: 200 }))).toEqual({ 'application/probe/sent_per_s': 0 });
  });

  it('starts from zero with each run, and after a restart of the program', () => {
    const rates = new ApplicationRates();
    take(rates, 0, application({ sent: 1000 }));
    expect(take(rates, 1000, application({ sent: 40 }, { restarts: 1 }))).toEqual({});
    expect(take(rates, 1500, application({ sent: 60 }, { restarts: 1 }))).toEqual({
      'application/probe/sent_per_s': 40,
    });
    expect(take(rates, 2000, application({ sent: 90 }, { revision: 2 }))).toEqual({});
    expect(take(rates, 3000, application({ sent: 99 }, { revision: 2 }))).toEqual({
      'application/probe/sent_per_s': 9,
    });
  });

  it('passes on how many connections are open, and never tells a rate below zero', () => {
    const rates = new ApplicationRates();
    expect(take(rates, 0, application({ connections: 9, lost: 5 }))).toEqual({ 'application/probe/connections': 9 });
    expect(take(rates, 1000, application({ connections: 7, lost: 3 }))).toEqual({
      'application/probe/connections': 7,
      'application/probe/lost_per_s': 0,
    });
  });

  it('leaves out what the contract does not name', () => {
    const rates = new ApplicationRates();
    const figures = { toString: 1, smell: 2, bits_per_second: 3 };
    expect(take(rates, 0, application(figures))).toEqual({ 'application/probe/bps': 3 });
  });

  it('reports nothing for applications that do not run', () => {
    const rates = new ApplicationRates();
    expect(take(rates, 0, application({ bits_per_second: 5 }, { state: 'failed' }))).toEqual({});
  });
});

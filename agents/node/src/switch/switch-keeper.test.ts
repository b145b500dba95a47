import { setTimeout as sleep } from 'node:timers/promises';
import type { ObservedPort, ObservedSwitch, SwitchSpec } from '@orrery/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SwitchDriver, SwitchReading } from '../drivers/switch-driver.js';
import { eventLog, until } from '../testing/scratch.js';
import { SwitchKeeper } from './switch-keeper.js';

const spec = (generation: number): SwitchSpec => ({
  generation,
  ports: [{ name: 'p1', role: 'host', neighbour: 'client-1' }],
  entries: [],
  groups: [],
});

/** A switch that holds what it was given, unless someone changes it. */
class FakeSwitch implements SwitchDriver {
  readonly applied: SwitchSpec[] = [];
  port: ObservedPort = { name: 'p1', number: 1, up: true };
  drift: string[] = [];
  trouble: string | null = null;
  keeping: Pick<SwitchReading, 'trouble' | 'unkept'> = {};
  /** Whether it stops to answer when it is to take in a new state. */
  freezesOnWrite = false;
  /** Deadlines of the probes that it missed. */
  readonly missed: number[] = [];
  /** Set while it does not answer; calls other than the probe then wait until it does. */
  hang: { readonly over: Promise<void>; readonly end: () => void } | null = null;
  probes = 0;

  freeze(): void {
    let end: () => void = () => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.hang = { over, end };
  }
  thaw(): void {
    this.hang?.end();
    this.hang = null;
  }
  async probe(deadlineMs: number) {
    this.probes++;
    const late = this.hang && (await Promise.race([this.hang.over.then(() => false), sleep(deadlineMs, true)]));
    if (!late) return;
    this.missed.push(deadlineMs);
    throw new Error(`does not answer within ${deadlineMs} ms`);
  }
  async describe() {
    return 'fake';
  }
  async ports() {
    await this.hang?.over;
    if (this.trouble !== null) throw new Error(this.trouble);
    return [this.port];
  }
  async apply(wanted: SwitchSpec) {
    if (this.freezesOnWrite) this.freeze();
    await this.hang?.over;
    this.applied.push(wanted);
    this.drift = [];
  }
  async read(): Promise<SwitchReading> {
    await this.hang?.over;
    const drifted_rules = this.drift.length > 0 ? ['classify/web.e1'] : [];
    return { entries: 0, counts: new Map(), drift: this.drift, drifted_rules, ...this.keeping };
  }
}

let driver: FakeSwitch;
let keeper: SwitchKeeper;
let events: ReturnType<typeof eventLog>;
let seen: ObservedSwitch[];
beforeEach(() => {
  driver = new FakeSwitch();
  events = eventLog();
  seen = [];
  keeper = keeperWith(1000);
  keeper.start();
});
afterEach(() => {
  driver.thaw();
  return keeper.stop();
});

function keeperWith(writingMs: number): SwitchKeeper {
  const listener = { observed: (it: ObservedSwitch) => seen.push(it), read: () => undefined };
  return new SwitchKeeper('sw', driver, events.emit, listener, { lookMs: 5, probeMs: 5, deadlineMs: 7, writingMs });
}

const reached = (generation: number) =>
  until(
    `generation ${generation}`,
    () => keeper.observed.generation === generation && keeper.observed.state === 'converged',
  );

describe('the keeper of a switch', () => {
  it('writes the desired state once, and again only when it changes', async () => {
    keeper.desire(spec(1));
    expect(keeper.observed.state).toBe('progressing');
    await reached(1);
    await until('some looks', () => seen.length > 1);
    keeper.desire(spec(2));
    await reached(2);
    expect(driver.applied.map(({ generation }) => generation)).toEqual([1, 2]);
  });

  it('restores what someone changed, and reports it', async () => {
    keeper.desire(spec(1));
    await reached(1);
    driver.drift = ['1 entries were deleted (rule)'];
    await until('the repair', () => keeper.observed.repairs === 1);
    expect(driver.applied).toHaveLength(2);
    expect(events.events[0]).toMatchObject({ event: 'switch.restored', subject: 'sw' });
    expect(events.events[0]!.message).toContain('1 entries were deleted (rule)');
    expect(keeper.observed.repaired_rules).toEqual(['classify/web.e1']);
  });

  it('reports what is wrong with the switch for as long as it lasts', async () => {
    driver.trouble = 'does not answer within 5 s';
    keeper.desire(spec(1));
    await until('the failure', () => keeper.observed.state === 'failed');
    expect(keeper.observed.error).toBe('does not answer within 5 s');
    driver.trouble = null;
    await reached(1);
    expect(events.names()).toEqual(['switch.failed', 'switch.recovered']);
  });

  it('reports that flows are not kept: as a failure while it lasts, and how many packets began such flows', async () => {
    keeper.desire(spec(1));
    await reached(1);
    driver.keeping = { trouble: 'another controller has it', unkept: { 'no room': 3 } };
    await until('the failure', () => keeper.observed.state === 'failed');
    expect(keeper.observed.error).toBe('another controller has it');
    driver.keeping = { unkept: { 'no room': 4 } };
    await reached(1);
    expect(events.names()).toEqual(['switch.flows-not-kept', 'switch.failed', 'switch.recovered']);
    expect(events.events[0]!.message).toContain('(3: no room)');
  });

  it('reports a switch that hangs while a command waits for it, and its recovery', async () => {
    keeper.desire(spec(1));
    await reached(1);
    driver.freeze();
    await until('the verdict', () => keeper.observed.state === 'failed');
    expect(keeper.observed.error).toBe('does not answer within 7 ms');
    const before = driver.probes;
    await until('more probes', () => driver.probes > before + 5);
    driver.thaw();
    await reached(1);
    expect(events.names()).toEqual(['switch.failed', 'switch.recovered']);
    expect(driver.applied).toHaveLength(1);
  });

  it('takes no late answer for a hang while it writes', async () => {
    await keeper.stop();
    keeper = keeperWith(60_000);
    keeper.start();
    keeper.desire(spec(1));
    await reached(1);
    driver.freezesOnWrite = true;
    keeper.desire(spec(2));
    await until('a missed probe', () => driver.missed.length > 0);
    driver.thaw();
    await reached(2);
    expect(driver.missed).toEqual([7]);
    expect(events.names()).toEqual([]);
  });

  it('reports a switch that hangs while it writes, before the write ends', async () => {
    await keeper.stop();
    keeper = keeperWith(20);
    keeper.start();
    keeper.desire(spec(1));
    await reached(1);
    driver.freezesOnWrite = true;
    keeper.desire(spec(2));
    await until('the verdict', () => keeper.observed.state === 'failed');
    expect(keeper.observed).toMatchObject({ generation: 1, error: 'does not answer within 13 ms' });
    driver.thaw();
    await reached(2);
    expect(events.names()).toEqual(['switch.failed', 'switch.recovered']);
  });

  it('writes again when a missing port appears', async () => {
    driver.port = { name: 'p1', number: null, up: false };
    keeper.desire(spec(1));
    await until('the failure', () => keeper.observed.error === 'the switch has no port p1');
    const before = driver.applied.length;
    driver.port = { name: 'p1', number: 4, up: true };
    await reached(1);
    expect(driver.applied).toHaveLength(before + 1);
  });

  it('reports links that go down and come up', async () => {
    keeper.desire(spec(1));
    await reached(1);
    driver.port = { ...driver.port, up: false };
    await until('the fall', () => events.names().includes('switch.port-down'));
    expect(seen.at(-1)!.ports).toEqual([{ name: 'p1', number: 1, up: false }]);
    driver.port = { ...driver.port, up: true };
    await until('the rise', () => events.names().includes('switch.port-up'));
  });
});

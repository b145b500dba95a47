import type { LinkSample, ObservedSwitch } from '@orrery/contract';
import { afterEach, expect, it, vi } from 'vitest';
import type { InfrastructureStore } from '../../ports/infrastructure-store.js';
import type { SwitchFleet } from '../../ports/switch-fleet.js';
import type { Telemetry } from '../../ports/telemetry.js';
import { LinksAround } from './links-around.js';

afterEach(() => vi.restoreAllMocks());

/** Two switches and the link between them. */
function site() {
  let nowMs = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const link = { id: 'l', a: { node: 's1', port: 'p' }, b: { node: 's2', port: 'p' } };
  const infrastructure = { switches: [{ id: 's1' }, { id: 's2' }], links: [link] };
  const seen = new Map<string, boolean>();
  let take: (links: LinkSample[]) => void = () => undefined;
  const told: (() => void)[] = [];
  const fleet = {
    isConnected: (id: string) => seen.has(id),
    observedSwitch: (id: string) =>
      ({ ports: [{ name: 'p', number: 1, up: seen.get(id) }] }) as unknown as ObservedSwitch,
    onChange: (listener: () => void) => told.push(listener),
  };
  const telemetry = {
    onSamples: (listener: (samples: [], links: LinkSample[]) => void) => {
      take = (links) => listener([], links);
    },
  };
  const around = new LinksAround(
    { current: { infrastructure } } as unknown as InfrastructureStore,
    fleet as unknown as SwitchFleet,
    telemetry as unknown as Telemetry,
  );
  around.onApplicationBootstrap();
  return {
    /** The twin tells each second whether the link is up; null: nothing. Whether packets go around it then. */
    after(seconds: number, up: boolean | null): boolean {
      for (let i = 0; i < seconds; i++) {
        nowMs += 1000;
        take(up === null ? [] : [{ link_id: 'l', up } as LinkSample]);
      }
      return around.avoided.has('l');
    },
    /** A switch tells; null: its agent is away. */
    tell(id: string, up: boolean | null): void {
      if (up === null) seen.delete(id);
      else seen.set(id, up);
      for (const listener of told) listener();
    },
  };
}

it('packets go around a link that was told to be down until it has been told to be up for 5 s, whoever falls silent', () => {
  const { after } = site();
  expect(after(1, true)).toBe(false);
  expect(after(1, false)).toBe(true);
  expect(after(60, null)).toBe(true);
  expect(after(5, true)).toBe(true);
  expect(after(1, true)).toBe(false);
});

it('silence ends the time for which a link has been up', () => {
  const { after } = site();
  after(1, false);
  expect(after(4, true)).toBe(true);
  expect(after(10, null)).toBe(true);
  expect(after(5, true)).toBe(true);
  expect(after(1, true)).toBe(false);
});

it('a switch that told of a link that is down has to tell that it is up, though the twin does', () => {
  const { after, tell } = site();
  after(1, true);
  tell('s2', false);
  tell('s2', null);
  expect(after(30, true)).toBe(true);
  tell('s2', true);
  expect(after(4, true)).toBe(true);
  expect(after(2, true)).toBe(false);
});

import { expect, it } from 'vitest';
import { ProgramUsage } from './program-usage.js';

const NS_PER_MS = 1e6;

function counting() {
  const world = { now_ms: 0, cpu_ms: 0, asked: 0, away: false };
  const docker = {
    usage: async () => {
      world.asked++;
      if (world.away) throw new Error('away');
      return { cpu_ns: world.cpu_ms * NS_PER_MS, memory_bytes: 0 };
    },
  };
  const usage = new ProgramUsage(docker, () => world.now_ms);
  const after = async (ms: number, cpu_ms: number) => {
    world.now_ms += ms;
    world.cpu_ms += cpu_ms;
    await usage.refresh(['c']);
    return usage.shareOf('c');
  };
  return { world, usage, after };
}

it('tells the share of a core between two readings, and asks Docker at most once a second', async () => {
  const { world, after } = counting();
  expect(await after(0, 500)).toBeNull();
  expect(await after(1000, 250)).toBeCloseTo(0.25);
  for (let i = 0; i < 4; i++) expect(await after(200, 0)).toBeCloseTo(0.25);
  expect(world.asked).toBe(2);
  expect(await after(200, 0)).toBe(0);
});

it('is 0 for a program that was started anew, and not known while Docker is away and of one that is forgotten', async () => {
  const { world, usage, after } = counting();
  await after(0, 500);
  await after(1000, 500);
  expect(await after(1000, -900)).toBe(0);
  expect(await after(1000, 300)).toBeCloseTo(0.3);
  world.away = true;
  expect(await after(1000, 300)).toBeNull();
  world.away = false;
  await after(1000, 0);
  await after(1000, 100);
  await usage.refresh([]);
  expect(usage.shareOf('c')).toBeNull();
});

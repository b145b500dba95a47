import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { Heartbeat } from './heartbeat.js';

const TIMING = { period_ms: 200, silent_ms: 1000, dead_ms: 5000 };

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A peer that answers, or refuses, or is silent until it answers all at once. */
function watched() {
  let nowMs = 0;
  const told: string[] = [];
  const waiting: (() => void)[] = [];
  const peer = { mode: 'answers' as 'answers' | 'silent' | 'refuses', asked: 0 };
  const beat = async () => {
    peer.asked++;
    if (peer.mode === 'refuses') throw new Error('refused');
    if (peer.mode === 'silent') await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const listener = {
    silent: () => told.push(`silent at ${nowMs}`),
    back: (ms: number) => told.push(`back after ${ms}`),
    dead: () => told.push(`dead at ${nowMs}`),
  };
  const heartbeat = new Heartbeat(beat, listener, TIMING, () => nowMs);
  onTestFinished(() => heartbeat.stop());
  /** Time passes while this process runs. */
  const pass = async (ms: number) => {
    for (const end = nowMs + ms; nowMs < end; ) {
      nowMs += TIMING.period_ms;
      await vi.advanceTimersByTimeAsync(TIMING.period_ms);
    }
  };
  /** This process is stopped: when it continues, one timer runs before anything is read. */
  const stall = async (ms: number) => {
    nowMs += ms;
    await vi.advanceTimersByTimeAsync(TIMING.period_ms);
  };
  const answer = async () => {
    peer.mode = 'answers';
    for (const resolve of waiting.splice(0)) resolve();
    await vi.advanceTimersByTimeAsync(0);
  };
  return { told, peer, heartbeat, pass, stall, answer };
}

it('tells nothing about a peer that answers', async () => {
  const { told, pass } = watched();
  await pass(60_000);
  expect(told).toEqual([]);
});

it.each(['silent', 'refuses'] as const)('tells within a second that a peer is %s, and once', async (mode) => {
  const { told, peer, pass } = watched();
  await pass(10_000);
  peer.mode = mode;
  await pass(4000);
  expect(told).toEqual(['silent at 11000']);
});

it('tells that a peer answers again, and for how long it did not', async () => {
  const { told, peer, heartbeat, pass, answer } = watched();
  await pass(1000);
  peer.mode = 'silent';
  await pass(3000);
  expect(heartbeat.isSilent).toBe(true);
  await answer();
  expect(heartbeat.isSilent).toBe(false);
  expect(told).toEqual(['silent at 2000', 'back after 3000']);
});

it('gives a peer up after the longer limit, and then asks it no more', async () => {
  const { told, peer, pass, answer } = watched();
  await pass(1000);
  peer.mode = 'silent';
  await pass(6000);
  expect(told).toEqual(['silent at 2000', 'dead at 6000']);
  const { asked } = peer;
  await answer();
  await pass(5000);
  expect(peer.asked).toBe(asked);
  expect(told.length).toBe(2);
});

it('asks one question at a time', async () => {
  const { peer, pass } = watched();
  peer.mode = 'silent';
  await pass(4000);
  expect(peer.asked).toBe(1);
});

it.each([600, 4000, 3_600_000])('does not count %d ms in which this process did not run', async (ms) => {
  const { told, peer, pass, stall } = watched();
  await pass(1000);
  await stall(ms);
  await pass(2000);
  expect(told).toEqual([]);
  peer.mode = 'silent';
  await stall(ms);
  await pass(2000);
  expect(told.length).toBe(1);
});

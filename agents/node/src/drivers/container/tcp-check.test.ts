import { createServer } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { TcpCheck } from './tcp-check.js';

const health = {
  by: 'tcp' as const,
  ...{ port: 80, interval_s: 5, timeout_s: 3, failures: 2, start_s: 15, restart_after_s: 30 },
};

it('checks until the port works, then at its interval, and judges by failures in a row', async () => {
  let nowMs = 0;
  let works = false;
  let checks = 0;
  const probe = async () => {
    checks++;
    return works;
  };
  const check = new TcpCheck(1, health, probe, () => nowMs);
  const after = async (ms: number) => {
    nowMs += ms;
    return (await check.trouble()) === null;
  };
  expect([await after(0), await after(10), checks]).toEqual([false, false, 2]);
  works = true;
  expect([await after(10), await after(10), checks]).toEqual([true, true, 3]);
  works = false;
  expect([await after(5000), await after(10), checks]).toEqual([true, true, 4]);
  expect(await after(5000)).toBe(false);
  works = true;
  expect(await after(5000)).toBe(true);
});

it('keeps its verdict while a check takes long, and begins no other beside it', async () => {
  let checks = 0;
  let answer: (works: boolean) => void = () => undefined;
  const probe = () => {
    checks++;
    return checks === 1 ? Promise.resolve(true) : new Promise<boolean>((resolve) => (answer = resolve));
  };
  let nowMs = 0;
  const check = new TcpCheck(1, { ...health, failures: 1 }, probe, () => nowMs);
  expect(await check.trouble()).toBeNull();
  nowMs = 10_000;
  expect([await check.trouble(), await check.trouble(), checks]).toEqual([null, null, 2]);
  answer(false);
  expect(await check.trouble()).toContain('takes no connections');
});

it('connects to a port of a namespace', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((done) => server.once('listening', done));
  const { port } = server.address() as { port: number };
  const patient = { ...health, port, timeout_s: 60 };
  expect(await new TcpCheck(process.pid, patient).trouble()).toBeNull();
  server.close();
  await new Promise((done) => server.once('close', done));
  expect(await new TcpCheck(process.pid, patient).trouble()).toBe(`TCP port ${port} takes no connections`);
});

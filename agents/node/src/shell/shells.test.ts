import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { SHELL_OUTPUT_BYTES, SHELL_WINDOW_BYTES, SHELLS_OF_AGENT, type ShellOutput } from '@orrery/contract';
import { expect, it, onTestFinished } from 'vitest';
import { SessionGuard } from '../platform/session-guard.js';
import { until } from '../testing/scratch.js';
import { Shells } from './shells.js';

/** A program that writes and reads as told. */
class FakeProgram extends Duplex {
  readonly typed: string[] = [];
  readsInput = true;
  readonly sizes: object[] = [];
  ends = 0;

  override _read(): void {}

  override _write(chunk: Buffer, _: string, done: () => void): void {
    this.typed.push(chunk.toString());
    if (this.readsInput) done();
  }

  /** False: the reader has enough. */
  say(bytes: Buffer): boolean {
    return this.push(bytes);
  }

  readonly terminal = {
    stream: this as Duplex,
    resize: async (size: object) => void this.sizes.push(size),
    explain: async () => 'the shell ended with exit code 3',
    end: () => {
      this.ends++;
      this.destroy();
    },
  };
}

async function setUp(timing = { pace_ms: 1, idle_ms: 60_000 }) {
  const sent: ShellOutput[] = [];
  const shells = new Shells((_, message) => void sent.push(message), timing);
  const program = new FakeProgram();
  await shells.open('s', async () => program.terminal);
  onTestFinished(() => shells.endAll());
  const text = () =>
    sent.map((one) => (one.type === 'output' ? Buffer.from(one.base64, 'base64').toString('latin1') : '')).join('');
  return { sent, shells, program, text };
}

it('sends no more than the terminal takes, and loses nothing', async () => {
  const { sent, shells, program, text } = await setUp();
  const all = Buffer.alloc(5 * SHELL_WINDOW_BYTES, 'abcdefg');
  for (let at = 0; at < all.length; at += 10_000) program.say(all.subarray(at, at + 10_000));
  program.push(null);
  let taken = 0;
  while (taken < all.length) {
    const most = Math.min(all.length, taken + SHELL_WINDOW_BYTES);
    await until('the window is full', () => text().length === most);
    if (most < all.length) expect(sent.at(-1)!.type).toBe('output');
    shells.take('s', { type: 'taken', bytes: most - taken });
    taken = most;
  }
  await until('its end', () => sent.at(-1)!.type === 'ended');
  expect(text() === all.toString('latin1')).toBe(true);
  const sizes = sent.flatMap((one) => (one.type === 'output' ? [Buffer.byteLength(one.base64, 'base64')] : []));
  expect(Math.max(...sizes)).toBeLessThanOrEqual(SHELL_OUTPUT_BYTES);
  expect(sent.at(-1)).toEqual({ type: 'ended', detail: 'the shell ended with exit code 3' });
});

it('stops reading a program whose output nobody takes', async () => {
  const { program, text } = await setUp();
  program.say(Buffer.alloc(SHELL_WINDOW_BYTES + SHELL_OUTPUT_BYTES));
  await until('the window is full', () => text().length === SHELL_WINDOW_BYTES);
  await until('it is not read', () => program.isPaused());
});

it('gives up what is typed while the program reads nothing, and says how much', async () => {
  const { sent, shells, program } = await setUp();
  program.readsInput = false;
  for (let i = 0; i < 40; i++) shells.take('s', { type: 'input', text: 'x'.repeat(4000) });
  const lost = sent.reduce((sum, one) => sum + (one.type === 'untaken' ? one.chars : 0), 0);
  expect(lost).toBe(40 * 4000 - 16 * 4000);
  expect(program.writableLength).toBe(16 * 4000);
  shells.take('s', { type: 'resize', columns: 100, rows: 30 });
  expect(program.sizes).toEqual([{ type: 'resize', columns: 100, rows: 30 }]);
});

it('ends one into which nothing is typed, and all when the connection ends', async () => {
  const idle = await setUp({ pace_ms: 1, idle_ms: 30 });
  await until('it ends', () => idle.sent.length > 0);
  expect(idle.sent).toEqual([{ type: 'ended', detail: expect.stringContaining('nothing was typed') }]);
  expect(idle.program.ends).toBe(1);
  const other = await setUp();
  other.shells.endAll();
  expect(other.program.ends).toBe(1);
});

it('allows a bounded number, and ends one that was closed before it was open', async () => {
  const { shells } = await setUp();
  await expect(shells.open('s', async () => new FakeProgram().terminal)).rejects.toThrow('is open');
  for (let i = 1; i < SHELLS_OF_AGENT; i++) await shells.open(`s${i}`, async () => new FakeProgram().terminal);
  await expect(shells.open('more', async () => new FakeProgram().terminal)).rejects.toThrow(
    `${SHELLS_OF_AGENT} shells are open`,
  );
  shells.take('s', { type: 'close' });
  const late = new FakeProgram();
  let open = (_: FakeProgram['terminal']) => {};
  const opening = shells.open('late', () => new Promise((resolve) => (open = resolve)));
  shells.take('late', { type: 'close' });
  open(late.terminal);
  await opening;
  expect(late.ends).toBe(1);
  await expect(shells.open('bad', () => Promise.reject(new Error('no shell')))).rejects.toThrow('no shell');
  await shells.open('again', async () => new FakeProgram().terminal);
});

it('kills all processes of a session when its guard is let go, and no other', async () => {
  // `setsid --fork` leaves a leader with a child in the background; the bystander is of this session.
  const leader = spawn('setsid', ['sh', '-c', 'sleep 1000 & echo $!; exec sleep 1001'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const bystander = spawn('sleep', ['1000']);
  onTestFinished(() => void bystander.kill('SIGKILL'));
  const child = Number(
    await new Promise((resolve) => leader.stdout!.once('data', (data) => resolve(String(data).trim()))),
  );
  expect(existsSync(`/proc/${child}`)).toBe(true);
  const guard = new SessionGuard(leader.pid!);
  guard.end();
  await until('the leader is killed', () => leader.signalCode === 'SIGKILL');
  await until('its child is gone', () => !existsSync(`/proc/${child}`), 10_000);
  expect(existsSync(`/proc/${bystander.pid}`) && bystander.signalCode === null).toBe(true);
});

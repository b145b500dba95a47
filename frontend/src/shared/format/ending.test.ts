import { ENDING_EXAMPLES } from '@orrery/contract/ending-examples';
import { describe, expect, it } from 'vitest';
import { endingOf, reasonText } from './ending.js';

describe('endingOf', () => {
  it.each([
    [
      'the container ended: exit code 137',
      'The container ended: it was killed from outside, as by whoever stops or restarts it, or by the system (exit code 137, SIGKILL).',
      null,
    ],
    [
      'the container ended: exit code 1: 2026/11/27 FATAL: Bungled squid.conf line 3: x',
      'The container ended: its program reported an error (exit code 1).',
      '2026/11/27 FATAL: Bungled squid.conf line 3: x',
    ],
    [
      'the container ended: it took more than 512 MiB of memory: ',
      'The container ended: it took more than its limit of 512 MiB of memory.',
      null,
    ],
    [
      'the process ended: signal SIGSEGV',
      'The process ended: its program crashed: a bad memory access (SIGSEGV).',
      null,
    ],
    [
      '/usr/sbin/squid ended at once: the container ended: exit code 127: not found',
      'The container ended right after its start: its program was not found (exit code 127).',
      'not found',
    ],
    [
      'squid ended at once: exit code 0',
      'squid ended right after its start: its program ended by itself, without an error (exit code 0).',
      null,
    ],
  ])('tells %s in plain words, and the log apart', (told, text, log) => {
    expect(endingOf(told)).toEqual({ text, log });
  });

  it.each(ENDING_EXAMPLES)('understands "$told" of an agent', ({ told, text, log }) => {
    expect(endingOf(told)).toEqual({ text, log });
  });

  it('knows the signal of older agents', () => {
    expect(endingOf('squid ended at once: signal SIGXFSZ')?.text).toBe(
      'squid ended right after its start: a file of it grew to its limit (SIGXFSZ).',
    );
  });

  it.each(['it does not answer', 'its container is gone', 'exit code 1'])('leaves %s as it is', (told) => {
    expect(endingOf(told)).toBeNull();
  });
});

it('tells ends within the reason of a degraded chain', () => {
  expect(
    reasonText('web.proxy.0: the container ended: exit code 1: FATAL: x; leaf-1: its agent is not connected'),
  ).toBe(
    'web.proxy.0: the container ended: its program reported an error (exit code 1); leaf-1: its agent is not connected',
  );
});

it('makes no trouble of what a program wrote', () => {
  const told = 'web.proxy.0: the container ended: exit code 1: FATAL: a; b';
  const plain = 'web.proxy.0: the container ended: its program reported an error (exit code 1)';
  expect(reasonText(told)).toBe(`${plain}: FATAL: a; b`);
  expect(reasonText(`${told}; leaf-1: its agent is not connected`)).toBe(
    `${plain}: FATAL: a; b; leaf-1: its agent is not connected`,
  );
  expect(reasonText(`web.ids.0: starting; ${told}; ${told}`)).toBe(
    `web.ids.0: starting; ${plain}: FATAL: a; b; ${plain}: FATAL: a; b`,
  );
});

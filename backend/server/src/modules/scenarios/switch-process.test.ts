import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cpuMsOf, switchProcess } from './switch-process.js';

let root: string;
beforeEach(() => {
  root = mkdtempSync('/tmp/orrery-proc-');
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function start(pid: number, parent: number, name: string, pids = [pid]): void {
  const at = join(root, String(pid));
  mkdirSync(at);
  writeFileSync(join(at, 'status'), `Name:\t${name}\nPPid:\t${parent}\nNSpid:\t${pids.join('\t')}\n`);
  const rest = Array.from({ length: 40 }, (_, field) => (field === 9 ? 120 : field === 10 ? 30 : 0));
  writeFileSync(join(at, 'stat'), `${pid} (a b) c) S ${parent} ${rest.join(' ')}\n`);
}

it('finds the switch by its pid in the twin, and what it used', () => {
  start(10, 1, 'node');
  start(20, 10, 'python', [20, 1]);
  start(30, 20, 'ovs-vswitchd', [30, 38]);
  start(31, 20, 'ovsdb-server', [31, 37]);
  expect(switchProcess(38, root, 10)).toBe(30);
  expect(switchProcess(37, root, 10)).toBeNull();
  expect(switchProcess(30, root, 10)).toBeNull();
  expect(cpuMsOf(30, root)).toBe(1500);
});

it('takes that of its own twin where several have the pid, and none if no twin is its own', () => {
  start(10, 1, 'node');
  start(20, 10, 'python', [20, 1]);
  start(30, 20, 'orrery-p4-switc', [30, 38]);
  start(40, 1, 'python', [40, 1]);
  start(50, 40, 'orrery-p4-switc', [50, 38]);
  expect(switchProcess(38, root, 10)).toBe(30);
  expect(switchProcess(38, root, 99)).toBeNull();
});

it('has no time of a process that has ended', () => {
  expect(cpuMsOf(30, root)).toBeNull();
});

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { onInterrupt } from '../interrupt.mjs';
import { ROOT, VENV } from '../setup/paths.mjs';

const TOOL = [resolve(VENV, 'bin/python'), resolve(ROOT, 'twin/tools/p4runtime_rates.py')];
const BUILT_IN = resolve(ROOT, 'agents/build/p4/switch/orrery-p4-switch');

const COMMANDS = {
  p4: (directory, address) => [
    BUILT_IN,
    '--device-id',
    '1',
    '--p4runtime',
    address,
    '--control',
    `${directory}/control`,
  ],
  bmv2: (_directory, address) => [
    process.env.ORRERY_BMV2,
    ...['--no-p4', '--device-id', '1', '--log-level', 'off'],
    ...['--', '--grpc-server-addr', address],
  ],
};

/** Entries a second that a switch without ports takes and gives up by P4Runtime, as the tool prints them. */
export async function insertRates(driver) {
  const directory = mkdtempSync('/tmp/orrery-p4-');
  const address = `unix:${directory}/p4runtime`;
  // Thrift of simple_switch_grpc listens at every address of its namespace.
  const child = spawn('unshare', ['--net', ...COMMANDS[driver](directory, address)], { stdio: 'ignore' });
  const ended = once(child, 'close');
  const end = async () => {
    child.kill('SIGKILL');
    await ended;
    rmSync(directory, { recursive: true, force: true });
  };
  onInterrupt(end);
  try {
    return JSON.parse((await promisify(execFile)(TOOL[0], [TOOL[1], address])).stdout);
  } finally {
    await end();
  }
}

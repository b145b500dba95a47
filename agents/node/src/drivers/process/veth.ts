import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DriverError } from '../nf-driver.js';
import type { ProcessLinks, VethPair } from '../veth-names.js';

const run = promisify(execFile);

async function ip(...args: string[]): Promise<void> {
  try {
    await run('ip', args);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new DriverError(`ip ${args.join(' ')}: ${(stderr ?? String(error)).trim()}`);
  }
}

async function exists(iface: string): Promise<boolean> {
  return run('ip', ['link', 'show', 'dev', iface]).then(
    () => true,
    () => false,
  );
}

async function ensurePair({ engine, process }: VethPair): Promise<void> {
  if (!(await exists(engine))) await ip('link', 'add', engine, 'type', 'veth', 'peer', 'name', process);
  // No addresses of its own: whatever crosses the pair is the chain's.
  for (const end of [engine, process]) await ip('link', 'set', 'dev', end, 'addrgenmode', 'none', 'arp', 'off', 'up');
}

/** Both pairs exist and are up in the agent's network namespace. */
export async function ensureLinks({ near, far }: ProcessLinks): Promise<void> {
  await ensurePair(near);
  await ensurePair(far);
}

export async function removeLinks({ near, far }: ProcessLinks): Promise<void> {
  for (const { engine } of [near, far]) if (await exists(engine)) await ip('link', 'del', 'dev', engine);
}

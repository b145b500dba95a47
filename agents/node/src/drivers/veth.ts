import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { DriverError } from './nf-driver.js';
import type { VethLinks } from './veth-names.js';

const run = promisify(execFile);

/** No addresses: only traffic of the chain crosses a pair. */
const UP = ['mtu', '1500', 'addrgenmode', 'none', 'arp', 'off', 'up'];

async function must(command: string, ...args: string[]): Promise<void> {
  try {
    await run(command, args);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new DriverError(`${command} ${args.join(' ')}: ${(stderr ?? String(error)).trim()}`);
  }
}

async function exists(iface: string): Promise<boolean> {
  return run('ip', ['link', 'show', 'dev', iface]).then(
    () => true,
    () => false,
  );
}

const raise = (iface: string) => must('ip', 'link', 'set', 'dev', iface, ...UP);

export async function linksExist({ near, far }: VethLinks): Promise<boolean> {
  return (await exists(near.engine)) && (await exists(far.engine));
}

/** Whether the engine's ends lead to `near` and `far` in the network namespace of a process. */
export async function linksLeadInto(links: VethLinks, pid: number): Promise<boolean> {
  for (const side of ['near', 'far'] as const) {
    const outer = await described('ip', '-j', 'link', 'show', 'dev', links[side].engine);
    const inner = await described('nsenter', '-t', String(pid), '-n', 'ip', '-j', 'link', 'show', 'dev', side);
    if (!outer || !inner || outer.link_index !== inner.ifindex || inner.link_index !== outer.ifindex) return false;
  }
  return true;
}

/** What ip(8) says of one interface; `link_index` is that of its other end. Null: there is none. */
async function described(command: string, ...args: string[]): Promise<{ ifindex: number; link_index?: number } | null> {
  return run(command, args).then(
    ({ stdout }) => JSON.parse(stdout)[0] ?? null,
    () => null,
  );
}

/** Recreates both pairs, with the NF's ends as `near` and `far` in the network namespace of a process. */
export async function makeLinksInto(links: VethLinks, pid: number): Promise<void> {
  await makeClosedLinksInto(links, pid);
  await raiseLinksInto(links, pid);
}

/** As `makeLinksInto`, with the engine's ends down: no packets come yet. */
export async function makeClosedLinksInto(links: VethLinks, pid: number): Promise<void> {
  await removeLinks(links);
  for (const side of ['near', 'far'] as const) {
    await must('ip', 'link', 'add', links[side].engine, 'type', 'veth', 'peer', 'name', side, 'netns', String(pid));
    await raiseInside(side, pid);
  }
}

/** Sets the engine's ends down. */
export async function closeLinks({ near, far }: VethLinks): Promise<void> {
  for (const { engine } of [near, far])
    await must('ip', 'link', 'set', 'dev', engine, 'down').catch(ifStillThere(engine));
}

const raiseInside = (side: string, pid: number) =>
  must('nsenter', '-t', String(pid), '-n', 'ip', 'link', 'set', 'dev', side, ...UP);

/** Sets both existing pairs up. Rejects if an end is missing. */
export async function raiseLinksInto(links: VethLinks, pid: number): Promise<void> {
  for (const side of ['near', 'far'] as const) {
    await raiseInside(side, pid);
    await raise(links[side].engine);
  }
}

/** An end that disappeared with its network namespace in the meantime counts as removed. */
export async function removeLinks({ near, far }: VethLinks): Promise<void> {
  for (const { engine } of [near, far]) await must('ip', 'link', 'del', 'dev', engine).catch(ifStillThere(engine));
}

const ifStillThere = (iface: string) => async (error: unknown) => {
  if (await exists(iface)) throw error;
};

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { z } from 'zod';

const run = promisify(execFile);

/** A network interface as the kernel reports it. */
export interface Link {
  /** Set up by its administrator. */
  isUp: boolean;
  /** The other end is there and up. */
  hasCarrier: boolean;
  mac: string;
  mtu: number;
}
export type Links = ReadonlyMap<string, Link>;

const Listed = z.array(
  z.object({ ifname: z.string(), flags: z.array(z.string()), mtu: z.int(), address: z.string().default('') }),
);

/** Interfaces of the agent's own network namespace, by name. */
export async function readLinks(): Promise<Links> {
  const { stdout } = await run('ip', ['-json', 'link', 'show'], { maxBuffer: 16 * 1024 * 1024 });
  return new Map(
    Listed.parse(JSON.parse(stdout)).map(({ ifname, flags, mtu, address }) => [
      ifname,
      { isUp: flags.includes('UP'), hasCarrier: flags.includes('LOWER_UP'), mac: address, mtu },
    ]),
  );
}

/** Rejects with what `ip` says. */
export async function setLink(name: string, settings: { mac?: string; mtu?: number }): Promise<void> {
  const { mac, mtu } = settings;
  const address = mac === undefined ? [] : ['address', mac];
  const size = mtu === undefined ? [] : ['mtu', String(mtu)];
  try {
    await run('ip', ['link', 'set', 'dev', name, ...address, ...size, 'up']);
  } catch (error) {
    const { stderr } = error as { stderr?: string };
    throw new Error((stderr || String(error)).trim());
  }
}

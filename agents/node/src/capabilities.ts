import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, totalmem } from 'node:os';
import { promisify } from 'node:util';
import type { AgentCapabilities, BoardDescription, EngineDescription } from '@orrery/contract';

const run = promisify(execFile);

const UNKNOWN_MAC = '00:00:00:00:00:00';
const HUGEPAGES = '/sys/kernel/mm/hugepages';

/**
 * MAC of an interface in the agent's own network namespace; null if there is none of that name. Read from the kernel,
 * because /sys shows the namespace in which it was mounted.
 */
export async function interfaceMac(iface: string): Promise<string | null> {
  try {
    const { stdout } = await run('ip', ['-j', 'link', 'show', 'dev', iface]);
    return (JSON.parse(stdout) as { address?: string }[])[0]?.address ?? null;
  } catch {
    return null;
  }
}

function freeHugepagesBytes(): number {
  try {
    return readdirSync(HUGEPAGES).reduce((bytes, name) => {
      const pages = Number(readFileSync(`${HUGEPAGES}/${name}/free_hugepages`, 'utf8'));
      return bytes + pages * Number(/hugepages-(\d+)kB/.exec(name)?.[1] ?? 0) * 1024;
    }, 0);
  } catch {
    return 0;
  }
}

/** What this node can do. DPDK and its memory are known only while an engine runs. */
export async function probeCapabilities(
  iface: string,
  engine: EngineDescription | null,
  drivers: readonly { kind: string; nfs: readonly string[] }[],
  boards: BoardDescription[],
  containers: NonNullable<AgentCapabilities['containers']>,
): Promise<AgentCapabilities> {
  return {
    cores: availableParallelism(),
    memory_bytes: totalmem(),
    hugepages_bytes: freeHugepagesBytes(),
    dpdk: engine?.dpdk ?? null,
    engine_memory: engine?.memory ?? null,
    drivers: drivers.map(({ kind }) => kind),
    nfs: [...new Set(drivers.flatMap(({ nfs }) => nfs))],
    iface,
    iface_mac: (await interfaceMac(iface)) ?? UNKNOWN_MAC,
    boards,
    containers,
  };
}

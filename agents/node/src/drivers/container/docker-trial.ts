import { readFile } from 'node:fs/promises';
import { DriverError } from '../nf-driver.js';
import { holderConfig } from './container-config.js';
import type { Container, DockerClient } from './docker-client.js';

/** Runs a container for a moment. Rejects if it cannot start, or if the agent could not give it interfaces. */
export async function tryContainer(docker: DockerClient, image: string, node: string): Promise<void> {
  const name = `orrery-${node}-trial`;
  await docker.remove(name);
  // Without labels it belongs to no instance and is no stray.
  const id = await docker.create(name, { ...holderConfig({ image, node, instance_id: '' }), Labels: {} });
  try {
    await docker.start(id);
    const found = await docker.inspect(id);
    if (!found?.running) throw new DriverError('the test container exited at once');
    await ownPid(found);
  } finally {
    await docker.remove(id).catch(() => undefined);
  }
}

/**
 * The process of a container. It must be in the agent's own PID namespace: otherwise another process would get the
 * interfaces.
 */
export async function ownPid({ id, pid }: Container): Promise<number> {
  const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
  if (!cgroups.includes(id)) throw new DriverError('Docker runs in another PID namespace than the agent');
  return pid;
}

import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../platform/durable-file.js';
import type { InstanceRecord } from '../hosted-instance.js';
import { stemOf } from '../veth-names.js';

/** In the run directory; contains a folder for each instance. */
export const NFS_FOLDER = 'containers';

/** The files in its instance's folder that a container can see; the rest is for the agent alone. */
export const INSTANCE_FILE = 'instance.json';
export const CONTROL_FOLDER = 'ctl';
export const CONTROL_SOCKET = 'nf';

/** Path of an instance's control socket, the longest socket path of the agent. */
export const controlSocket = (folder: string, instanceId: string): string =>
  join(folder, stemOf(instanceId), CONTROL_FOLDER, CONTROL_SOCKET);

/**
 * Creates the files for a container: the configuration of its NF, and an empty folder in which only root can create the
 * socket.
 */
export function layOut(directory: string, { nf, config, metadata }: InstanceRecord): void {
  writeDurably(join(directory, INSTANCE_FILE), `${JSON.stringify({ nf, config, metadata })}\n`);
  const control = join(directory, CONTROL_FOLDER);
  rmSync(control, { recursive: true, force: true });
  mkdirSync(control, { mode: 0o700 });
}

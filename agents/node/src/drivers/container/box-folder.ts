import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeDurably } from '../../platform/durable-file.js';
import type { InstanceRecord } from '../hosted-instance.js';
import { stemOf } from '../veth-names.js';

/** In the run directory; holds a folder for each instance. */
export const BOX_FOLDER = 'box';

/** What a container is given of the folder of its instance; the rest is the agent's alone. */
export const INSTANCE_FILE = 'instance.json';
export const CONTROL_FOLDER = 'ctl';
export const CONTROL_SOCKET = 'nf';

/** Where the NF of an instance is spoken to, the longest path of a socket that the agent makes. */
export const controlSocket = (folder: string, instanceId: string): string =>
  join(folder, stemOf(instanceId), CONTROL_FOLDER, CONTROL_SOCKET);

/** Lays out what a container is given: what its NF runs, and an empty folder in which only root can make the socket. */
export function layOut(directory: string, { nf, config, metadata }: InstanceRecord): void {
  writeDurably(join(directory, INSTANCE_FILE), `${JSON.stringify({ nf, config, metadata })}\n`);
  const control = join(directory, CONTROL_FOLDER);
  rmSync(control, { recursive: true, force: true });
  mkdirSync(control, { mode: 0o700 });
}

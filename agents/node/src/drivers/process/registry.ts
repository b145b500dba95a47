import { readdirSync, readFileSync } from 'node:fs';
import { Name } from '@orrery/contract';
import { z } from 'zod';
import { PACKAGE_ROOT } from '../../package-root.js';
import { firstIssue } from '../../platform/first-issue.js';

/**
 * `process.json` in a folder of `process-nfs/`, beside the descriptor for the planner. In `command`, {dir}, {near},
 * {far} and {config} are replaced by paths and interfaces.
 */
const Launch = z.strictObject({ nf: Name, command: z.array(z.string().min(1)).min(1) });

export interface ProcessNf {
  nf: string;
  command: string[];
  directory: string;
}

const FOLDER = `${PACKAGE_ROOT}process-nfs`;

/** The process NFs installed with the agent. Throws if one is invalid: the installation is broken. */
export function loadProcessNfs(folder = FOLDER): ProcessNf[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const directory = `${folder}/${name}`;
      const parsed = Launch.safeParse(JSON.parse(readFileSync(`${directory}/process.json`, 'utf8')));
      if (!parsed.success) throw new Error(`${directory}/process.json: ${firstIssue(parsed.error)}`);
      return { ...parsed.data, directory };
    });
}

export function commandOf({ command, directory }: ProcessNf, near: string, far: string, config: string): string[] {
  const values: Record<string, string> = { dir: directory, near, far, config };
  return command.map((word) => word.replace(/\{(dir|near|far|config)\}/g, (_, name) => values[name]!));
}

import { readdirSync, readFileSync } from 'node:fs';
import { type LegacyProgram, NfDescriptor } from '@orrery/contract';
import { PACKAGE_ROOT } from '../../package-root.js';
import { firstIssue } from '../../platform/first-issue.js';

/** A legacy NF that came with the agent: a folder of `process-nfs/` with a descriptor that says what to run. */
export interface InstalledNf {
  nf: string;
  program: LegacyProgram;
  directory: string;
}

const FOLDER = `${PACKAGE_ROOT}process-nfs`;

/** The legacy NFs installed with the agent. Throws if one is invalid: the installation is broken. */
export function loadProcessNfs(folder = FOLDER): InstalledNf[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => {
      const directory = `${folder}/${name}`;
      const file = `${directory}/descriptor.json`;
      const parsed = NfDescriptor.safeParse(JSON.parse(readFileSync(file, 'utf8')));
      if (!parsed.success) throw new Error(`${file}: ${firstIssue(parsed.error)}`);
      const program = parsed.data.implementations.find(({ driver }) => driver === 'process')?.program;
      if (!program) throw new Error(`${file}: /implementations: none says what program to run`);
      return { nf: parsed.data.id, program, directory };
    });
}

import { join } from 'node:path';
import { P4ProgramFiles } from '@orrery/contract';
import { readJsonFile, writeDurably } from '../platform/durable-file.js';
import { log } from '../platform/log.js';

/** Saves the newest P4 program of a user, so that the switch can be given it again without a server. */
export class ProgramStore {
  private readonly path: string;
  private saved: string | null = null;

  constructor(stateDir: string) {
    this.path = join(stateDir, 'program.json');
  }

  read(): P4ProgramFiles | null {
    const files = readJsonFile(this.path, P4ProgramFiles, (why) => log('warning', why));
    this.saved = files?.hash ?? null;
    return files;
  }

  write(files: P4ProgramFiles): void {
    if (files.hash === this.saved) return;
    writeDurably(this.path, `${JSON.stringify(files)}\n`);
    this.saved = files.hash;
  }
}

import { join } from 'node:path';
import type { z } from 'zod';
import { readJsonFile, writeDurably } from './platform/durable-file.js';
import { log } from './platform/log.js';

/** Saves the newest desired state, so that a node can restart without a server. */
export class DesiredStore<Spec extends z.ZodType> {
  private readonly path: string;

  constructor(
    stateDir: string,
    private readonly schema: Spec,
  ) {
    this.path = join(stateDir, 'desired.json');
  }

  read(): z.infer<Spec> | null {
    return readJsonFile(this.path, this.schema, (why) => log('warning', why));
  }

  write(spec: z.infer<Spec>): void {
    writeDurably(this.path, `${JSON.stringify(spec)}\n`);
  }
}

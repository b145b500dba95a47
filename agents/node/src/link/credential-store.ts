import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeDurably } from '../platform/durable-file.js';
import { log } from '../platform/log.js';

const Credential = z.strictObject({ node: z.string(), credential: z.string().min(1).max(200) });

/** What proves this node to the server, readable by its owner alone. */
export class CredentialStore {
  private readonly path: string;

  constructor(
    stateDir: string,
    private readonly node: string,
  ) {
    this.path = join(stateDir, 'credential.json');
  }

  read(): string | null {
    const stored = readJsonFile(this.path, Credential, (why) => log('warning', why));
    if (stored && stored.node !== this.node) {
      log('warning', `${this.path} belongs to node ${stored.node} and is not used`);
      return null;
    }
    return stored?.credential ?? null;
  }

  write(credential: string): void {
    writeDurably(this.path, `${JSON.stringify({ node: this.node, credential })}\n`);
  }
}

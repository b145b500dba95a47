import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeDurably } from '../platform/durable-file.js';
import { log } from '../platform/log.js';

const Credential = z.strictObject({ node: z.string(), credential: z.string().min(1).max(200) });

/** The credential that authenticates this node to the server, readable only by its owner. */
export class CredentialStore {
  private readonly path: string;
  private current: string | null = null;

  constructor(
    stateDir: string,
    private readonly node: string,
  ) {
    this.path = join(stateDir, 'credential.json');
  }

  read(): string | null {
    if (this.current !== null) return this.current;
    const stored = readJsonFile(this.path, Credential, (why) => log('warning', why));
    if (stored && stored.node !== this.node) {
      log('warning', `${this.path} belongs to node ${stored.node} and is not used`);
      return null;
    }
    return stored?.credential ?? null;
  }

  /** Kept at least for this process, even if it cannot be stored. */
  write(credential: string): void {
    this.current = credential;
    try {
      writeDurably(this.path, `${JSON.stringify({ node: this.node, credential })}\n`);
    } catch (error) {
      log('error', `the credential is not stored, so a restart needs a new join token: ${(error as Error).message}`);
    }
  }
}

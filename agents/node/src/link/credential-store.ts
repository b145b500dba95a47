import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { readJsonFile, writeDurably } from '../platform/durable-file.js';
import { log } from '../platform/log.js';

const Credential = z.strictObject({ node: z.string(), credential: z.string().min(32).max(200) });

/**
 * The secret that authenticates this node to the server, readable only by its owner. It is stored before the server first
 * sees it: an agent killed at any moment of joining has joined, or can still use its token.
 */
export class CredentialStore {
  private readonly path: string;
  private current: string | null = null;

  constructor(
    stateDir: string,
    private readonly node: string,
  ) {
    this.path = join(stateDir, 'credential.json');
  }

  /** The stored credential of this node, or else a new one, which lasts at least as long as this process. */
  get(): string {
    this.current ??= this.read() ?? this.create();
    return this.current;
  }

  /** Replaces a credential that was revoked. */
  renew(): void {
    this.current = this.create();
  }

  private read(): string | null {
    const stored = readJsonFile(this.path, Credential, (why) => log('warning', why));
    if (stored && stored.node !== this.node) {
      log('warning', `${this.path} belongs to node ${stored.node} and is not used`);
      return null;
    }
    return stored?.credential ?? null;
  }

  private create(): string {
    const credential = randomBytes(32).toString('base64url');
    try {
      writeDurably(this.path, `${JSON.stringify({ node: this.node, credential })}\n`);
    } catch (error) {
      log('error', `the credential is not stored, so a restart needs a new join token: ${(error as Error).message}`);
    }
    return credential;
  }
}

import { join } from 'node:path';
import { NodeSpec } from '@orrery/contract';
import { readJsonFile, writeDurably } from './platform/durable-file.js';
import { log } from './platform/log.js';

/** The newest desired state, so that a node without a server still does what it was told. */
export class DesiredStore {
  private readonly path: string;

  constructor(stateDir: string) {
    this.path = join(stateDir, 'desired.json');
  }

  read(): NodeSpec | null {
    return readJsonFile(this.path, NodeSpec, (why) => log('warning', why));
  }

  write(spec: NodeSpec): void {
    writeDurably(this.path, `${JSON.stringify(spec)}\n`);
  }
}

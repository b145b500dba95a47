import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { PipelineConfig } from '../p4runtime/messages.js';
import { P4Info } from '../p4runtime/p4-info.js';
import { protocol } from '../p4runtime/protocol.js';

interface Loaded {
  readonly info: P4Info;
  /** Tells the program from others. */
  readonly cookie: string;
  readonly config: PipelineConfig;
}

/** A compiled program: `NAME.json` and `NAME.p4info.txtpb`. */
export class FabricProgram {
  private loaded: Promise<Loaded> | null = null;

  /** `path` without the ending. */
  constructor(private readonly path: string) {}

  load(): Promise<Loaded> {
    this.loaded ??= this.read().catch((error) => {
      this.loaded = null;
      throw new Error(`${this.path}: ${(error as Error).message}`);
    });
    return this.loaded;
  }

  private async read(): Promise<Loaded> {
    const json = readFileSync(`${this.path}.json`);
    const text = readFileSync(`${this.path}.p4info.txtpb`, 'utf8');
    const { root } = await protocol();
    const info = P4Info.fromText(text, root);
    const cookie = createHash('sha256').update(json).update(text).digest().readBigUInt64BE().toString();
    return { info, cookie, config: { p4info: info.message, p4DeviceConfig: json, cookie: { cookie } } };
  }
}

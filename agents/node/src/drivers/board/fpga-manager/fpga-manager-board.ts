import { readFileSync } from 'node:fs';
import { copyFile, stat, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FpgaManagerConfig } from '../board-config.js';
import { BoardError, type LoadOrder } from '../board-port.js';
import type { Registers } from '../silicon/register-file.js';
import { SiliconBoard } from '../silicon/silicon-board.js';

const FLAGS = { full: '0', partial: '1' };

/**
 * A board behind the kernel's FPGA manager, as Xilinx's kernels expose it in sysfs (`flags`, `firmware`); mainline has
 * only `state` and `status`. The write to `firmware` blocks for the whole load, and its errno is the verdict: `state`
 * may still be that of the previous load.
 */
export class FpgaManagerBoard extends SiliconBoard {
  private readonly manager: string;
  private readonly firmware: string;

  constructor(
    config: FpgaManagerConfig,
    openRegisters?: (path: string) => Registers,
    private readonly write: (path: string, text: string) => Promise<void> = writeFile,
  ) {
    super(config, openRegisters);
    this.manager = config.manager;
    this.firmware = config.firmware;
  }

  protected deviceState(): string {
    const state = this.attribute('state');
    if (state === null) throw new BoardError(`${join(this.manager, 'state')} cannot be read`, 'failed');
    return state;
  }

  protected async transfer({ kind, image }: LoadOrder): Promise<string | null> {
    const name = basename(image.path);
    try {
      await this.provide(image.path, join(this.firmware, name));
      await this.write(join(this.manager, 'flags'), FLAGS[kind]);
    } catch (error) {
      return (error as Error).message;
    }
    const refusal = await this.write(join(this.manager, 'firmware'), name).then(
      () => null,
      (error: NodeJS.ErrnoException) => error.code ?? error.message,
    );
    const state = this.deviceState();
    if (refusal === null && state === 'operating') return null;
    const words = this.attribute('status') || state;
    return refusal === null ? words : `${words} (${refusal})`;
  }

  /** The kernel loads bitstreams from its firmware directory only. */
  private async provide(from: string, to: string): Promise<void> {
    const [source, there] = await Promise.all([stat(from), stat(to).catch(() => null)]);
    if (there?.ino === source.ino && there.dev === source.dev) return;
    await copyFile(from, to);
  }

  private attribute(name: string): string | null {
    try {
      return readFileSync(join(this.manager, name), 'utf8').trim();
    } catch {
      return null;
    }
  }
}

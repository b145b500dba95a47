import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { PcieConfig } from '../board-config.js';
import type { LoadOrder } from '../board-port.js';
import type { Registers } from '../silicon/register-file.js';
import { SiliconBoard } from '../silicon/silicon-board.js';

const run = promisify(execFile);
const WORDS_LIMIT = 300;

/** A board on PCI Express: a command loads it (openFPGALoader, quartus_pgm, ...), its registers are in a file. */
export class PcieBoard extends SiliconBoard {
  private state = 'operating';

  constructor(
    private readonly pcie: PcieConfig,
    openRegisters?: (path: string) => Registers,
  ) {
    super(pcie, openRegisters);
  }

  protected deviceState(): string {
    return this.state;
  }

  protected async transfer({ kind, slot, image }: LoadOrder): Promise<string | null> {
    const template = this.pcie.loader[kind];
    if (!template) return `this board has no loader for ${kind} bitstreams`;
    const values: Record<string, string> = { image: image.path, slot: String(slot ?? 0) };
    const [command, ...args] = template.map((word) => word.replace(/\{(image|slot)\}/g, (_, name) => values[name]!));
    this.state = 'write';
    try {
      await run(command!, args, { timeout: this.pcie.loader_timeout_s * 1000, killSignal: 'SIGKILL' });
      this.state = 'operating';
      return null;
    } catch (error) {
      this.state = 'write error';
      return `write error: ${wordsOf(error as LoaderFailure, command!)}`;
    }
  }
}

interface LoaderFailure {
  code?: number | string;
  killed?: boolean;
  stderr?: string;
  message: string;
}

/** The last words of the loader, or how it ended. */
function wordsOf({ code, killed, stderr, message }: LoaderFailure, command: string): string {
  if (killed) return `${command} took too long and was ended`;
  const last = (stderr ?? '').trim().split('\n').at(-1);
  if (last) return last.slice(0, WORDS_LIMIT);
  return typeof code === 'number' ? `${command} ended with code ${code}` : message.slice(0, WORDS_LIMIT);
}

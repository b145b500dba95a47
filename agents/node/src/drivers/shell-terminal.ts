import type { Duplex } from 'node:stream';
import type { ShellSize } from '@orrery/contract';

/** A shell that runs, at the program's side. */
export interface ShellTerminal {
  /** What is written is typed, what is read is shown. It closes when the shell ends. Nothing is read from it yet. */
  readonly stream: Duplex;
  resize(size: ShellSize): Promise<void>;
  /** How it ended, in words, once `stream` has closed. */
  explain(): Promise<string>;
  /** Ends the shell and what was started in it, if it still runs. */
  end(): void;
}

import { type ServerMessage, SHELLS_OF_AGENT, type ShellOutput } from '@orrery/contract';
import type { ShellTerminal } from '../drivers/shell-terminal.js';
import { SHELL_TIMING, ShellSession, type ShellTiming } from './shell-session.js';

type Message = Extract<ServerMessage, { type: 'shell' }>['message'];

/** Shells that the server has opened on its connection. They end with it. */
export class Shells {
  private readonly sessions = new Map<string, ShellSession>();
  private readonly opening = new Set<string>();

  constructor(
    private readonly send: (shell: string, message: ShellOutput) => void,
    private readonly timing: ShellTiming = SHELL_TIMING,
  ) {}

  /** Throws an error in plain words. What the shell writes follows the answer to the call. */
  async open(shell: string, start: () => Promise<ShellTerminal>): Promise<void> {
    if (this.sessions.has(shell) || this.opening.has(shell)) throw new Error(`/params/shell: ${shell} is open`);
    if (this.sessions.size + this.opening.size >= SHELLS_OF_AGENT)
      throw new Error(`${SHELLS_OF_AGENT} shells are open on this server, which is all that it allows: end one`);
    this.opening.add(shell);
    const terminal = await start().catch((error) => {
      this.opening.delete(shell);
      throw error;
    });
    // Closed meanwhile.
    if (!this.opening.delete(shell)) return terminal.end();
    setImmediate(() => this.sessions.get(shell)?.begin());
    const session = new ShellSession(
      terminal,
      (message) => this.send(shell, message),
      () => this.sessions.delete(shell),
      this.timing,
    );
    this.sessions.set(shell, session);
  }

  take(shell: string, message: Message): void {
    const session = this.sessions.get(shell);
    if (message.type !== 'close') session?.take(message);
    else {
      this.opening.delete(shell);
      session?.end('it was closed');
    }
  }

  /** Nobody sees them any more. */
  endAll(): void {
    this.opening.clear();
    for (const session of this.sessions.values()) session.end('the connection of the agent ended');
  }
}
